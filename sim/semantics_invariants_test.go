package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"millrace/actors"
	"millrace/compactor/job"
	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// stacks are iterators of which random ones are put on scans.
var stacks = []iter.Setting{
	{Name: "vers", Class: "VersioningIterator", Options: map[string]string{"maxVersions": "3"}},
	{Name: "grep", Class: "GrepIterator", Options: map[string]string{"term": "1"}},
	{Name: "first", Class: "FirstEntryInRowIterator"},
	{Name: "regex", Class: "RegExFilter", Options: map[string]string{"rowRegex": ".*[02468].*"}},
	{Name: "whole", Class: "WholeRowIterator"},
}

func someStack(r *rand.Rand) (settings []iter.Setting) {
	for i, s := range stacks {
		if r.IntN(3) == 0 {
			s.Priority = 30 + i
			settings = append(settings, s)
		}
	}
	return settings
}

// readAround scans and seeks with random stacks, in any order of rows.
func readAround(p *Player, r *rand.Rand, times int) error {
	ctx := context.Background()
	for range times {
		sc, err := p.World.Store().Scan(ctx, "t", actors.ScanOptions{Authorizations: p.all, Iterators: someStack(r), PageEntries: 1 + r.IntN(20), Versions: 1 + r.IntN(3)})
		if err != nil {
			return err
		}
		if _, err := ReadAll(sc); err != nil {
			return err
		}
		it, err := p.World.Store().Iterator("t", actors.IteratorOptions{Authorizations: p.all, Iterators: someStack(r)})
		if err != nil {
			return err
		}
		if err := seekAround(ctx, it, r); err != nil {
			return err
		}
		if err := it.Close(); err != nil {
			return err
		}
	}
	return nil
}

func seekAround(ctx context.Context, it *actors.Iterator, r *rand.Rand) error {
	for range 1 + r.IntN(6) {
		row := fmt.Appendf(nil, "r%02d", r.IntN(40))
		if err := it.Seek(ctx, tablet.RowRange(tablet.RowBounds{Start: row, StartExclusive: r.IntN(2) == 0})); err != nil {
			return err
		}
		for range r.IntN(30) {
			if _, ok := it.Top(); !ok {
				break
			}
			if err := it.Next(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// watched plays a history under random settings and reads in every way, as often as it takes until enough was counted.
func watched(t *testing.T, enough func() bool) (runs, failed int) {
	t.Helper()
	if !invariant.Enabled {
		t.Skip("only with the build tag invariants")
	}
	for from := uint64(0); !enough() && failed == 0; from += 4 {
		failed += overSeeds(t, 4, func(i uint64) error {
			seed := from + i
			s := randomSetting(seed)
			h := NewHistory(seed, HistoryOptions{Ops: 120, Rows: 40, Numbered: true, Weights: map[OpKind]int{Write: 60, Flush: 8, Full: 2, Partial: 3, Split: 1, Reopen: 1, Check: 3}})
			r := stream(seed, "reads")
			wo := s.world(seed)
			wo.MaxSteps = 50_000 // of one wait
			w := New(wo)
			defer w.End()
			p := NewPlayer(w, s.play())
			if err := p.Begin(); err != nil {
				return err
			}
			for _, op := range h {
				err := p.doOr(op, p.Check)
				if err == nil && op.Kind == Check {
					err = readAround(p, r, 3)
				}
				if err != nil {
					return fmt.Errorf("under %v: operation %v: %w", s, op, err)
				}
			}
			return w.Panicked()
		})
		runs += 4
	}
	return runs, failed
}

// TestIteratorContract runs stores until so many calls of iterators, sources, merges and stacks were checked. What breaks
// the contract panics, and is found as the panic of an actor.
func TestIteratorContract(t *testing.T) {
	before, n := iter.ContractCalls(), int64(runs(200_000))
	played, failed := watched(t, func() bool { return iter.ContractCalls()-before >= n })
	lastLine(t, "R34", count("calls", int(iter.ContractCalls()-before)), count("runs", played), zero("violations", failed))
}

// TestCompactionBooks runs stores until so many groups of compactions were audited, to the entry.
func TestCompactionBooks(t *testing.T) {
	groups, entries := job.Audited()
	n := int64(runs(500))
	played, failed := watched(t, func() bool { now, _ := job.Audited(); return now-groups >= n })
	g, e := job.Audited()
	lastLine(t, "R35", count("groups", int(g-groups)), count("entries", int(e-entries)), count("runs", played), zero("differences", failed))
}
