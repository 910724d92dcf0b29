package iter

// entryOrder hands out the runs of a tree one entry at a time: what is above it works entry by entry, as it would above an
// Iterator.
type entryOrder struct{ below order }

// entryState belongs to an entryOrder: a run not yet handed out to its end.
type entryState struct {
	run  [1]Run
	held int // source whose batch the tree used up, while entries of the run are in it; -1 none
}

func (o entryOrder) start(m *Merge) {
	m.entry = entryState{held: -1}
	o.below.start(m)
}

func (o entryOrder) fill(m *Merge, out []Run) (n int) {
	e := &m.entry
	run := &e.run[0]
	for {
		for run.Lo < run.Hi {
			if n == len(out) {
				return n
			}
			out[n] = Run{Code: run.Code, Src: run.Src, Lo: run.Lo, Hi: run.Lo + 1}
			n++
			if run.Lo++; run.Lo < run.Hi {
				run.Code = m.cursors[run.Src].batch.Codes[run.Lo]
			}
		}
		if e.held >= 0 {
			m.spent, e.held = e.held, -1
			return n
		}
		if n == len(out) || o.below.fill(m, e.run[:]) == 0 {
			return n
		}
		m.spent, e.held = -1, m.spent
	}
}

func (o entryOrder) refilled(m *Merge, src uint16) { o.below.refilled(m, src) }
