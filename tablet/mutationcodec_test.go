package tablet

import (
	"bytes"
	"testing"
)

// someMutations are of all shapes: no update, empty fields, long values, deletes, extreme timestamps.
func someMutations() []*Mutation {
	all := []*Mutation{NewMutation(nil), NewMutation([]byte("r"))}
	for i, ts := range someTimestamps {
		m := NewMutation(bytes.Repeat([]byte{byte(i)}, i*40))
		m.Put([]byte("f"), nil, []byte("a&b"), bytes.Repeat([]byte("v"), i*100))
		m.Add(Update{Family: []byte("f"), Qualifier: []byte{0, 255}, Timestamp: ts, HasTimestamp: true, Deleted: i%2 == 0})
		m.Delete(nil, nil, nil)
		all = append(all, m)
	}
	return all
}

func TestMutationCodec(t *testing.T) {
	all := someMutations()
	var b []byte
	for _, m := range all {
		before := len(b)
		b = m.AppendTo(b)
		if len(b)-before != m.EncodedBytes() {
			t.Errorf("%d bytes, EncodedBytes says %d", len(b)-before, m.EncodedBytes())
		}
	}
	for i, want := range all {
		got, rest, err := ParseMutation(b)
		if err != nil {
			t.Fatalf("mutation %d: %v", i, err)
		}
		if !bytes.Equal(got.row, want.row) || !bytes.Equal(got.packed, want.packed) || got.updates != want.updates {
			t.Errorf("mutation %d is %+v, want %+v", i, got, want)
		}
		b = rest
	}
	if len(b) > 0 {
		t.Errorf("%d bytes left", len(b))
	}
}

// TestMutationCut: no front of a mutation is a mutation.
func TestMutationCut(t *testing.T) {
	for _, m := range someMutations() {
		b := m.AppendTo(nil)
		for n := range b {
			if _, _, err := ParseMutation(b[:n:n]); err == nil {
				t.Fatalf("%d of %d bytes are a mutation", n, len(b))
			}
		}
	}
}

// TestMutationOneEncoding: every other bytes are refused, or are another mutation's.
func TestMutationOneEncoding(t *testing.T) {
	refused := 0
	for _, m := range someMutations() {
		b := m.AppendTo(nil)
		for i := range b {
			for bit := range 8 {
				b[i] ^= 1 << bit
				if !reencodes(t, b) {
					refused++
				}
				b[i] ^= 1 << bit
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// reencodes says whether b begins with a mutation, and fails unless that is written again as it was read.
func reencodes(t *testing.T, b []byte) bool {
	t.Helper()
	m, rest, err := ParseMutation(b)
	if err != nil {
		return false
	}
	n := 0
	for range m.All() {
		n++
	}
	if n != m.Updates() {
		t.Fatalf("%d updates, the mutation says %d", n, m.Updates())
	}
	if again := m.AppendTo(nil); !bytes.Equal(again, b[:len(b)-len(rest)]) {
		t.Fatalf("read %x, wrote %x", b[:len(b)-len(rest)], again)
	}
	return true
}

func FuzzParseMutation(f *testing.F) {
	for _, m := range someMutations() {
		f.Add(m.AppendTo(nil))
	}
	f.Add([]byte{0, 2, 6, 0, 0, 0, 0, 0, 0})       // one update, two stated
	f.Add([]byte{0, 1, 7, 0, 0, 0, 0, 1, 1, 'x'})  // a delete marker with a value
	f.Add([]byte{0x88, 127, 255, 255, 255, 255})   // a row of a length that is not there
	f.Add([]byte{0x8f, 0, 1, 6, 0, 0, 0, 0, 0, 0}) // a length longer than need be
	f.Fuzz(func(t *testing.T, b []byte) { reencodes(t, b) })
}
