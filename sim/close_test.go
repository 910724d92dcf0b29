package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestCloseUnderLoad closes a live store while writers, readers, flushes, compactions and splits go on, again and again,
// on a real directory and in memory. Every call ends, with an answer or an error; what was acknowledged is there at the
// next opening; and no goroutine, file, lock or temporary file is left.
func TestCloseUnderLoad(t *testing.T) {
	n := runs(16)
	lost, left, hung, acked := 0, 0, 0, 0
	// What the library keeps for the process once it was used is not a store's.
	warm, err := actors.Open(context.Background(), "", actors.WithFS(vfs.Mem()))
	if err == nil {
		err = warm.Close(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	for i := range n {
		seed := firstSeed() + uint64(i)
		l := newLoad(t, seed)
		problems := []error{l.run()}
		acked += int(l.acked.Load())
		if errors.Is(problems[0], errHung) {
			hung++
		}
		if err := goleak.Find(before); err != nil {
			problems = append(problems, fmt.Errorf("goroutines: %w", err))
			left++
		}
		if open, _ := l.fs.OpenFiles(); open != 0 {
			problems = append(problems, fmt.Errorf("%d files are open", open))
			left++
		}
		if mem, ok := l.below.(*vfs.MemFS); ok && mem.OpenFiles() != 0 {
			problems = append(problems, fmt.Errorf("%d files or locks are held", mem.OpenFiles()))
			left++
		}
		if err := checkStore(l.below, true); err != nil {
			problems = append(problems, err)
			left++
		}
		if err := l.look(); err != nil {
			problems = append(problems, err)
			lost++
		}
		if err := errors.Join(problems...); err != nil {
			t.Errorf("close %d: %v\ngo test ./sim -run '^TestCloseUnderLoad$' -args -seed %d -n 1", i, err, seed)
		}
		vfs.Close(l.below)
		if hung > 0 {
			break // what it has left would be found again and again
		}
	}
	lastLine(t, "R51", count("closes", n), count("acknowledged", acked), zero("lost", lost), zero("left", left), zero("hung", hung))
}

// load is a live store with callers that go on until it is closed.
type load struct {
	seed  uint64
	below vfs.FS
	fs    *vfs.LimitFS
	store *actors.Store
	acked atomic.Int64
	// By writer: the highest number that was acknowledged; each writes its numbers in order.
	done [4]atomic.Int64
}

var errHung = errors.New("calls or the close did not end")

func newLoad(t *testing.T, seed uint64) *load {
	l := &load{seed: seed, below: vfs.Mem()}
	var err error
	if seed%4 == 0 {
		l.below, err = vfs.MakeDir(t.TempDir() + "/store")
	}
	if err == nil {
		l.fs, err = vfs.Limit(l.below, 0, math.MaxInt64)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// run opens the store, loads it for a while, and closes it. Every call must have ended within 30 s.
func (l *load) run() error {
	ctx := context.Background()
	var err error
	if l.store, err = actors.Open(ctx, "", actors.WithFS(l.fs), actors.WithMemoryLimit(16<<20)); err != nil {
		return err
	}
	if err := l.store.CreateTable(ctx, "t", [][]byte{[]byte("writer 2")}, nil); err != nil {
		return err
	}
	var callers sync.WaitGroup
	errs := make(chan error, 100)
	call := func(do func(n int) error) {
		callers.Go(func() {
			for n := 1; ; n++ {
				if err := do(n); err != nil {
					if !errors.Is(err, tablet.ErrClosed) {
						errs <- err
					}
					return
				}
			}
		})
	}
	for w := range l.done {
		call(func(n int) error { return l.write(w, n) })
	}
	for _, c := range publicCalls {
		switch c.name {
		case "Scan", "Scan half", "Get", "Flush", "Compact", "AddSplits", "ApplyAsync", "Stats":
			call(func(n int) error { return c.do(ctx, l.store, n) })
		}
	}
	time.Sleep(time.Duration(stream(l.seed, "close").Int64N(int64(30 * time.Millisecond))))
	ended := make(chan error, 1)
	go func() {
		err := l.store.Close(ctx)
		callers.Wait()
		ended <- err
	}()
	select {
	case err = <-ended:
	case <-time.After(30 * time.Second):
		return errHung
	}
	for {
		select {
		case other := <-errs:
			err = errors.Join(err, other)
		default:
			return err
		}
	}
}

// write writes one entry.
func (l *load) write(w, n int) error {
	m := tablet.NewMutation(fmt.Appendf(nil, "writer %d, %06d", w, n))
	m.Put([]byte("f"), []byte("own"), nil, fmt.Append(nil, n))
	d := [2]tablet.Durability{tablet.DurabilityLog, tablet.DurabilitySync}[n%2]
	err := l.store.Apply(context.Background(), "t", []*tablet.Mutation{m}, actors.WithDurability(d))
	if err == nil {
		l.done[w].Store(int64(n))
		l.acked.Add(1)
	}
	return err
}

// look opens the store again: everything that was acknowledged is there, as a close keeps all but what has no log.
func (l *load) look() error {
	ctx := context.Background()
	s, err := actors.Open(ctx, "", actors.WithFS(l.below))
	if err != nil {
		return err
	}
	sc, err := s.Scan(ctx, "t", actors.ScanOptions{})
	if err != nil {
		return errors.Join(err, s.Close(ctx))
	}
	all, err := ReadAll(sc)
	found := [4]map[int]bool{}
	for i := range all {
		var w, n int
		if _, scanErr := fmt.Sscanf(string(all[i].Key.Row()), "writer %d, %d", &w, &n); scanErr == nil {
			if found[w] == nil {
				found[w] = map[int]bool{}
			}
			found[w][n] = true
		}
	}
	for w := range l.done {
		for n := 1; n <= int(l.done[w].Load()); n++ {
			if !found[w][n] {
				err = errors.Join(err, fmt.Errorf("entry %d of writer %d was acknowledged, and is gone", n, w))
			}
		}
	}
	return errors.Join(err, s.Close(ctx))
}

// TestIteratorOutlivesClose closes a store under an iterator, and an iterator after its store: the close says so, and the
// file goes with the iterator.
func TestIteratorOutlivesClose(t *testing.T) {
	ctx := context.Background()
	mem := vfs.Mem()
	s, err := actors.Open(ctx, "", actors.WithFS(mem))
	if err == nil {
		err = s.CreateTable(ctx, "t", nil, nil)
	}
	if err == nil {
		err = s.Apply(ctx, "t", liveBatch(1, 30))
	}
	if err == nil {
		err = s.Flush(ctx, "t")
	}
	if err != nil {
		t.Fatal(err)
	}
	it, err := s.Iterator("t", actors.IteratorOptions{})
	if err == nil {
		err = it.Seek(ctx, tablet.Range{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(ctx); err == nil || !strings.Contains(err.Error(), "still held 1 times") {
		t.Errorf("close: %v", err)
	}
	for err == nil {
		if _, ok := it.Top(); !ok {
			break
		}
		err = it.Next(ctx)
	}
	if err := it.Close(); err != nil {
		t.Error(err)
	}
	if n := mem.OpenFiles(); n != 0 {
		t.Errorf("%d files or locks are held", n)
	}
	if err := checkStore(mem, true); err != nil {
		t.Error(err)
	}
	if _, err := s.Iterator("t", actors.IteratorOptions{}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("an iterator of a closed store: %v", err)
	}
}
