package sim

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/sim/oracle"
	"millrace/tablet"
)

// overSeeds calls f for n seeds, as many at once as there are processors: each world is its own goroutine's. An error fails
// the test, with the command that repeats it. It returns how many there were.
func overSeeds(t *testing.T, n int, f func(seed uint64) error) (failed int) {
	t.Helper()
	var next, bad atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				seed := firstSeed() + uint64(i)
				if err := f(seed); err != nil && bad.Add(1) <= 5 {
					t.Errorf("seed %d: %v\n%s", seed, err, repeat(t, seed))
				}
			}
		})
	}
	wg.Wait()
	return int(bad.Load())
}

// sight is what somebody saw of a store: a scan's entries, with a sum to compare by.
type sight struct {
	sum     uint64
	entries []tablet.Entry
}

// newSight sums up scans, byte by byte, timestamps included but for those that the store has assigned.
func newSight(scans ...[]tablet.Entry) (s sight) {
	h := fnv.New64a()
	for _, scan := range scans {
		s.entries = append(s.entries, scan...)
		fmt.Fprintf(h, "%d entries;", len(scan))
		for i := range scan {
			e := &scan[i]
			ends := e.Key.Ends()
			fmt.Fprintf(h, "%d %d %d %d %t %d;", ends.Row, ends.Family, ends.Qualifier, given(&e.Key), e.Key.Deleted(), len(e.Value))
			h.Write(e.Key.Data())
			h.Write(e.Value)
		}
	}
	s.sum = h.Sum64()
	return s
}

// given is a key's timestamp, 0 if it was assigned.
func given(k *tablet.Key) int64 {
	if ts := k.Timestamp(); ts < oracle.ExplicitBelow || ts >= oracle.ExplicitFrom {
		return ts
	}
	return 0
}

// differs says where two sights differ first.
func differs(want, got sight) error {
	for i := range max(len(want.entries), len(got.entries)) {
		if i < len(want.entries) && i < len(got.entries) {
			w, g := &want.entries[i], &got.entries[i]
			if tablet.SameCell(&w.Key, &g.Key) && given(&w.Key) == given(&g.Key) && bytes.Equal(w.Value, g.Value) {
				continue
			}
		}
		return fmt.Errorf("entry %d of %d is %s, want %s of %d", i, len(got.entries), show(got, i), show(want, i), len(want.entries))
	}
	return nil
}

func show(s sight, i int) string {
	if i >= len(s.entries) {
		return "nothing"
	}
	return fmt.Sprintf("%v=%q", s.entries[i].Key, s.entries[i].Value)
}

// played is what came of a history: every sight that its checks had, and a last one.
type played struct {
	sights []sight
	did    map[OpKind]int
	world  *World
}

// play plays a history from opening to close in a world of its own, holds each check against the model, and keeps what it
// saw.
func play(o Options, po PlayOptions, h History, beside func(p *Player)) (r played, err error) {
	w := New(o)
	defer w.End()
	p := NewPlayer(w, po)
	r.did, r.world = p.Did, w
	if err := p.Begin(); err != nil {
		return r, fmt.Errorf("begin: %w", err)
	}
	if beside != nil {
		beside(p)
	}
	see := func() error {
		scans, err := p.check()
		r.sights = append(r.sights, newSight(scans...))
		return err
	}
	for _, op := range h {
		err := p.doOr(op, see)
		if err != nil {
			return r, fmt.Errorf("operation %v: %w", op, err)
		}
	}
	if err := see(); err != nil {
		return r, fmt.Errorf("at the end: %w", err)
	}
	if err := w.CloseStore(); err != nil {
		return r, fmt.Errorf("close: %w", err)
	}
	_, _, err = w.SyncChecks()
	return r, errors.Join(err, w.Panicked())
}

// doOr does an operation. A check is see's, and compactions of some files are exact.
func (p *Player) doOr(op Op, see func() error) error {
	switch op.Kind {
	case Check:
		return see()
	case Partial, strictPartial:
		p.World.Clock().Pass(2 * time.Millisecond)
		err := p.compactChosen(op, op.Kind == strictPartial)
		if errors.Is(err, errSkipped) {
			return nil
		}
		if err == nil {
			p.Did[Partial]++
		}
		return err
	}
	return p.Do(op)
}

// strictPartial is a Partial that is surely of not all files.
const strictPartial OpKind = "strictly partial"

// compareSights wants the checks of two runs of one history to have seen the same.
func compareSights(want, got []sight) error {
	if len(want) != len(got) {
		return fmt.Errorf("%d checks, want %d", len(got), len(want))
	}
	for i := range want {
		if want[i].sum != got[i].sum {
			return fmt.Errorf("check %d of %d: %w", i+1, len(want), differs(want[i], got[i]))
		}
	}
	return nil
}
