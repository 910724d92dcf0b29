package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"millrace/tablet"
)

// play does histories, one after the other or several at once, and then sees to it that everything is well again.
func (t *trial) play(all ...History) {
	defer t.verifyImages()
	err := t.begin()
	switch {
	case err != nil:
		err = fmt.Errorf("at the beginning: %w", err)
	case len(all) > 1:
		err = t.p.PlayAtOnce(all...)
	default:
		err = t.playOne(all[0])
	}
	if err != nil {
		t.breach("failed", err)
		return
	}
	t.finish()
}

func (t *trial) playOne(h History) error {
	for _, op := range h {
		if err := t.do(op); err != nil {
			return fmt.Errorf("%v: %w", op, err)
		}
	}
	return nil
}

// begin opens the store, more than once if it has to.
func (t *trial) begin() error {
	err := t.p.Begin()
	for try := 0; err != nil && t.w.store == nil && try < 3 && !errors.Is(err, ErrDeadlock); try++ {
		t.tolerate(Op{Kind: Reopen}, err)
		err = t.p.Begin()
	}
	return err
}

func (t *trial) do(op Op) error {
	t.tries = 0
	told := t.told
	var err error
	switch op.Kind {
	case opProperties:
		t.p.World.Clock().Pass(2 * time.Millisecond)
		err = t.changeProperty(op)
		t.opEnded(op)
	case opTable:
		err = t.makeTable(op)
		t.opEnded(op)
	default:
		err = t.p.Do(op)
	}
	if err == nil && t.told == told && t.w.store != nil {
		t.checkDone(op)
	}
	return err
}

// checkDone wants an operation that has reported success to have done its work.
func (t *trial) checkDone(op Op) {
	if op.Kind != Flush && op.Kind != Full {
		return
	}
	stats, err := t.w.Store().Stats(context.Background(), op.Table)
	if err != nil {
		t.breach("unusable", fmt.Errorf("stats: %w", err))
	}
	for _, s := range stats {
		if s.Err == nil && (s.MemoryEntries > 0 || op.Kind == Full && len(s.Files) > 1) {
			t.breach("undone", fmt.Errorf("%v succeeded, and %v has %d entries in memory and %d files", op, s.Extent, s.MemoryEntries, len(s.Files)))
		}
	}
}

const property = "table.split.threshold"

func (t *trial) changeProperty(op Op) error {
	value := fmt.Sprintf("%dM", 100+op.Pick%1000)
	err := t.w.Store().SetProperties(context.Background(), "t", map[string]string{property: value})
	switch {
	case err == nil:
		t.value = map[string]bool{value: true}
	case Crashed(err) || errors.Is(err, ErrDeadlock):
		return err
	default:
		t.tolerate(op, err)
		t.value[value] = true
	}
	t.checkProperty()
	return t.w.Sleep(time.Second)
}

func (t *trial) checkProperty() {
	all, err := t.w.Store().Properties(context.Background(), "t")
	if err != nil || !t.value[all[property]] {
		t.breach("lost", fmt.Errorf("property %s is %q, not one of %v (%v)", property, all[property], t.value, err))
		return
	}
	t.value = map[string]bool{all[property]: true}
}

// makeTable makes a table with something in a file and something in memory, and takes it away.
func (t *trial) makeTable(op Op) error {
	s, ctx := t.w.Store(), context.Background()
	row := func(name string) []*tablet.Mutation {
		m := tablet.NewMutation([]byte(name))
		m.Put([]byte("f"), []byte("q"), nil, []byte("v"))
		return []*tablet.Mutation{m}
	}
	steps := []func() error{
		func() error { return s.CreateTable(ctx, "x", nil, nil) },
		func() error { return s.Apply(ctx, "x", row("a")) },
		func() error { return s.Flush(ctx, "x") },
		func() error { return s.Apply(ctx, "x", row("b")) },
		func() error { return s.DeleteTable(ctx, "x") },
	}
	for i, step := range steps {
		err := step()
		_, e := s.Tablets("x")
		switch last := i == len(steps)-1; {
		case Crashed(err) || errors.Is(err, ErrDeadlock):
			return err
		case err == nil && (e == nil) == last:
			t.breach("undone", fmt.Errorf("step %d with table x succeeded, and then: %v", i, e))
		case err != nil:
			t.tolerate(op, err)
			if e != nil { // it could not be made
				return nil
			}
		}
	}
	return nil
}

// dropTable deletes what a failed opTable has left.
func (t *trial) dropTable() {
	if _, err := t.w.Store().Tablets("x"); err == nil {
		if err := t.w.Store().DeleteTable(context.Background(), "x"); err != nil {
			t.breach("unusable", fmt.Errorf("delete table x: %w", err))
		}
	}
}

// finish takes the fault away and wants everything to be well: the store works, holds what it should and nothing beside,
// and does so after it was opened again.
func (t *trial) finish() {
	t.atEnd = int(t.trace.Last())
	t.heal()
	if wait := t.healed + afterEffects - t.w.Clock().Elapsed(); wait > 0 {
		if err := t.w.Sleep(wait); err != nil {
			t.breach("failed", fmt.Errorf("after the fault: %w", err))
			return
		}
	}
	t.ended = true
	t.dropTable()
	for _, op := range []Op{{Kind: Check}, t.lastWrite(), {Kind: Flush}, {Kind: Full}, {Kind: opProperties}, {Kind: Check}} {
		op.Table = "t"
		if err := t.do(op); err != nil {
			t.breach("unusable", fmt.Errorf("afterwards, %v: %w", op, err))
			return
		}
	}
	if err := t.w.Sleep(6 * time.Minute); err != nil { // files that cannot be removed are tried again every 5 minutes
		t.breach("failed", err)
		return
	}
	t.noOrphans()
	if err := t.w.CloseStore(); err != nil {
		t.breach("unusable", fmt.Errorf("close: %w", err))
	}
	t.nothingHeld("after a close")
	t.verifyImage("opened again", t.mem.Clone(), true) // which finds no orphan either
}

func (t *trial) lastWrite() Op {
	h := NewHistory(t.seed, HistoryOptions{Ops: 1, First: 900, Weights: map[OpKind]int{Write: 1}, Batches: -1})
	return h[0]
}

// noOrphans wants no data file but those that tablets have, and no lease.
func (t *trial) noOrphans() {
	if _, leases := t.w.Store().OpenFiles(); leases > 0 {
		t.breach("files", fmt.Errorf("%d leases are held by nobody", leases))
	}
	stats, err := t.w.Store().Stats(context.Background(), "")
	if err != nil {
		t.breach("unusable", fmt.Errorf("stats: %w", err))
		return
	}
	named := make(map[string]bool)
	for _, s := range stats {
		for _, f := range s.Files {
			named[f.Name] = true
		}
		if s.Jobs > 0 {
			t.breach("unusable", fmt.Errorf("%v has %d jobs long after everything", s.Extent, s.Jobs))
		}
	}
	there, err := t.mem.List("data")
	if err != nil {
		t.breach("failed", err)
	}
	for _, name := range there {
		if !named["data/"+name] {
			t.breach("orphans", fmt.Errorf("data/%s is nobody's", name))
		}
		delete(named, "data/"+name)
	}
	if len(named) > 0 {
		t.breach("lost", fmt.Errorf("files %v are not there", named))
	}
}
