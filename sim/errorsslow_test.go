package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/visibility"
)

// slowLeast and slowMost are how long calls of a slow disk take.
const (
	slowLeast = 10 * time.Millisecond
	slowMost  = 2 * time.Second
)

// TestSlowDisk has every call of the file system take long. Nothing fails because of it; what is acknowledged at sync is
// there after a power cut at that moment; and what is in memory is read meanwhile.
func TestSlowDisk(t *testing.T) {
	y := newTally(t)
	n := runs(8)
	var seeds []uint64
	for i := range n {
		seeds = append(seeds, firstSeed()+uint64(i))
	}
	acks := 0
	inParallel(y, seeds, func(seed uint64) {
		r, h := slowTrial(seed)
		defer r.w.End()
		r.play(h...)
		y.add(r, h...)
	})
	reads, slowest := 0, time.Duration(0)
	for _, seed := range seeds {
		b := &slowBubble{seed: seed}
		synctest.Test(t, func(t *testing.T) { b.run(t) })
		acks += b.verify(t)
		reads, slowest = reads+b.reads, max(slowest, b.slowest)
		for _, one := range b.broken {
			y.figures[one.what]++
			t.Errorf("seed %d, on threads: %s: %v\n%s", seed, one.what, one.err, repeat(t, seed))
		}
		if t.Failed() {
			break
		}
	}
	lastLine(t, "R14", append([]figure{count("seeds", n), count("images", y.images), count("acks", acks), count("reads", reads),
		count("slowest_read_us", int(slowest.Microseconds()))},
		y.zeros("lost", "false", "waits", "unusable", "orphans", "panics", "files")...)...)
}

// slowTrial is a trial in which nothing fails, and everything takes long. At each end of an operation there is an image.
func slowTrial(seed uint64) (*trial, []History) {
	r := newTrial(seed)
	r.slow = vfs.RandomDelay(seed, slowLeast, slowMost)
	r.fault, r.verify, r.always = fault{kind: "slow", how: "on"}, 12, true
	return r, syncHistories(seed)
}

// slowBubble is a store on real threads, in virtual time, on a slow disk: writers and flushes in one table, and a reader of
// another one that is in memory.
type slowBubble struct {
	seed    uint64
	mem     *vfs.MemFS
	mu      sync.Mutex
	acked   []slowAck
	reads   int
	slowest time.Duration
	broken  []breach
}

// slowAck is a row, and what there was on the disk when it was acknowledged.
type slowAck struct {
	rows  []string // of that writer so far
	image *vfs.MemFS
}

func (b *slowBubble) breach(what string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = append(b.broken, breach{what, err})
}

func (b *slowBubble) run(t *testing.T) {
	b.mem = vfs.Mem()
	var slow bool // set before there are several goroutines
	delay := vfs.RandomDelay(b.seed, slowLeast, slowMost)
	fs := vfs.Slow(b.mem, vfs.SlowOptions{Delay: func(c vfs.Call) time.Duration {
		if !slow {
			return 0
		}
		return delay(c)
	}, Wait: func(_ vfs.Call, d time.Duration) { time.Sleep(d) }})
	ctx := t.Context()
	s, err := actors.Open(ctx, ".", actors.WithFS(fs), actors.WithSeed(b.seed+1))
	if err != nil {
		t.Fatal(err)
	}
	slow = true
	if err := errors.Join(s.CreateTable(ctx, "t", [][]byte{[]byte("w1")}, nil), s.CreateTable(ctx, "m", nil, nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(ctx, "m", slowRows("m", 0, 50)); err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	done := make(chan struct{})
	for n := range 3 {
		wait.Go(func() { b.write(ctx, s, n) })
	}
	wait.Go(func() { b.flush(ctx, s) })
	reader := make(chan struct{})
	go func() { defer close(reader); b.read(ctx, s, done) }()
	wait.Wait()
	close(done)
	<-reader
	if err := s.Close(ctx); err != nil {
		b.breach("unusable", fmt.Errorf("close: %w", err))
	}
	time.Sleep(3 * time.Second) // the library's throttle of dead letters
}

func slowRows(table string, from, to int) (all []*tablet.Mutation) {
	for i := from; i < to; i++ {
		m := tablet.NewMutation(fmt.Appendf(nil, "%s-%03d", table, i))
		m.Put([]byte("f"), []byte("q"), nil, []byte("v"))
		all = append(all, m)
	}
	return all
}

// write writes ten times, and remembers what there was on the disk each time.
func (b *slowBubble) write(ctx context.Context, s *actors.Store, n int) {
	var rows []string
	for i := range 10 {
		all := slowRows(fmt.Sprint("w", n), 2*i, 2*i+2)
		if err := s.Apply(ctx, "t", all); err != nil {
			b.breach("false", fmt.Errorf("a write: %w", err))
			return
		}
		image := b.mem.Durable()
		for _, m := range all {
			rows = append(rows, string(m.Row()))
		}
		b.mu.Lock()
		b.acked = append(b.acked, slowAck{slices.Clone(rows), image})
		b.mu.Unlock()
	}
}

func (b *slowBubble) flush(ctx context.Context, s *actors.Store) {
	for range 3 {
		if err := s.Flush(ctx, "t"); err != nil {
			b.breach("false", fmt.Errorf("a flush: %w", err))
		}
		if _, err := s.Compact(ctx, "t", actors.CompactOptions{}); err != nil {
			b.breach("false", fmt.Errorf("a compaction: %w", err))
		}
	}
}

// read reads what is in memory, which takes no time.
func (b *slowBubble) read(ctx context.Context, s *actors.Store, done <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case <-done:
			return
		case <-time.After(37 * time.Millisecond):
		}
		began := time.Now()
		_, ok, err := s.Get(ctx, "m", actors.Column{Row: fmt.Appendf(nil, "m-%03d", i%50), Family: []byte("f"), Qualifier: []byte("q")}, visibility.Authorizations{})
		n := 50
		if i%8 == 0 {
			n, err = b.scan(ctx, s, "m")
		}
		took := time.Since(began)
		b.reads++
		b.slowest = max(b.slowest, took)
		switch {
		case err != nil:
			b.breach("false", fmt.Errorf("a read: %w", err))
			return
		case !ok || n != 50:
			b.breach("lost", fmt.Errorf("row %d is not read (%v), or a scan finds %d", i%50, ok, n))
		case took >= slowLeast:
			b.breach("waits", fmt.Errorf("a read of memory takes %v", took))
			return
		}
	}
}

func (b *slowBubble) scan(ctx context.Context, s *actors.Store, table string) (n int, err error) {
	sc, err := s.Scan(ctx, table, actors.ScanOptions{})
	if err != nil {
		return 0, err
	}
	defer sc.Close()
	for sc.Next() {
		n++
	}
	return n, sc.Err()
}

// verify opens some of the images, and the files at the end.
func (b *slowBubble) verify(t *testing.T) int {
	var all []string
	for i, a := range b.acked {
		all = append(all, a.rows[len(a.rows)-2:]...)
		if i%5 == int(b.seed%5) {
			b.wants(fmt.Sprintf("after a power cut at answer %d", i+1), a.image, a.rows)
		}
	}
	b.wants("at the end", b.mem, all)
	return len(b.acked)
}

func (b *slowBubble) wants(when string, image *vfs.MemFS, rows []string) {
	w := New(Options{Seed: b.seed, FS: image})
	defer w.End()
	if err := w.Open(); err != nil {
		b.breach("unusable", fmt.Errorf("%s: %w", when, err))
		return
	}
	sc, err := w.Store().Scan(context.Background(), "t", actors.ScanOptions{})
	if err != nil {
		b.breach("unusable", fmt.Errorf("%s: %w", when, err))
		return
	}
	found, err := ReadAll(sc)
	if err != nil {
		b.breach("unusable", fmt.Errorf("%s: %w", when, err))
	}
	for _, row := range rows {
		if !slices.ContainsFunc(found, func(e tablet.Entry) bool { return string(e.Key.Row()) == row }) {
			b.breach("lost", fmt.Errorf("%s, row %s", when, row))
		}
	}
}
