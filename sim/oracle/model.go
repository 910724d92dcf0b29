package oracle

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"millrace/tablet"
)

// Model is everything that may be in one table, given what was asked of it and what was acknowledged. An operation whose
// outcome is unknown, or that has not come back yet, leaves a row in more than one possible state; a scan that is checked
// leaves those that agree with it, and none is a broken promise.
//
// Operations in flight at the same time may take effect in any order between their begin and their acknowledgement. They
// should be few on one row: all their orders are tried.
type Model struct {
	versions int
	rows     map[string][]state // possible states; a row that is not there is empty
	open     []*Pending
	slots    uint64 // of units in flight that are taken

	// For durabilities below sync: what was there when everything was surely in files, and what was acknowledged since.
	base    map[string][]state
	journal []change
	lost    []tabletWorlds // after a crash that may have lost some of the journal, until a check tells
	crashed *Model         // what it was at that crash
	kept    Level
}

// Level is how safe an acknowledged operation is: the durability of a write.
type Level = tablet.Durability

// Pending is an operation that was begun.
type Pending struct {
	change
	flushed int // journal entries that are in files once a flush is acknowledged
}

// change is what an operation does to a table.
type change struct {
	units []unit
	level Level
}

// unit is one thing that happens to one row as a whole.
type unit struct {
	slot     uint64 // one bit
	mutation *tablet.Mutation
	compact  bool         // of every row in the range
	rows     tablet.Range // of a compaction
}

// state is a row as it may be.
type state struct {
	store Store
	stamp int64  // assigned timestamps so far
	done  uint64 // units in flight that have happened in it
}

// NewModel is an empty table that keeps so many versions of each cell, 0 for all.
func NewModel(versions int) *Model { return &Model{versions: versions, rows: make(map[string][]state)} }

// Timestamps that histories give explicitly are below ExplicitBelow or at least ExplicitFrom. In between lie those that a
// tablet assigns, of which a model knows the order only.
const (
	ExplicitBelow = int64(1) << 30
	ExplicitFrom  = int64(1) << 61
	assigned      = int64(1) << 60 // plus a count, in the model
)

// Begin says that mutations are being written. A mutation is applied whole or not at all, and those of one row in order.
func (m *Model) Begin(level Level, mutations ...*tablet.Mutation) *Pending {
	p := &Pending{change: change{level: level}}
	for _, mut := range mutations {
		p.units = append(p.units, unit{slot: m.slot(), mutation: mut})
	}
	m.open = append(m.open, p)
	return p
}

// BeginFlush says that a flush was asked for. It changes nothing but what a crash may take.
func (m *Model) BeginFlush() *Pending {
	p := &Pending{flushed: len(m.journal)}
	m.open = append(m.open, p)
	return p
}

// BeginCompact says that a full compaction of the rows was asked for, which flushes first.
func (m *Model) BeginCompact(rows tablet.Range) *Pending {
	p := &Pending{change: change{level: tablet.DurabilitySync}, flushed: len(m.journal)}
	p.units = []unit{{slot: m.slot(), compact: true, rows: rows}}
	m.open = append(m.open, p)
	return p
}

// slot takes a bit that no unit in flight has.
func (m *Model) slot() uint64 {
	bit := ^m.slots & (m.slots + 1)
	if bit == 0 {
		panic("oracle: more than 64 updates in flight")
	}
	m.slots |= bit
	return bit
}

// Ack says that an operation has succeeded.
func (m *Model) Ack(p *Pending) {
	m.end(p, func(done, all uint64) bool { return done == all })
	m.settle(p)
}

// Unknown says that an operation may have happened, in part even, but that nothing of it will happen later.
func (m *Model) Unknown(p *Pending) {
	m.end(p, func(done, all uint64) bool { return true })
	if len(m.journal) == 0 {
		m.base = maps.Clone(m.rows)
	}
}

// Refused says that nothing of an operation has happened, nor will.
func (m *Model) Refused(p *Pending) {
	m.end(p, func(done, all uint64) bool { return done == 0 })
}

// end takes an operation out of flight; of the possible states those stay in which what was done of it is as keep wants.
func (m *Model) end(p *Pending, keep func(done, all uint64) bool) {
	var slots uint64
	for _, u := range p.units {
		slots |= u.slot
	}
	for row := range m.touched(p) {
		all := uint64(0)
		for _, u := range p.units {
			if u.touches(row) {
				all |= u.slot
			}
		}
		var left []state
		for _, s := range m.closure(row) {
			if keep(s.done&all, all) {
				s.done &^= slots
				left = append(left, s)
			}
		}
		m.rows[row] = distinct(left)
	}
	m.slots &^= slots
	m.open = slices.DeleteFunc(m.open, func(o *Pending) bool { return o == p })
}

// touched are the rows that an operation is about.
func (m *Model) touched(p *Pending) map[string]bool {
	rows := make(map[string]bool)
	for _, u := range p.units {
		if !u.compact {
			rows[string(u.mutation.Row())] = true
			continue
		}
		for row := range m.rows {
			rows[row] = rows[row] || u.touches(row)
		}
		for _, o := range m.open { // what is on its way may have come before
			for _, other := range o.units {
				if row := other.row(); !other.compact && u.touches(row) {
					rows[row] = true
				}
			}
		}
	}
	maps.DeleteFunc(rows, func(_ string, touched bool) bool { return !touched })
	return rows
}

// row is the one that a mutation's unit is about.
func (u *unit) row() string {
	if u.mutation == nil {
		return ""
	}
	return string(u.mutation.Row())
}

func (u *unit) touches(row string) bool {
	if u.compact {
		key := tablet.RowKey([]byte(row))
		return u.rows.Contains(&key)
	}
	return u.row() == row
}

// closure are the states that a row may have come to by now, with what is in flight done or not.
func (m *Model) closure(row string) []state {
	states := m.rows[row]
	if states == nil {
		states = []state{{}}
	}
	if len(m.open) == 0 {
		return states
	}
	states = slices.Clone(states)
	for i := 0; i < len(states); i++ {
		for _, p := range m.open {
			for _, u := range p.units {
				if !u.touches(row) || states[i].done&u.slot != 0 {
					continue
				}
				states = append(states, m.after(states[i], u))
				break // the units of one operation keep their order
			}
		}
		if len(states) > 20_000 {
			panic(fmt.Sprintf("oracle: too many operations in flight on row %q", row))
		}
	}
	return distinct(states)
}

// after is a row's state once a unit has happened.
func (m *Model) after(s state, u unit) state {
	s.done |= u.slot
	if u.compact {
		s.store.Compact(m.versions)
		return s
	}
	s.stamp++
	s.store.entries = slices.Clip(s.store.entries) // other states share them
	s.store.Apply(u.mutation, assigned+s.stamp)
	s.store.forget(m.versions)
	return s
}

// forget drops what no scan, whatever happens, can show again: entries that a marker hides, since the marker goes with
// them if it goes; all markers of a cell but the newest; versions beyond those that are kept. Without it states that
// will look alike for ever would be kept apart.
func (s *Store) forget(versions int) {
	var kept []tablet.Entry
	for _, cell := range s.cells() {
		marker := slices.IndexFunc(cell, func(e tablet.Entry) bool { return e.Key.Deleted() })
		live := newest(undeleted(cell), versions)
		if marker < 0 {
			kept = append(kept, live...)
			continue
		}
		kept = append(append(kept, live...), cell[marker]) // what lives is newer than the newest marker
	}
	s.entries = kept
}

// distinct takes out states that are the same as others.
func distinct(states []state) []state {
	if len(states) < 2 {
		return states
	}
	seen := make(map[string]bool, len(states))
	return slices.DeleteFunc(states, func(s state) bool {
		key := s.key()
		twice := seen[key]
		seen[key] = true
		return twice
	})
}

// key is the same for states that no later operation and no scan can tell apart: of assigned timestamps only the order
// within a cell counts.
func (s *state) key() string {
	b := binary.LittleEndian.AppendUint64(nil, s.done)
	for _, cell := range s.store.cells() {
		rank := assigned
		for i, e := range cell {
			ts := e.Key.Timestamp()
			if isAssigned(ts) {
				if i == 0 || ts != cell[i-1].Key.Timestamp() {
					rank++
				}
				ts = rank
			}
			ends := e.Key.Ends()
			for _, n := range []int64{ts, int64(ends.Row), int64(ends.Family), int64(ends.Qualifier), int64(e.Key.Size()), int64(len(e.Value))} {
				b = binary.AppendVarint(b, n)
			}
			b = append(b, marked(&e.Key))
			b = append(append(b, e.Key.Data()...), e.Value...)
		}
	}
	return string(b)
}

func marked(k *tablet.Key) byte {
	if k.Deleted() {
		return 1
	}
	return 0
}

// Clone is a copy that goes its own way: what may be there at one moment, for holding against an image of that moment.
// Operations in flight stay in flight in the copy; end them there by Crash.
func (m *Model) Clone() *Model {
	c := *m
	c.rows, c.base = maps.Clone(m.rows), maps.Clone(m.base)
	c.open, c.journal = slices.Clone(m.open), slices.Clone(m.journal)
	return &c
}

// Possible is the largest number of states that a row may be in.
func (m *Model) Possible() (most int) {
	for row := range m.rows {
		most = max(most, len(m.closure(row)))
	}
	return most
}
