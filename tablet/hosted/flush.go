package hosted

import (
	"fmt"

	"millrace/tablet"
	"millrace/tablet/memtable"
)

// Frozen is a memtable set aside. It takes no new mutations, but those prepared before may still arrive.
type Frozen struct {
	Age     uint64
	Session uint64
	// Snapshot is all of it, nil while prepared mutations are outstanding: then NextFlush gives it later.
	Snapshot *memtable.Snapshot
}

// Freeze sets the active memtable aside and begins a new one, under a new session. ok is false if it is empty. No
// timestamp assigned from now on equals one assigned before.
func (t *Tablet) Freeze() (f Frozen, ok bool) {
	if t.active.table.Entries() == 0 && t.active.pending == 0 {
		return Frozen{}, false
	}
	m := t.active
	m.age = t.nextAge
	t.nextAge++
	t.timer.turn()
	t.frozen = append(t.frozen, m)
	t.active = &memory{table: memtable.New(), session: m.session + sessionStep}
	t.publish()
	return m.asFrozen(), true
}

func (m *memory) asFrozen() Frozen {
	f := Frozen{Age: m.age, Session: m.session}
	if m.pending == 0 {
		f.Snapshot = m.table.Snapshot()
	}
	return f
}

// Session is the active memtable's number in the log. Entries of lower ones are in frozen memtables or in files.
func (t *Tablet) Session() uint64 { return t.active.session }

// RaiseSession makes sure that the active memtable's number is above one that the log knows of: for what is found there on
// recovery.
func (t *Tablet) RaiseSession(seen uint64) { t.active.session = max(t.active.session, seen+1) }

// FlushDue says whether NextFlush has something to give.
func (t *Tablet) FlushDue() bool {
	return t.flush == nil && len(t.frozen) > 0 && t.frozen[0].pending == 0
}

// FrozenCount is how many memtables wait for their file.
func (t *Tablet) FrozenCount() int { return len(t.frozen) }

// Flush is a minor compaction to run: a frozen memtable, and in some profiles files, become one file.
type Flush struct {
	Frozen
	Merge []tablet.FileMeta // taken along, newest first; mostly none
	Ages  tablet.AgeRange   // of the output
}

// NextFlush is the flush that is due: the oldest frozen memtable's, once all its mutations have arrived. One runs at a
// time. It ends in Install or FlushFailed.
func (t *Tablet) NextFlush() (f Flush, ok bool) {
	if !t.FlushDue() {
		return Flush{}, false
	}
	m := t.frozen[0]
	f = Flush{Frozen: m.asFrozen(), Ages: tablet.AgeRange{Oldest: m.age, Newest: m.age}}
	f.Merge, f.Ages = t.takeAlong(f)
	t.flush = &f
	return f, true
}

// takeAlong chooses the files that a flush merges, with which the output is one run of ages; none if some are in use.
func (t *Tablet) takeAlong(f Flush) ([]tablet.FileMeta, tablet.AgeRange) {
	smallest, ok := t.opts.Planner.TakeAlong(t.situation(false))
	if !ok {
		return nil, f.Ages
	}
	w := newWidening(t.files)
	w.addSpan(memtableSpan(f.Snapshot.Facts(), f.Ages))
	w.choose(smallest)
	w.widen()
	if t.reaches(w.ages) {
		return nil, f.Ages
	}
	for _, in := range w.chosen() {
		if t.busy(in.meta.Number) {
			return nil, f.Ages
		}
	}
	if t.crosses(w) {
		return nil, f.Ages
	}
	return metasOf(w.chosen()), w.ages
}

// FlushFailed gives up the flush under way. NextFlush gives its memtable again.
func (t *Tablet) FlushFailed() { t.flush = nil }

// CheckInstall says whether Install would succeed: to be asked before the change is recorded.
func (t *Tablet) CheckInstall(age uint64, output *tablet.FileMeta) error {
	switch {
	case len(t.frozen) == 0 || t.frozen[0].age != age:
		return fmt.Errorf("hosted: install memtable of age %d: %w", age, ErrUnknown)
	case t.flush == nil:
		return fmt.Errorf("hosted: install memtable of age %d: no flush under way: %w", age, ErrUnknown)
	}
	return t.checkOutput(output, t.flush.Ages)
}

// checkOutput looks at a file about to enter the tablet; nil stands for an output without entries.
func (t *Tablet) checkOutput(output *tablet.FileMeta, want tablet.AgeRange) error {
	switch {
	case output == nil:
		return nil
	case t.find(output.Number) != nil:
		return fmt.Errorf("hosted: file %d: %w", output.Number, ErrDuplicate)
	case output.Ages != want:
		return fmt.Errorf("hosted: file %d has ages %d to %d, want %d to %d: %w", output.Number,
			output.Ages.Oldest, output.Ages.Newest, want.Oldest, want.Newest, ErrAges)
	}
	return nil
}

// Install replaces the memtable of the flush under way, and the files it took along, by its output: nil if nothing was
// written. The output's ages are the flush's. Readers see both states or neither.
func (t *Tablet) Install(age uint64, output *tablet.FileMeta) error {
	if err := t.CheckInstall(age, output); err != nil {
		return err
	}
	inputs := numbersOf(t.flush.Merge)
	t.flush = nil
	t.frozen = t.frozen[1:]
	t.replace(inputs, output)
	return nil
}
