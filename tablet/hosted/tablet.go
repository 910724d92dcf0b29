package hosted

import (
	"sync/atomic"

	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/memtable"
)

// Tablet is a live tablet. One goroutine owns it.
type Tablet struct {
	opts    Options
	extent  tablet.Extent
	checker checker
	timer   timer

	active *memory
	frozen []*memory // oldest first
	flush  *Flush    // of frozen[0], if under way
	files  []*file   // newest first
	// nextAge is the age that the next frozen memtable or imported file gets.
	nextAge  uint64
	reserved []tablet.AgeRange // for imports under way

	jobs     []*Job
	nextJob  uint64
	selected map[uint64]bool // numbers of the files that a user's compaction has yet to cover
	wish     uint64          // how often somebody wished for one
	partial  bool            // the last wish was not for all files

	generation uint64
	view       atomic.Pointer[View]
	obsolete   obsoleteList
}

// memory is a memtable with its place in the tablet's life.
type memory struct {
	table   *memtable.Table
	session uint64 // its number in the log
	age     uint64 // once it is frozen
	pending int    // prepared batches that are neither committed nor aborted
}

// firstAge leaves 0 to mean no age.
const firstAge = 1

// sessionStep is what a session's number grows by from memtable to memtable: the log numbers the start and the end of a
// flush in between.
const sessionStep = 2

// New loads a tablet. Its memory is empty: what the log holds comes in through Replay.
func New(s State, o Options) (*Tablet, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := checkFiles(s.Files); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	t := &Tablet{
		opts:     o,
		extent:   s.Extent,
		checker:  checker{extent: s.Extent, maxKeyBytes: o.MaxKeyBytes, maxBytes: maxMutationBytes, constraints: o.Constraints},
		timer:    timer{kind: o.Time, last: s.Time},
		active:   &memory{table: memtable.New(), session: max(s.Session, 1)},
		nextAge:  max(s.NextAge, firstAge),
		selected: map[uint64]bool{},
	}
	t.obsolete.wake = o.OnObsolete
	for _, meta := range s.Files {
		t.insertFile(meta)
		t.nextAge = max(t.nextAge, meta.Ages.Newest+1)
	}
	t.publish()
	return t, nil
}

// Configure changes the planner and the bound of keys, from the next decision on.
func (t *Tablet) Configure(p Planner, maxKeyBytes int) {
	t.opts.Planner, t.opts.MaxKeyBytes = p, maxKeyBytes
	t.checker.maxKeyBytes = maxKeyBytes
}

// Extent is the tablet's.
func (t *Tablet) Extent() tablet.Extent { return t.extent }

// State is what the tablet would be loaded from, but for what is in memory.
func (t *Tablet) State() State {
	return State{Extent: t.extent, Files: t.metas(), Time: t.timer.last, Session: t.active.session, NextAge: t.nextAge}
}

// Memory is the estimated bytes in the active memtable, and in those that are frozen and not yet in a file.
func (t *Tablet) Memory() (active, frozen int64) {
	for _, m := range t.frozen {
		frozen += m.table.Bytes()
	}
	return t.active.table.Bytes(), frozen
}

// MemoryEntries is the entries in the active memtable, and in those that are frozen and not yet in a file.
func (t *Tablet) MemoryEntries() (active, frozen int64) {
	for _, m := range t.frozen {
		frozen += m.table.Entries()
	}
	return t.active.table.Entries(), frozen
}

// Files is how many files the tablet has.
func (t *Tablet) Files() int { return len(t.files) }

// FileBytes is the sum of the files' sizes.
func (t *Tablet) FileBytes() (n int64) {
	for _, f := range t.files {
		n += f.meta.Bytes
	}
	return n
}

// SetPlanner changes what is compacted from now on. Jobs under way go on.
func (t *Tablet) SetPlanner(p Planner) error {
	if err := p.Validate(); err != nil {
		return err
	}
	t.opts.Planner = p
	return nil
}

// Prepared are mutations on their way into the log and then into memory. It is used once.
type Prepared struct {
	Mutations []*tablet.Mutation // those not refused, in order
	Session   uint64             // of the memtable that they will enter; logged with them
	// Timestamp is that of the first mutation's updates that have none of their own; it grows by Step with each mutation.
	// Both are logged.
	Timestamp, Step int64

	memory *memory
	done   bool
}

// Prepare checks mutations and gives them their timestamps. now is the wall clock in milliseconds. What is refused is
// named in rejects, by index ascending; if anything is left, p is not nil and ends in Commit or Abort. Order is kept, and the
// tablet keeps the slice of mutations until then.
func (t *Tablet) Prepare(mutations []*tablet.Mutation, now int64) (p *Prepared, rejects []Reject) {
	for i, m := range mutations {
		tablet.WarmAt(mutations, i)
		rejects = t.checker.check(rejects, i, m)
	}
	if len(rejects) > 0 {
		mutations = without(mutations, rejects)
	}
	if len(mutations) == 0 {
		return nil, rejects
	}
	p = &Prepared{Mutations: mutations, Session: t.active.session, memory: t.active}
	p.Timestamp, p.Step = t.timer.take(len(mutations), now)
	p.memory.pending++
	return p, rejects
}

// without copies the mutations that no reject names.
func without(mutations []*tablet.Mutation, rejects []Reject) []*tablet.Mutation {
	left := make([]*tablet.Mutation, 0, len(mutations))
	for i, m := range mutations {
		for len(rejects) > 0 && rejects[0].Index < i {
			rejects = rejects[1:]
		}
		if len(rejects) == 0 || rejects[0].Index != i {
			left = append(left, m)
		}
	}
	return left
}

// Commit puts prepared mutations into the memtable they were prepared for, even if it was frozen meanwhile, and returns how
// many entries that makes. From the return on readers see all of them.
func (t *Tablet) Commit(p *Prepared) (entries int64) {
	p.end()
	before := p.memory.table.Entries()
	p.memory.table.ApplyAll(p.Mutations, p.Timestamp, p.Step)
	return p.memory.table.Entries() - before
}

// Abort ends prepared mutations that could not be logged. Their timestamps stay used.
func (t *Tablet) Abort(p *Prepared) { p.end() }

func (p *Prepared) end() {
	invariant.That(!p.done, "prepared mutations committed or aborted twice")
	p.done = true
	p.memory.pending--
}

// Replay puts mutations from the log into the active memtable, with the timestamps they were logged with. They passed the
// constraints once.
func (t *Tablet) Replay(mutations []*tablet.Mutation, timestamp, step int64) {
	t.active.table.ApplyAll(mutations, timestamp, step)
	t.RaiseTime(timestamp + step*int64(max(len(mutations), 1)-1))
}
