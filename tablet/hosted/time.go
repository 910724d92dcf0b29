package hosted

// TimeType says how updates without a timestamp get one.
type TimeType uint8

// The time types.
const (
	// Millis: wall-clock milliseconds, the same for all mutations prepared together, and never less than before.
	Millis TimeType = iota
	// Logical: a counter; each mutation gets a value of its own. The first gets 1.
	Logical
)

// timer hands out timestamps.
//
// Source: Accumulo's TabletTime.
type timer struct {
	kind TimeType
	last int64 // the largest handed out
	// behind is the wall clock when it was last found behind.
	behind int64
}

// take gives n mutations their timestamps: first, first+step, …
func (t *timer) take(n int, now int64) (first, step int64) {
	if t.kind == Logical {
		first = t.last + 1
		t.last += int64(n)
		return first, 1
	}
	if now >= t.last {
		t.last = now
	} else {
		// The clock stepped back. Time goes on by one for each call at a new moment.
		if now > t.behind {
			t.last++
		}
		t.behind = now
	}
	return t.last, 0
}

// turn is called between two memtables: no timestamp handed out later equals one from before, so that entries in
// different files do not tie.
func (t *timer) turn() {
	if t.kind == Millis {
		t.last++
	}
}

// Time is the largest timestamp handed out, or skipped. It is recorded with every flush.
func (t *Tablet) Time() int64 { return t.timer.last }

// RaiseTime makes sure that no timestamp up to ts is handed out again: for those found in the log on recovery.
func (t *Tablet) RaiseTime(ts int64) { t.timer.last = max(t.timer.last, ts) }
