package iter

import (
	"context"
	"errors"
	"strings"
	"testing"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// faultySource breaks one rule.
type faultySource struct {
	Source
	rule string
	at   int
}

func (f *faultySource) Next(ctx context.Context) (*tablet.Batch, error) {
	b, err := f.Source.Next(ctx)
	f.at++
	switch {
	case f.rule == "batch and error" && f.at == 1:
		return b, errors.New("both")
	case f.rule == "behind the end" && f.at > 1:
		if f.at == 2 {
			return nil, nil
		}
	}
	return b, err
}

// faultyIterator breaks one rule at its second entry.
type faultyIterator struct {
	Iterator
	rule string
	at   int
}

func (f *faultyIterator) Next(ctx context.Context) error {
	f.at++
	switch f.rule {
	case "never moves on":
		f.at = 0
		return nil
	case "entry after an error":
		return errors.New("but here it is")
	case "backwards":
		if f.at == 1 {
			break
		}
		return f.Iterator.Seek(ctx, tablet.Range{}, tablet.Families{})
	}
	return f.Iterator.Next(ctx)
}

func (f *faultyIterator) Top() (tablet.Entry, bool) {
	e, ok := f.Iterator.Top()
	if f.rule == "moves when read" && f.at > 0 {
		_ = f.Iterator.Next(ctx)
	}
	return e, ok
}

// TestContractIsWatched breaks each rule once and wants to hear of it, in checking builds.
func TestContractIsWatched(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("only with the build tag invariants")
	}
	entries := parseEntries(t, `
		a f:q [] 1 x
		b f:q [] 1 y
		c f:q [] 1 z`)
	caught := func(rule, want string, f func()) {
		t.Helper()
		defer func() {
			t.Helper()
			v, ok := recover().(*invariant.Violation)
			if want == "" && v == nil {
				return
			}
			if !ok || want == "" || !strings.Contains(v.What, want) {
				t.Errorf("%s: caught %v, want %q", rule, v, want)
			}
		}()
		f()
	}
	sources := func(rule, want string) {
		t.Helper()
		caught(rule, want, func() {
			m := NewMerge(Tree, []Source{&faultySource{Source: keeper(entries, 1), rule: rule}})
			_ = m.Seek(ctx, tablet.Range{}, tablet.Families{})
			s := m.cursors[0].source
			for range 3 {
				_, _ = s.Next(ctx)
			}
			if rule == "closed twice" {
				_ = s.Close()
				_ = s.Close()
			}
			if rule == "read after close" {
				_ = s.Close()
				_, _ = s.Next(ctx)
			}
		})
	}
	sources("none", "")
	sources("batch and error", "gave a batch and an error")
	sources("behind the end", "gave a batch behind its end")
	sources("closed twice", "closed twice")
	sources("read after close", "after its close")

	iterators := func(rule, want string, r tablet.Range) {
		t.Helper()
		caught(rule, want, func() {
			it := watchIterator(&faultyIterator{Iterator: NewEntries(NewMerge(Tree, []Source{keeper(entries, 1)})), rule: rule}, rule, false)
			_ = it.Seek(ctx, tablet.Range{}, tablet.Families{})
			for range 3 {
				_ = it.Next(ctx)
				it.Top()
			}
		})
	}
	iterators("none", "", tablet.Range{})
	iterators("never moves on", "", tablet.Range{}) // equal keys may follow each other
	iterators("entry after an error", "has an entry after an error", tablet.Range{})
	iterators("backwards", "after", tablet.Range{})
	iterators("moves when read", "without a move", tablet.Range{})

	caught("codes", "code of", func() {
		var w watchedRuns
		b := Batches(entries, 3)[0]
		b.Codes[1]++
		w.check("test", func(uint16) *tablet.Batch { return b }, []Run{{Lo: 0, Hi: 3}}, true)
	})
	caught("order", "comes after", func() {
		var w watchedRuns
		b := Batches(entries, 3)[0]
		w.check("test", func(uint16) *tablet.Batch { return b }, []Run{{Lo: 1, Hi: 2}, {Lo: 0, Hi: 1}}, true)
	})
	if ContractCalls() == 0 {
		t.Error("no calls were counted")
	}
}

// TestContractSpoils wants what an iterator handed out to be unreadable when its time is over.
func TestContractSpoils(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("only with the build tag invariants")
	}
	entries := parseEntries(t, `
		a f:q [] 1 x
		b f:q [] 1 y`)
	it, err := Build(NewEntries(NewMerge(Tree, []Source{keeper(entries, 2)})), nil, Env{})
	if err != nil {
		t.Fatal(err)
	}
	if err := it.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	kept, _ := it.Top()
	if err := it.Next(ctx); err != nil {
		t.Fatal(err)
	}
	if kept.Value[0] != poisonByte || kept.Key.Row()[0] != poisonByte {
		t.Errorf("an entry reads %v after its time", kept)
	}
}
