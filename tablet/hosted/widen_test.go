package hosted

import (
	"testing"

	"millrace/tablet"
)

func TestMeets(t *testing.T) {
	bounds := func(rows string, minTS, maxTS int64) span {
		m := tablet.FileMeta{Entries: 1, MinTimestamp: minTS, MaxTimestamp: maxTS, TimestampsKnown: minTS <= maxTS}
		if rows != "" {
			m.FirstRow, m.LastRow = []byte(rows[:1]), []byte(rows[1:])
		}
		return fileSpan(&m)
	}
	f := func(a, b span, want bool) {
		t.Helper()
		if a.meets(&b) != want || b.meets(&a) != want {
			t.Errorf("%+v meets %+v: %v and %v, want %v", a, b, a.meets(&b), b.meets(&a), want)
		}
	}
	f(bounds("ac", 1, 5), bounds("bd", 2, 3), true)
	f(bounds("ac", 1, 5), bounds("cd", 5, 9), true) // they touch in one row and one timestamp
	f(bounds("ac", 1, 5), bounds("cd", 6, 9), false)
	f(bounds("ac", 1, 5), bounds("de", 5, 9), false)
	f(bounds("", 1, 5), bounds("de", 5, 9), true)
	f(bounds("", 1, 5), bounds("de", 6, 9), false)
	f(bounds("ac", 1, 0), bounds("cd", 6, 9), true)
	f(bounds("ac", 1, 0), bounds("de", 6, 9), false)
	none := fileSpan(&tablet.FileMeta{})
	f(none, bounds("", 1, 0), false)
	f(none, none, false)
}
