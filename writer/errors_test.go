package writer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/tablet"
)

var errLong = &tablet.ConstraintError{Constraint: "length", Code: 7, What: "too long"}

// A rejection names constraint, tablet and count, and every mutation; later calls get it again, and what else was added is
// written all the same.
func TestRejection(t *testing.T) {
	each(t, Options{}, func() *held { return newHeld("m") }, func(k *kit) {
		k.d.auto = func(s *Set) {
			for _, b := range s.Bins {
				for _, m := range b.Mutations {
					if e := s.Map.Extent(b.Tablet); strings.Contains(valueOf(m), "long") {
						s.Fail([]*tablet.Mutation{m}, e, errLong, false)
					} else if valueOf(m) == "lost" {
						s.Fail([]*tablet.Mutation{m}, e, errBoom, true)
					} else {
						s.Done(1, int64(m.EstimatedMemory()))
					}
				}
			}
		}
		for i, row := range []string{"a", "b", "c", "x", "y", "z"} {
			k.add(row, []string{"fine", "long", "long", "lost", "fine", "long"}[i])
		}
		err := k.w.Flush(k.Context())
		var r *RejectedError
		if !errors.As(err, &r) || !errors.Is(err, tablet.ErrUsage) || !errors.Is(err, errBoom) {
			k.Fatalf("flush: %v", err)
		}
		failed := rows(r.Failed)
		slices.Sort(failed)
		if got := fmt.Sprint(failed); got != "[b c x z]" || r.Unknown() != 1 {
			k.Errorf("failed: %s, %d unknown", got, r.Unknown())
		}
		want := "4 mutations not written, of 1 of them it is not known; tablet t;(-∞,\"m\"], constraint length (7): too long: 2; " +
			"tablet t;(\"m\",+∞], constraint length (7): too long: 1; boom"
		if err.Error() != want {
			k.Errorf("got  %s\nwant %s", err, want)
		}
		for what, call := range map[string]func() error{
			"add":   func() error { return k.w.Add(k.Context(), put("a", "fine")) },
			"flush": func() error { return k.w.Flush(k.Context()) },
			"close": func() error { return k.w.Close(k.Context()) },
			"again": func() error { return k.w.Close(k.Context()) },
		} {
			if err := call(); !errors.As(err, &r) || len(r.Failed) != 4 {
				k.Errorf("%s: %v", what, err)
			}
		}
		if s := k.w.Stats(); s.Acknowledged != 2 || s.Failed != 4 || k.w.memory.used.Load() != 0 {
			k.Errorf("%+v, %d bytes are not given back", s, k.w.memory.used.Load())
		}
	})
}

// Every k-th send fails: what Add took is written or named in the error of Close, and nothing is both.
func TestEveryKthSendFails(t *testing.T) {
	const n = 10_000
	for _, v := range Variants {
		for kth := 1; kth <= 10; kth++ {
			d := newHeld(rowName(n/3), rowName(n/2))
			sends := 0
			written := map[string]bool{}
			d.auto = func(s *Set) {
				d.mu.Lock()
				defer d.mu.Unlock()
				for _, b := range s.Bins {
					if sends++; sends%kth == 0 {
						s.Fail(b.Mutations, s.Map.Extent(b.Tablet), errBoom, false)
						continue
					}
					for _, m := range b.Mutations {
						written[string(m.Row())] = true
					}
					s.Done(len(b.Mutations), b.Bytes)
				}
			}
			w, err := New(&goHost{}, d, Options{Variant: v, MemoryBytes: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			taken := 0
			for ; taken < n; taken++ {
				if err := w.Add(context.Background(), put(rowName(taken*7919%n), "v")); err != nil {
					var r *RejectedError
					if !errors.As(err, &r) {
						t.Fatal(err)
					}
					break
				}
			}
			var r *RejectedError
			if err := w.Close(context.Background()); !errors.As(err, &r) {
				t.Fatalf("close: %v", err)
			}
			for _, f := range r.Failed {
				if written[string(f.Mutation.Row())] {
					t.Errorf("%s is written and named", f.Mutation.Row())
				}
			}
			if len(written)+len(r.Failed) != taken {
				t.Errorf("%v, k=%d: %d written and %d named of %d", v, kth, len(written), len(r.Failed), taken)
			}
		}
	}
}

// Who waits for memory when a mutation fails gets the rejection.
func TestRejectionReachesWhoWaits(t *testing.T) {
	each(t, Options{MemoryBytes: 1}, func() *held { return newHeld() }, func(k *kit) {
		k.add("a", "1")
		waiting := k.later(func() error { return k.w.Add(k.Context(), put("b", "2")) })
		k.waits("add", waiting)
		k.d.mu.Lock()
		s := k.d.sets[0]
		k.d.mu.Unlock()
		s.Fail(s.Bins[0].Mutations, tablet.Extent{}, errBoom, false)
		if err, ok := waiting(); !ok || !errors.Is(err, errBoom) {
			k.Errorf("add: %v %v", err, ok)
		}
		if err := k.w.Close(k.Context()); !errors.Is(err, errBoom) {
			k.Error(err)
		}
	})
}

// A destination that does not know its tablets fails the set and says why.
func TestNoMap(t *testing.T) {
	each(t, Options{}, func() *held { return newHeld() }, func(k *kit) {
		k.d.mapping = func() error { return errBoom }
		k.add("a", "1")
		k.add("b", "2")
		var r *RejectedError
		if err := k.w.Close(k.Context()); !errors.As(err, &r) || !errors.Is(err, errBoom) || len(r.Failed) != 2 || r.Unknown() != 0 {
			k.Errorf("close: %v", err)
		}
		if used := k.w.memory.used.Load(); used != 0 {
			k.Errorf("%d bytes are not given back", used)
		}
	})
}

// A set without progress for the timeout is given up, one with progress is not.
func TestTimeout(t *testing.T) {
	each(t, Options{Timeout: time.Minute, Latency: time.Second}, func() *held { return newHeld("m") }, func(k *kit) {
		k.add("a", "1")
		k.add("z", "1")
		k.sleep(50 * time.Second)
		k.d.mu.Lock()
		sets := slices.Clone(k.d.sets)
		k.d.mu.Unlock()
		first := sets[0]
		settled := len(first.Bins) == 1
		first.Done(1, first.Bins[0].Bytes) // progress, for the variants that have one set
		k.sleep(30 * time.Second)
		k.d.mu.Lock()
		early := len(k.d.givenUp)
		k.d.mu.Unlock()
		if settled == (early == 0) { // of two sets the other has had none
			k.Errorf("%d given up after 80 s, one settled: %v", early, settled)
		}
		k.d.mu.Lock()
		k.d.givenUp = nil
		k.d.mu.Unlock()
		if !settled {
			k.d.mu.Lock()
			first.Bins = first.Bins[1:] // what is left
			k.d.mu.Unlock()
			k.sleep(time.Minute)
			k.d.mu.Lock()
			defer k.d.mu.Unlock()
			if len(k.d.givenUp) != 1 {
				k.Errorf("%d given up", len(k.d.givenUp))
			}
		}
		err := k.w.Close(k.Context())
		var r *RejectedError
		if !errors.As(err, &r) || !errors.Is(err, context.DeadlineExceeded) || len(r.Failed) != 1 || r.Unknown() != 1 {
			k.Errorf("close: %v", err)
		}
	})
}

// A worker that ends without having been stopped leaves nothing open: its set in hand and those behind it fail.
func TestWorkerEnds(t *testing.T) {
	for _, v := range []Variant{Actors, Handoff, NoSync} {
		t.Run(v.String(), func(t *testing.T) {
			run(t, Options{Variant: v, MemoryBytes: 4000, Binners: 1}, func() *held { return newHeld() }, func(k *kit) {
				gate := make(chan bool)
				k.d.auto = done
				k.d.mapping = func() error { <-gate; return nil }
				adding := k.later(func() error {
					for i := range 9 {
						if err := k.w.Add(k.Context(), put(rowName(i), "v")); err != nil {
							return err
						}
					}
					return nil
				})
				k.returns("adds", adding)
				k.w.Ended(0, errBoom)
				close(gate)
				synctest.Wait()
				err := k.w.Close(k.Context())
				var r *RejectedError
				if !errors.As(err, &r) || !errors.Is(err, errBoom) {
					k.Fatalf("close: %v", err)
				}
				s := k.w.Stats()
				if s.Mutations != 9 || s.Failed == 0 || s.Failed != int64(len(r.Failed)) || k.w.memory.used.Load() != 0 {
					k.Errorf("%+v, %d named, %d bytes are not given back", s, len(r.Failed), k.w.memory.used.Load())
				}
				if err := k.w.Add(k.Context(), put("x", "v")); !errors.As(err, &r) {
					k.Errorf("add: %v", err)
				}
			})
		})
	}
}

// Settling twice is a mistake of the destination's, which is not passed over.
func TestSettledTwice(t *testing.T) {
	run(t, Options{}, func() *held { return newHeld() }, func(k *kit) {
		k.add("a", "1")
		flush := k.later(func() error { return k.w.Flush(k.Context()) })
		k.waits("flush", flush)
		s := k.d.sets[0]
		bins := slices.Clone(s.Bins) // the set has none once it is settled
		done(s)
		k.returns("flush", flush)
		defer func() {
			if recover() == nil {
				k.Error("settled twice, and nothing was said")
			}
			k.w.memory.used.Store(0)
			if err := k.w.Close(k.Context()); err != nil {
				k.Error(err)
			}
		}()
		s.Done(1, bins[0].Bytes)
	})
}
