package tablet

import (
	"bytes"
	"math"
	"testing"
)

// TestMutationSize is the example of the size rules: one put of one byte each.
func TestMutationSize(t *testing.T) {
	m := NewMutation([]byte("r1"))
	m.Put([]byte("f"), []byte("q"), nil, []byte("v"))
	if m.NumBytes() != 11 || m.EstimatedMemory() != 249 {
		t.Errorf("%d bytes, %d of memory, want 11 and 249", m.NumBytes(), m.EstimatedMemory())
	}
	f := func(u Update, want int) {
		t.Helper()
		m := NewMutation(nil)
		m.Add(u)
		if m.NumBytes() != want {
			t.Errorf("%+v: %d bytes, want %d", u, m.NumBytes(), want)
		}
	}
	f(Update{}, 6)
	f(Update{Timestamp: 5}, 6) // without HasTimestamp it is not stored
	f(Update{HasTimestamp: true, Timestamp: 127}, 7)
	f(Update{HasTimestamp: true, Timestamp: 128}, 8)
	f(Update{HasTimestamp: true, Timestamp: math.MinInt64}, 15)
	f(Update{Value: make([]byte, 127)}, 6+127)
	f(Update{Value: make([]byte, 128)}, 7+128)
	f(Update{Value: make([]byte, 100000)}, 9+100000)
	f(Update{Value: []byte("dropped"), Deleted: true}, 6)
}

func TestMutationRoundTrip(t *testing.T) {
	r := random(t)
	for range rounds(2000) {
		row := randomField(r, "r\x00\xff", 300)
		m := NewMutation(row)
		var want []Update
		for range r.IntN(6) {
			u := Update{
				Family: randomField(r, "f\x00", 10), Qualifier: randomField(r, "q\xff", 200), Visibility: randomField(r, "v", 3),
				Value: randomField(r, "x", 1000), HasTimestamp: r.IntN(2) == 0, Deleted: r.IntN(3) == 0,
			}
			if u.HasTimestamp {
				u.Timestamp = someTimestamps[r.IntN(len(someTimestamps))]
			}
			m.Add(u)
			if u.Deleted {
				u.Value = nil
			}
			want = append(want, u)
		}
		if m.Updates() != len(want) || !bytes.Equal(m.Row(), row) {
			t.Fatalf("%d updates of %q", m.Updates(), m.Row())
		}
		i := 0
		for u := range m.All() {
			w := want[i]
			if !bytes.Equal(u.Family, w.Family) || !bytes.Equal(u.Qualifier, w.Qualifier) || !bytes.Equal(u.Visibility, w.Visibility) ||
				!bytes.Equal(u.Value, w.Value) || u.HasTimestamp != w.HasTimestamp || u.Timestamp != w.Timestamp || u.Deleted != w.Deleted {
				t.Fatalf("update %d is %+v, want %+v", i, u, w)
			}
			i++
		}
		if i != len(want) {
			t.Fatalf("%d updates, want %d", i, len(want))
		}
	}
}

func TestMutationOwnsItsBytes(t *testing.T) {
	row, value := []byte("row"), []byte("value")
	m := NewMutation(row)
	m.Put([]byte("f"), nil, nil, value)
	m.Delete([]byte("f"), nil, nil)
	row[0], value[0] = 'X', 'X'
	for u := range m.All() {
		if string(u.Value) != "value" || string(m.Row()) != "row" {
			t.Errorf("%q of %q", u.Value, m.Row())
		}
		break // a loop may end early
	}
	if got := testing.AllocsPerRun(100, func() {
		m := NewMutation(row)
		m.Put([]byte("f"), []byte("q"), nil, value)
	}); got > 3 {
		t.Errorf("%v allocations for a mutation of one update", got)
	}
}

// TestMutationRoom: whatever the lengths of row and updates, nothing of a mutation runs into anything else, and a small one
// is one allocation.
func TestMutationRoom(t *testing.T) {
	for row := range 80 {
		for value := range 80 {
			r, v := bytes.Repeat([]byte{'r'}, row), bytes.Repeat([]byte{'v'}, value)
			m := NewMutation(r)
			before := bytes.Clone(r)
			clear(r) // the caller's again
			for i := range 3 {
				m.Put([]byte{byte(i)}, nil, nil, v)
			}
			_ = append(m.Row(), 'x')
			n := 0
			for u := range m.All() {
				if len(u.Family) != 1 || int(u.Family[0]) != n || !bytes.Equal(u.Value, v) {
					t.Fatalf("row of %d bytes, values of %d: update %d is %+v", row, value, n, u)
				}
				n++
			}
			if n != 3 || !bytes.Equal(m.Row(), before) {
				t.Fatalf("row of %d bytes, values of %d: %d updates of %q", row, value, n, m.Row())
			}
		}
	}
	row, f, v := []byte("0123456789abcdef"), []byte("f"), make([]byte, 32)
	var m *Mutation
	if n := testing.AllocsPerRun(100, func() { m = NewMutation(row); m.Put(f, f, nil, v) }); n > 1 {
		t.Errorf("%v allocations for a small mutation", n)
	}
	if m.Updates() != 1 {
		t.Error("no update")
	}
}

func TestLabelled(t *testing.T) {
	f := func(want bool, labels ...string) {
		t.Helper()
		m := NewMutation([]byte("r"))
		for _, label := range labels {
			m.Put(nil, nil, []byte(label), nil)
		}
		parsed, _, err := ParseMutation(m.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if m.Labelled() != want || parsed.Labelled() != want {
			t.Errorf("labels %q: %v, and parsed %v", labels, m.Labelled(), parsed.Labelled())
		}
	}
	f(false)
	f(false, "")
	f(true, "A")
	f(true, "A", "")
	f(true, "", "A")
	f(false, "", "")
}
