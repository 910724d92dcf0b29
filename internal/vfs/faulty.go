package vfs

import (
	"io"
	"sync"
)

// FaultyFS passes calls on to another FS and makes some of them fail. It is safe for concurrent use.
type FaultyFS struct {
	layer

	mu    sync.Mutex
	rules []*counter[Rule]
	calls map[Op]int
	seen  map[Site]bool
	hits  []Call
}

// Faulty wraps an FS. Of the rules that a call meets the first counts; all count the call. It panics when a pattern is
// malformed.
func Faulty(inner FS, rules ...Rule) *FaultyFS {
	f := &FaultyFS{calls: map[Op]int{}, seen: map[Site]bool{}}
	f.layer = layer{inner: inner, around: f.pass}
	f.Add(rules...)
	return f
}

// Add adds rules, which count from now.
func (f *FaultyFS) Add(rules ...Rule) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range rules {
		mustPattern("Faulty", r.Name)
		f.rules = append(f.rules, &counter[Rule]{rule: r})
	}
}

// Heal takes all rules away. What they did stays: a file whose unsynced bytes were dropped with SyncDropped still fails
// to sync.
func (f *FaultyFS) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
}

// Calls is the number of calls of a kind so far, failed ones included; of all kinds for OpAny.
func (f *FaultyFS) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if op != OpAny {
		return f.calls[op]
	}
	all := 0
	for _, n := range f.calls {
		all += n
	}
	return all
}

// Hits are the calls that a rule made fail, in order.
func (f *FaultyFS) Hits() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]Call(nil), f.hits...)
}

// Sites are the sites of the hits, each once, in order; missed are the sites of all other calls so far.
func (f *FaultyFS) Sites() (hit, missed []Site) {
	f.mu.Lock()
	defer f.mu.Unlock()
	hits := map[Site]bool{}
	for _, c := range f.hits {
		hits[Site{c.Op, c.Class()}] = true
	}
	for _, s := range sortedSites(f.seen) {
		if hits[s] {
			hit = append(hit, s)
		} else {
			missed = append(missed, s)
		}
	}
	return hit, missed
}

// meet counts a call and returns the rule that makes it fail, if any.
func (f *FaultyFS) meet(c Call) *Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[c.Op]++
	f.seen[Site{c.Op, c.Class()}] = true
	var failing *Rule
	for _, r := range f.rules {
		if r.rule.matches(c) && due(&r.seen, r.rule.N, r.rule.Sticky) && failing == nil {
			failing = &r.rule
		}
	}
	if failing != nil {
		f.hits = append(f.hits, c)
	}
	return failing
}

// pass is one call's way through the layer.
func (f *FaultyFS) pass(p *passage) error {
	r := f.meet(p.Call)
	if p.Op == OpSync {
		return f.sync(p, r)
	}
	if r == nil {
		return p.pass()
	}
	switch p.Op {
	case OpRead, OpWrite:
		if err := r.short(p); err != nil {
			return err
		}
	case OpClose, OpUnlock: // a failed close does not leave a file open either
		if err := p.pass(); err != nil {
			return err
		}
	default:
		if r.After {
			if err := p.pass(); err != nil {
				return err
			}
		}
	}
	return r.wrap(p)
}

// short does the part of a read or a write that goes through.
func (r *Rule) short(p *passage) error {
	part := p.buf[:min(r.Short, len(p.buf))]
	if r.After {
		part = p.buf
	}
	if len(part) == 0 && p.Op == OpWrite {
		return nil
	}
	err := p.passPart(part)
	if err == io.EOF {
		return nil
	}
	return err
}

// deadSync is what a file whose unsynced bytes were dropped with SyncDropped keeps: the error of each later sync.
type deadSync struct{ err error }

// sync is a sync that may fail by a rule, or because an earlier one did.
func (f *FaultyFS) sync(p *passage, r *Rule) error {
	if dead, ok := p.file.state.(deadSync); ok {
		return dead.err
	}
	if r == nil {
		return p.pass()
	}
	if r.After {
		if err := p.pass(); err != nil {
			return err
		}
	}
	if r.Sync == SyncKept {
		return r.wrap(p)
	}
	below := memFileBelow(p.file)
	if below == nil {
		panic("vfs.Faulty: " + r.Sync.String() + ": there is no MemFS below")
	}
	below.dropUnsynced()
	err := r.wrap(p)
	if r.Sync == SyncDropped && err != nil {
		p.file.state = deadSync{err}
	}
	return err
}

// wrap is the error that a call reports, nil when it is silent.
func (r *Rule) wrap(p *passage) error {
	switch p.Op {
	case OpCreate, OpOpen, OpLock, OpList, OpStat, OpFree, OpSize:
	default:
		if r.Silent {
			return nil
		}
	}
	err := r.failure()
	if p.Op == OpRead && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		return err
	}
	name := p.Name
	if p.file != nil && p.file.File != nil {
		name = p.file.Name()
	}
	return pathError(string(p.Op), name, err)
}
