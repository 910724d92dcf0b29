package sim

import (
	"errors"
	"slices"
	"strings"

	"millrace/sim/oracle"
	"millrace/tablet"
)

// Harm is how a promise about crashes is broken.
type Harm string

// The kinds of harm.
const (
	Lost     Harm = "lost"     // what was acknowledged is gone
	Phantom  Harm = "phantom"  // something is there that was never written, or that was deleted
	Torn     Harm = "torn"     // half a mutation is there
	Unopened Harm = "openfail" // the store does not open, answer or close
	Changed  Harm = "changed"  // a second opening shows something else
	Damaged  Harm = "damaged"  // the store's check finds what no crash may leave
)

// Harms are all kinds.
var Harms = []Harm{Lost, Phantom, Torn, Unopened, Changed, Damaged}

// Broken is a promise that was not kept.
type Broken struct {
	Harm Harm
	Err  error
}

func (b *Broken) Error() string { return string(b.Harm) + ": " + b.Err.Error() }

// Unwrap returns what was found.
func (b *Broken) Unwrap() error { return b.Err }

// broken names the harm of an error, unless it is named already or is nil.
func broken(harm Harm, err error) error {
	var b *Broken
	if err == nil || errors.As(err, &b) {
		return err
	}
	return &Broken{harm, err}
}

// mismatched names the harm of what a check has found.
func mismatched(err error) error {
	var m *oracle.Mismatch
	if !errors.As(err, &m) {
		return broken(Unopened, err)
	}
	all := slices.Concat(m.May...)
	for i := range m.Found {
		if !slices.ContainsFunc(all, func(e tablet.Entry) bool { return sameCellAndValue(&e, &m.Found[i]) }) {
			return broken(Phantom, err)
		}
	}
	if slices.ContainsFunc(m.May, func(may []tablet.Entry) bool { return half(m.Found, may) }) {
		return broken(Torn, err)
	}
	return broken(Lost, err)
}

// half says whether one operation's entries of a row are there in part only.
func half(found, may []tablet.Entry) bool {
	there := make(map[string]bool)
	for i := range found {
		there[numberOf(&found[i])] = true
	}
	return slices.ContainsFunc(may, func(want tablet.Entry) bool {
		return there[numberOf(&want)] &&
			!slices.ContainsFunc(found, func(e tablet.Entry) bool { return sameCellAndValue(&e, &want) })
	})
}

func sameCellAndValue(a, b *tablet.Entry) bool {
	return tablet.SameCell(&a.Key, &b.Key) && string(a.Value) == string(b.Value)
}

// numberOf is the part of a value that tells which operation wrote it.
func numberOf(e *tablet.Entry) string {
	_, rest, _ := strings.Cut(string(e.Value), "#")
	number, _, _ := strings.Cut(rest, "~")
	return number
}
