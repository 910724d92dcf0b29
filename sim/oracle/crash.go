package oracle

import (
	"maps"
	"slices"

	"millrace/tablet"
)

// tabletWorlds are what may be left of one tablet: of what was acknowledged and not surely safe, a prefix.
type tabletWorlds struct {
	rows    tablet.Range
	options []map[string][]state
}

// settle notes an acknowledged operation for crashes.
func (m *Model) settle(p *Pending) {
	switch {
	case p.flushed > 0 || len(p.units) > 0 && p.units[0].compact: // a flush: what came before it is safe
		m.base = replay(m, m.base, m.journal[:min(p.flushed, len(m.journal))], tablet.Range{})
		done := min(p.flushed, len(m.journal))
		m.journal = slices.Clone(m.journal[done:])
		for _, o := range m.open { // other flushes that were begun
			o.flushed = max(0, o.flushed-done)
		}
	case len(p.units) > 0 && (p.level < tablet.DurabilitySync || len(m.journal) > 0):
		m.journal = append(m.journal, p.change)
	}
	if len(m.journal) == 0 {
		m.base = maps.Clone(m.rows)
	}
}

// Safe says that all that was acknowledged is there after any crash.
func (m *Model) Safe() bool { return len(m.journal) == 0 }

// Crash says that the engine is gone. Operations in flight may have happened or not. Of acknowledged ones those are there
// that are at least as safe as kept: DurabilityFlush for a crash of the process, DurabilitySync for a power cut; the
// others up to some point of their tablet's order, and what was in files by an acknowledged flush. What was never logged
// is there up to a point of its own. The extents are the
// table's tablets at the moment of the crash. The next check must be of the whole table; a crash before it is one of the
// recovery, which has brought nothing new, and takes at most what the two take together.
func (m *Model) Crash(kept Level, extents []tablet.Extent) {
	if m.crashed == nil {
		m.crashed = m.Clone()
	}
	m.kept = max(m.kept, kept)
	was := m.crashed
	unsafe := slices.ContainsFunc(was.journal, func(c change) bool { return c.level < m.kept })
	m.lost = nil
	if unsafe {
		for _, e := range extents {
			m.lost = append(m.lost, was.worlds(m.kept, e.DataRange(), was.open))
		}
	}
	for _, p := range slices.Clone(m.open) {
		m.Unknown(p)
	}
	if !unsafe {
		m.base, m.journal = maps.Clone(m.rows), nil
	}
}

// worlds are what may be left of a tablet.
func (m *Model) worlds(kept Level, rows tablet.Range, open []*Pending) tabletWorlds {
	w := tabletWorlds{rows: rows}
	least := 0 // journal entries that must be there
	for i, c := range m.journal {
		if c.level >= kept && slices.ContainsFunc(c.units, func(u unit) bool { return within(rows, string(u.mutation.Row())) }) {
			least = i + 1
		}
	}
	for _, f := range m.flushPoints() {
		first := max(f, least)
		for n := first; n < len(m.journal); n++ {
			if n == first || m.journal[n-1].level > tablet.DurabilityNone {
				w.options = append(w.options, replay(m, m.base, logged(m.journal[:n], f), rows))
			}
		}
		// With all of the journal, what was in flight may be there too.
		all := &Model{versions: m.versions, open: slices.Clone(m.open), slots: m.slots}
		if left := logged(m.journal, f); len(left) == len(m.journal) {
			all.rows = clip(m.rows, rows)
		} else {
			all.rows = replay(m, m.base, left, rows)
		}
		for _, p := range open {
			all.Unknown(p)
		}
		w.options = append(w.options, clip(all.rows, rows))
	}
	return w
}

// flushPoints are how much of the journal a flush that nobody asked for may have brought into files, as far as it makes a
// difference: what was never logged is there after a crash only if it is in a file.
func (m *Model) flushPoints() []int {
	points := []int{0}
	for i, c := range m.journal {
		if c.level == tablet.DurabilityNone {
			points = append(points, i+1)
		}
	}
	return points
}

// logged is a journal without what is neither among the first f, which are in files, nor in the log.
func logged(journal []change, f int) []change {
	if f >= len(journal) {
		return journal
	}
	return append(slices.Clone(journal[:f]), slices.DeleteFunc(slices.Clone(journal[f:]), func(c change) bool {
		return c.level == tablet.DurabilityNone
	})...)
}

func within(rows tablet.Range, row string) bool {
	key := tablet.RowKey([]byte(row))
	return rows.Contains(&key)
}

func clip(rows map[string][]state, to tablet.Range) map[string][]state {
	c := maps.Clone(rows)
	maps.DeleteFunc(c, func(row string, _ []state) bool { return !within(to, row) })
	return c
}

// replay applies changes in order to the rows within a range; the zero range is all.
func replay(m *Model, base map[string][]state, changes []change, rows tablet.Range) map[string][]state {
	out := clip(base, rows)
	if out == nil {
		out = make(map[string][]state)
	}
	for _, c := range changes {
		for _, u := range c.units {
			row := string(u.mutation.Row())
			if !within(rows, row) {
				continue
			}
			states := out[row]
			if states == nil {
				states = []state{{}}
			}
			next := make([]state, 0, len(states))
			for _, s := range states {
				s = m.after(s, u)
				s.done = 0
				next = append(next, s)
			}
			out[row] = next
		}
	}
	return out
}

// find settles, after a crash, which of a tablet's worlds agree with what a scan of the whole table has found.
func (m *Model) find(q Query, byRow map[string][]tablet.Entry) error {
	m.crashed, m.kept = nil, 0
	for _, w := range m.lost {
		var matched []map[string][]state
		for _, option := range w.options {
			if agrees(option, q, byRow, w.rows) {
				matched = append(matched, option)
			}
		}
		if len(matched) == 0 {
			return w.mismatch(q, byRow)
		}
		maps.DeleteFunc(m.rows, func(row string, _ []state) bool { return within(w.rows, row) })
		maps.Copy(m.rows, union(matched))
	}
	if m.lost != nil {
		m.lost = nil
		m.base, m.journal = maps.Clone(m.rows), nil
	}
	return nil
}

// union is every state of each row that one of the options has. A row that is not in one is empty there.
func union(options []map[string][]state) map[string][]state {
	all := make(map[string][]state)
	for _, option := range options {
		for row := range option {
			all[row] = nil
		}
	}
	for row := range all {
		var states []state
		for _, option := range options {
			if s := option[row]; s != nil {
				states = append(states, s...)
			} else {
				states = append(states, state{})
			}
		}
		all[row] = distinct(states)
	}
	return all
}

func agrees(option map[string][]state, q Query, byRow map[string][]tablet.Entry, rows tablet.Range) bool {
	for row := range byRow {
		if _, known := option[row]; !known && within(rows, row) {
			return false
		}
	}
	for row, states := range option {
		if !slices.ContainsFunc(states, func(s state) bool { return same(byRow[row], s.store.Scan(q)) }) {
			return false
		}
	}
	return true
}

// mismatch tells of the first row that differs from what there is with nothing lost, which is the best guess of what to
// look at.
func (w *tabletWorlds) mismatch(q Query, byRow map[string][]tablet.Entry) error {
	last := w.options[len(w.options)-1]
	for _, row := range slices.Sorted(maps.Keys(last)) {
		may := expected(last[row], q)
		if !slices.ContainsFunc(may, func(want []tablet.Entry) bool { return same(byRow[row], want) }) {
			return &Mismatch{Row: row, Found: byRow[row], May: may}
		}
	}
	for row, found := range byRow {
		if _, known := last[row]; !known && within(w.rows, row) {
			return &Mismatch{Row: row, Found: found, May: [][]tablet.Entry{nil}}
		}
	}
	return &Mismatch{Row: "(all, together)"}
}
