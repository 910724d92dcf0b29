package iter

import (
	"context"
	"fmt"
	"time"

	"millrace/tablet"
)

// Iterator is what users write: entries in, entries out, one at a time, in key order. Iterators stand on each other; the
// lowest stands on a Stack by NewEntries.
//
// A scan may be torn down after any entry and go on later with a new iterator that is sought to the range behind the last
// key. So one that groups entries must either go back to the group's start when it is sought into the middle, and pass
// over what lies before the range, or keep no state across entries.
type Iterator interface {
	// Init is called once, before anything else. It must not read. It refuses options that are missing, unknown or wrong
	// with an error that names them, see OptionError.
	Init(opts map[string]string, env Env) error

	// Seek positions at the first entry in r of the wanted families. It may be called any number of times. r and f may be
	// kept until the next Seek. Entries after the end of r may be delivered: whoever reads the topmost iterator clips.
	Seek(ctx context.Context, r tablet.Range, f tablet.Families) error

	// Next goes on to the next entry. Without an entry to go on from it is an error that wraps tablet.ErrUsage. After any
	// error there is no entry until the next Seek.
	Next(ctx context.Context) error

	// Top is the current entry, false when there is none. It is a view until the next call of Seek or Next, and may be
	// asked any number of times.
	Top() (tablet.Entry, bool)

	// Clone returns an independent iterator with the same options over env.Source, not yet sought. The source in env is
	// a clone already.
	Clone(env Env) (Iterator, error)
}

// Scope says what an iterator runs in.
type Scope uint8

const (
	Scan Scope = iota
	Minor
	Major
)

func (s Scope) String() string {
	switch s {
	case Scan:
		return "scan"
	case Minor:
		return "minc"
	case Major:
		return "majc"
	}
	return fmt.Sprintf("scope %d", uint8(s))
}

// Env is what an iterator may know about where it runs.
type Env struct {
	Source    Iterator // the one below; already initialised
	Scope     Scope
	FullMajor bool // a major compaction of all files
	User      bool // a compaction that a user asked for
	// Authorizations of the scan, unquoted; nil in compactions.
	Authorizations [][]byte
	Table          string
	// Now is the time, for iterators that go by it. Where it is nil they are refused, unless they are told a time.
	Now func() time.Time
}

// millis is the time, in the unit of timestamps.
func (e *Env) millis() (int64, error) {
	if e.Now == nil {
		return 0, errNoClock
	}
	return e.Now().UnixMilli(), nil
}

// optionError is a wrong option of an iterator.
type optionError struct {
	option, value, why string
}

// OptionError is the error of Init for an option with a wrong value. It wraps tablet.ErrUsage.
func OptionError(option, value, why string) error {
	return &optionError{option: option, value: value, why: why}
}

func (e *optionError) Error() string {
	return fmt.Sprintf("option %s=%q: %s", e.option, e.value, e.why)
}

func (e *optionError) Unwrap() error { return tablet.ErrUsage }

// errNoTop is what Next returns when there is no entry to go on from.
var errNoTop = fmt.Errorf("next without a current entry: %w", tablet.ErrUsage)

// errNoSource is what Init returns when there is nothing to read.
var errNoSource = fmt.Errorf("iterator without a source: %w", tablet.ErrUsage)

// errNoClock is what Init returns when there is no time to go by.
var errNoClock = fmt.Errorf("iterator without a clock: %w", tablet.ErrUsage)
