package writer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/clock"
	"millrace/tablet"
	"millrace/tablet/locate"
)

// goHost has workers that are goroutines. In a synctest bubble its clock is virtual.
type goHost struct {
	wakes []chan struct{}
	wg    sync.WaitGroup
	once  sync.Once
}

func (h *goHost) Clock() clock.Clock { return clock.Real{} }

func (h *goHost) Start(w *BatchWriter, n int) error {
	for i := range n {
		wake := make(chan struct{}, 1)
		h.wakes = append(h.wakes, wake)
		h.wg.Go(func() {
			for range wake {
				for w.Work(i) {
				}
			}
		})
	}
	return nil
}

func (h *goHost) Wake(worker int) { h.wakes[worker] <- struct{}{} }

func (h *goHost) Settle(ctx context.Context, _ string, _ func() bool) context.Context { return ctx }

func (h *goHost) Stop(context.Context) error {
	h.once.Do(func() {
		for _, w := range h.wakes {
			close(w)
		}
	})
	h.wg.Wait()
	return nil
}

// held is a destination that keeps what it gets until the test says what becomes of it.
type held struct {
	tablets *locate.Map
	mu      sync.Mutex
	sets    []*Set
	givenUp []*Set
	seen    map[string][]string // by row, the values in the order of arrival
	auto    func(s *Set)        // settles at once; nil: the test does
	mapping func() error        // called by Map
}

func newHeld(splits ...string) *held {
	var rows [][]byte
	for _, s := range splits {
		rows = append(rows, []byte(s))
	}
	return &held{tablets: locate.FromSplits(1, "t", rows), seen: make(map[string][]string)}
}

func (d *held) Map() (*locate.Map, error) {
	if d.mapping != nil {
		if err := d.mapping(); err != nil {
			return nil, err
		}
	}
	return d.tablets, nil
}

func (d *held) Send(s *Set) {
	d.mu.Lock()
	d.sets = append(d.sets, s)
	for _, b := range s.Bins {
		for _, m := range b.Mutations {
			d.seen[string(m.Row())] = append(d.seen[string(m.Row())], valueOf(m))
		}
	}
	auto := d.auto
	d.mu.Unlock()
	if auto != nil {
		auto(s)
	}
}

func (d *held) GiveUp(s *Set) {
	d.mu.Lock()
	d.givenUp = append(d.givenUp, s)
	bins := s.Bins
	d.mu.Unlock()
	for _, b := range bins {
		s.Fail(b.Mutations, s.Map.Extent(b.Tablet), s.Expired(), true)
	}
}

func (d *held) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sets)
}

// settle ends the i-th set well.
func (d *held) settle(i int) {
	d.mu.Lock()
	s := d.sets[i]
	d.mu.Unlock()
	done(s)
}

func done(s *Set) {
	for _, b := range s.Bins {
		s.Done(len(b.Mutations), b.Bytes)
	}
}

func put(row, value string) *tablet.Mutation {
	m := tablet.NewMutation([]byte(row))
	m.Put([]byte("f"), []byte("q"), nil, []byte(value))
	return m
}

func valueOf(m *tablet.Mutation) string {
	for u := range m.All() {
		return string(u.Value)
	}
	return ""
}

// kit is a writer in a bubble of virtual time.
type kit struct {
	*testing.T
	w *BatchWriter
	d *held
}

// each runs a test with every variant.
func each(t *testing.T, o Options, d func() *held, f func(k *kit)) {
	t.Helper()
	for _, v := range Variants {
		t.Run(v.String(), func(t *testing.T) {
			o.Variant = v
			run(t, o, d, f)
		})
	}
}

func run(t *testing.T, o Options, d func() *held, f func(k *kit)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &kit{T: t, d: d()}
		h := &goHost{}
		var err error
		if k.w, err = New(h, k.d, o); err != nil {
			t.Fatal(err)
		}
		f(k)
		h.Stop(t.Context()) // again, or for the first time if the test has not closed the writer
		k.w.stopTimers()
	})
}

func (k *kit) add(row, value string) {
	k.Helper()
	if err := k.w.Add(k.Context(), put(row, value)); err != nil {
		k.Fatal(err)
	}
}

// later runs a call on a goroutine of its own; the function returned says whether it has returned, and what.
func (k *kit) later(f func() error) func() (error, bool) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() (error, bool) {
		synctest.Wait()
		select {
		case err := <-done:
			return err, true
		default:
			return nil, false
		}
	}
}

func (k *kit) returns(what string, call func() (error, bool)) {
	k.Helper()
	if err, ok := call(); !ok || err != nil {
		k.Fatalf("%s: %v, returned %v", what, err, ok)
	}
}

func (k *kit) waits(what string, call func() (error, bool)) {
	k.Helper()
	if err, ok := call(); ok {
		k.Fatalf("%s has returned: %v", what, err)
	}
}

func (k *kit) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func rows(ms []Failure) (all []string) {
	for _, f := range ms {
		all = append(all, string(f.Mutation.Row()))
	}
	return all
}

var errBoom = errors.New("boom")

func rowName(i int) string { return fmt.Sprintf("%05d", i) }
