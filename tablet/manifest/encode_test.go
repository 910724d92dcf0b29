package manifest

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"millrace/tablet"
)

// payloads are those of a file that begins with a state and goes on with edits.
func payloads(s *State, edits ...[]Edit) [][]byte {
	var out [][]byte
	snapshot(s, func(p []byte) error {
		out = append(out, bytes.Clone(p))
		return nil
	})
	out = append(out, []byte{kindReady, formatVersion})
	for _, e := range edits {
		out = append(out, appendEdits(nil, e))
	}
	return out
}

// load takes payloads in, each from a buffer that is overwritten afterwards.
func load(payloads [][]byte) (*State, error) {
	var l loader
	for _, p := range payloads {
		buf := bytes.Clone(p)
		if err := l.take(buf); err != nil {
			return nil, err
		}
		for i := range buf {
			buf[i] = 0xdb
		}
	}
	if l.stage != whole {
		return nil, errors.New("no whole snapshot")
	}
	return &l.state, nil
}

// TestRoundTrip loads what is written of random states and edits: the text is the same, the bytes are the same when it is
// written again, and further edits do the same to both.
func TestRoundTrip(t *testing.T) {
	for c := range cases(40) {
		g := newGen(*seedFlag + uint64(c))
		s := randomState(t, g, 1+g.rng.IntN(150))
		var edits [][]Edit
		after := s
		for range g.rng.IntN(20) {
			var together []Edit
			for range 1 + g.rng.IntN(3) {
				e := g.edit(after)
				after = mustApply(t, after, e)
				together = append(together, e)
			}
			edits = append(edits, together)
		}
		written := payloads(s, edits...)
		got, err := load(written)
		if err != nil {
			t.Fatalf("case %d: %v", c, err)
		}
		if got.String() != after.String() {
			t.Fatalf("case %d: got\n%vwant\n%v", c, got, after)
		}
		if a, b := payloads(got), payloads(after); !reflect.DeepEqual(a, b) {
			t.Fatalf("case %d: written again it differs", c)
		}
		for range 20 {
			e := g.edit(after)
			got, after = mustApply(t, got, e), mustApply(t, after, e)
		}
		if got.String() != after.String() {
			t.Fatalf("case %d: further edits give\n%vwant\n%v", c, got, after)
		}
	}
}

// TestEditsRoundTrip decodes every kind of edit to what it was.
func TestEditsRoundTrip(t *testing.T) {
	seen := map[editCode]bool{codeOpen: true}
	g := newGen(*seedFlag)
	s := Empty()
	for range 400 {
		e := g.edit(s)
		seen[e.code()] = true
		in := &input{b: appendEdits(nil, []Edit{e, Open{NextNumber: 3, NextLSN: 4}})}
		in.kind()
		got, err := in.edits()
		if err != nil || len(got) != 2 || !reflect.DeepEqual(got[0], e) {
			t.Fatalf("%+v\nbecame %+v, %v", e, got, err)
		}
		s = mustApply(t, s, e)
	}
	if len(seen) != 9 {
		t.Errorf("only %d kinds of edit were drawn", len(seen))
	}
}

// TestLaterFormats are unsupported, not damaged.
func TestLaterFormats(t *testing.T) {
	s := smallState(t)
	edits := appendEdits(nil, []Edit{Advance{NextNumber: 100}})
	unsupported := func(what string, change func(p [][]byte)) {
		t.Helper()
		p := append(payloads(s), bytes.Clone(edits))
		change(p)
		if _, err := load(p); !errors.Is(err, tablet.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
	unsupported("kind", func(p [][]byte) { p[len(p)-1][0] = 7 })
	unsupported("version of edits", func(p [][]byte) { p[len(p)-1][1] = 2 })
	unsupported("version of the snapshot", func(p [][]byte) { p[0][1] = 2 })
	unsupported("edit", func(p [][]byte) { p[len(p)-1][3] = 10 })
}

// TestOrderOfRecords refuses records that are not where they belong.
func TestOrderOfRecords(t *testing.T) {
	s := smallState(t)
	p := payloads(s, []Edit{Advance{NextNumber: 100}}) // head table tablets end ready edits
	f := func(order string, ok bool) {
		t.Helper()
		var in [][]byte
		for _, c := range order {
			in = append(in, p[c-'0'])
		}
		if _, err := load(in); (err == nil) != ok {
			t.Errorf("%s: %v", order, err)
		}
	}
	f("012345", true)
	f("0123455", true)
	f("0123", true)
	f("01234", true)
	for _, order := range []string{"", "012", "12345", "0012345", "0212345", "01345", "0122345", "0112345", "03", "01235", "0123444", "0123454", "01234503", "0345"} {
		f(order, false)
	}
}
