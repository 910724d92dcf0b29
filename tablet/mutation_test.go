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
