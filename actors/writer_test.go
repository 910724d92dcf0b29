package actors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/writer"
)

// allVersions keeps all versions of a cell, so that what is written twice shows, and numbers them in the order in which they
// were applied.
func allVersions() map[string]string {
	p := map[string]string{"table.file.compress.type": "none", "table.durability": "log", "table.time.type": "logical"}
	for _, scope := range []string{"scan", "minc", "majc"} {
		p["table.iterator."+scope+".vers"] = ""
	}
	return p
}

// newWriter opens a writer to the table ci.
func newWriter(t *testing.T, s *actors.Store, o writer.Options) *writer.BatchWriter {
	t.Helper()
	w, err := s.NewWriter("ci", o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// writeShuffled is the test that came with the change of ACCUMULO-1755: three threads add numbers of their own in shuffled
// order and flush, while the table is split where their numbers meet. The family names the thread.
func writeShuffled(t *testing.T, s *actors.Store, w *writer.BatchWriter, threads, each int) {
	var wg sync.WaitGroup
	for thread := range threads {
		wg.Go(func() {
			for _, i := range rand.New(rand.NewPCG(1, uint64(thread))).Perm(each) {
				m := tablet.NewMutation(fmt.Appendf(nil, "%010d", thread*each+i))
				m.Put(fmt.Append(nil, thread), nil, nil, fmt.Append(nil, i))
				if err := w.Add(t.Context(), m); err != nil {
					t.Errorf("add: %v", err)
					return
				}
			}
			if err := w.Flush(t.Context()); err != nil {
				t.Errorf("flush: %v", err)
			}
		})
	}
	wg.Go(func() {
		for thread := range threads {
			for _, at := range []int{thread * each, thread*each + each/2} {
				if err := s.AddSplits(t.Context(), "ci", [][]byte{fmt.Appendf(nil, "%010d", at)}); err != nil {
					t.Errorf("split: %v", err)
				}
			}
		}
	})
	wg.Wait()
}

// checkShuffled wants every mutation of writeShuffled once.
func checkShuffled(t *testing.T, s *actors.Store, threads, each int) {
	t.Helper()
	sc, err := s.Scan(t.Context(), "ci", actors.ScanOptions{Versions: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer sc.Close()
	n := 0
	for e, err := range sc.All() {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%010d %d %d", n, n/each, n%each); fmt.Sprintf("%s %s %s", e.Key.Row(), e.Key.Family(), e.Value) != want {
			t.Fatalf("entry %d is %s %s %s", n, e.Key.Row(), e.Key.Family(), e.Value)
		}
		n++
	}
	if n != threads*each {
		t.Errorf("%d entries, want %d", n, threads*each)
	}
}

func TestWriterEveryMutationOnce(t *testing.T) {
	each := 100_000
	if testing.Short() || raceEnabled {
		each = 3000
	}
	for _, v := range writer.Variants {
		t.Run(v.String(), func(t *testing.T) {
			s := openStore(t, vfs.Mem())
			mustCreate(t, s, nil, allVersions())
			w := newWriter(t, s, writer.Options{Variant: v, MemoryBytes: 1 << 20, Latency: 10 * time.Second, Threads: 3})
			writeShuffled(t, s, w, 3, each)
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			checkShuffled(t, s, 3, each)
			st := w.Stats()
			if st.Memory != 0 || st.Acknowledged != int64(3*each) || v == writer.Actors && st.BinningWaits > 0 || v == writer.Locked && st.BinningWaits == 0 {
				t.Errorf("%+v", st)
			}
			if over := s.Runtime().Overfilled(); len(over) > 0 {
				t.Errorf("mailboxes over their bounds: %v", over)
			}
			closeStore(t, s)
		})
	}
}

// Tablets are killed while a writer writes and the table is split. What is written is there once; what is not known is named,
// and nothing is lost: with AtLeastOnce it is sent again and nobody hears of it.
func TestWriterTabletsAreKilled(t *testing.T) {
	rounds := 12
	if testing.Short() || raceEnabled {
		rounds = 3
	}
	unknown := 0
	for round := range rounds {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/again=%v", round, again), func(t *testing.T) {
				fs := vfs.Mem()
				runStore(t, fs, func(t *testing.T, s *actors.Store, k *killer) {
					keepVersions(t, s)
					n, doubt := writeWhileKilling(t, s, k, uint64(round), again)
					unknown += doubt
					t.Logf("%d added, %d unknown, killed %v", n, doubt, k.killed)
				})
			})
		}
	}
	if unknown == 0 && rounds > 3 {
		t.Error("no kill left anything unknown")
	}
}

// keepVersions makes the table of runStore keep all versions.
func keepVersions(t *testing.T, s *actors.Store) {
	t.Helper()
	p := allVersions()
	delete(p, "table.time.type")
	if err := s.SetProperties(t.Context(), "ci", p); err != nil {
		t.Fatal(err)
	}
}

func writeWhileKilling(t *testing.T, s *actors.Store, k *killer, seed uint64, again bool) (added, doubt int) {
	rng := rand.New(rand.NewPCG(seed, 3))
	w := newWriter(t, s, writer.Options{MemoryBytes: 20_000, Latency: time.Second, AtLeastOnce: again, Binners: 2})
	stop := make(chan bool)
	var killing sync.WaitGroup
	killing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(1+rng.IntN(20)) * time.Second):
			}
			k.mu.Lock()
			k.target, k.after = "/t.", rng.IntN(30)
			k.mu.Unlock()
			s.AddSplits(t.Context(), "ci", [][]byte{fmt.Appendf(nil, "%d", 100+37*i%900)}) // may be what is killed
		}
	})
	rows := map[string]bool{}
	for i := range 1500 {
		row := fmt.Sprintf("%03d.%d", i*7919%1000, i)
		if err := w.Add(t.Context(), put(row)); err != nil {
			var r *writer.RejectedError
			if !errors.As(err, &r) {
				t.Fatal(err)
			}
			break
		}
		rows[row] = true
		if i%10 == 0 {
			time.Sleep(100 * time.Millisecond)
		}
	}
	err := w.Close(t.Context())
	close(stop)
	killing.Wait()
	k.kill("")
	time.Sleep(time.Hour)
	named := map[string]bool{}
	var r *writer.RejectedError
	if errors.As(err, &r) {
		for _, f := range r.Failed {
			named[string(f.Mutation.Row())] = f.Unknown
			if f.Unknown {
				doubt++
			}
		}
	} else if err != nil {
		t.Fatal(err)
	}
	if again && len(named) > 0 {
		t.Errorf("named although sent again: %v", err)
	}
	checkOnce(t, s, rows, named, again)
	return len(rows), doubt
}

// checkOnce wants each row there, once, but for those that are named: of them those that are unknown may be there.
func checkOnce(t *testing.T, s *actors.Store, rows, named map[string]bool, twice bool) {
	t.Helper()
	seen := map[string]int{}
	for _, r := range scanRows(t, s, actors.ScanOptions{Versions: -1}) {
		seen[strings.Fields(r)[0]]++
	}
	for row := range rows {
		unknown, failed := named[row]
		switch n := seen[row]; {
		case n > 1 && !twice:
			t.Errorf("%s is there %d times", row, n)
		case n == 0 && !failed:
			t.Errorf("%s is lost", row)
		case n > 0 && failed && !unknown:
			t.Errorf("%s is there, and was said not to be", row)
		}
		delete(seen, row)
	}
	if len(seen) > 0 {
		t.Errorf("there is what was never added: %v", seen)
	}
}

// Each row's versions are in the order in which they were added, through splits of its tablet.
func TestWriterKeepsOrderOverSplits(t *testing.T) {
	for _, v := range writer.Variants {
		t.Run(v.String(), func(t *testing.T) {
			const rows, versions = 20, 150
			s := openStore(t, vfs.Mem())
			mustCreate(t, s, nil, allVersions())
			w := newWriter(t, s, writer.Options{Variant: v, MemoryBytes: 30_000})
			done := make(chan error, 1)
			go func() {
				for r := range rows {
					if err := s.AddSplits(t.Context(), "ci", [][]byte{fmt.Appendf(nil, "%02d", (7*r)%rows)}); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
			for version := range versions {
				for r := range rows {
					m := tablet.NewMutation(fmt.Appendf(nil, "%02d", r))
					m.Put([]byte("f"), nil, nil, fmt.Appendf(nil, "%03d", version))
					if err := w.Add(t.Context(), m); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if err := w.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			sc, err := s.Scan(t.Context(), "ci", actors.ScanOptions{Versions: -1})
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for e, err := range sc.All() {
				if err != nil {
					t.Fatal(err)
				}
				want := fmt.Sprintf("%02d %03d", n/versions, versions-1-n%versions) // the newest comes first
				if got := fmt.Sprintf("%s %s", e.Key.Row(), e.Value); got != want {
					t.Fatalf("entry %d is %s, want %s", n, got, want)
				}
				n++
			}
			sc.Close()
			if n != rows*versions {
				t.Errorf("%d entries", n)
			}
			closeStore(t, s)
		})
	}
}

// Rejections name constraint, tablet and count; what nothing stands against is written.
func TestWriterRejections(t *testing.T) {
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, _ *killer) {
		w := newWriter(t, s, writer.Options{})
		bad := func(row string) *tablet.Mutation {
			m := tablet.NewMutation([]byte(row))
			m.Put([]byte("f"), nil, []byte("a&"), nil)
			return m
		}
		for _, m := range []*tablet.Mutation{put("1"), bad("2"), put("3"), bad("4"), bad("9"), put("99")} {
			if err := w.Add(t.Context(), m); err != nil {
				t.Fatal(err)
			}
		}
		err := w.Close(t.Context())
		var r *writer.RejectedError
		if !errors.As(err, &r) || !errors.Is(err, tablet.ErrUsage) {
			t.Fatal(err)
		}
		got := ""
		for _, v := range r.Violations() {
			got += fmt.Sprintf("%v %s %d %d; ", v.Extent, v.Constraint, v.Code, v.Mutations)
		}
		if got != `ci;(-∞,"8"] visibility 1 2; ci;("8",+∞] visibility 1 1; ` || len(r.Failed) != 3 {
			t.Errorf("violations %s, error %v", got, err)
		}
		if st := w.Stats(); st.Memory != 0 || st.Failed != 3 || st.Acknowledged != 3 {
			t.Errorf("%+v", st)
		}
		checkRows(t, s, []string{"1", "3", "99"})
	})
}

// A store that is closed closes its writers first: what they have taken is written.
func TestStoreClosesItsWriters(t *testing.T) {
	fs := vfs.Mem()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t, fs)
		mustCreate(t, s, nil, plain)
		w := newWriter(t, s, writer.Options{})
		for i := range 100 {
			if err := w.Add(t.Context(), put(fmt.Sprintf("%03d", i))); err != nil {
				t.Fatal(err)
			}
		}
		closeStore(t, s)
		if err := w.Add(t.Context(), put("x")); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("add: %v", err)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Errorf("close of the writer, behind that of the store: %v", err)
		}
		if _, err := s.NewWriter("ci", writer.Options{}); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("new writer: %v", err)
		}
		time.Sleep(2 * time.Second)
	})
	s := openStore(t, fs)
	if n := len(scanRows(t, s, actors.ScanOptions{})); n != 100 {
		t.Errorf("%d rows", n)
	}
	if _, err := s.NewWriter("no", writer.Options{}); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("writer to no table: %v", err)
	}
	if _, err := s.NewWriter("ci", writer.Options{Threads: -1}); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("bad options: %v", err)
	}
	closeStore(t, s)
}

// A table that goes while a writer has mutations for it is an error that names all of them.
func TestWriterTableIsDeleted(t *testing.T) {
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, _ *killer) {
		w := newWriter(t, s, writer.Options{})
		if err := w.Add(t.Context(), put("1")); err != nil {
			t.Fatal(err)
		}
		if err := s.DeleteTable(t.Context(), "ci"); err != nil {
			t.Fatal(err)
		}
		var r *writer.RejectedError
		if err := w.Close(t.Context()); !errors.As(err, &r) || !errors.Is(err, tablet.ErrUsage) || len(r.Failed) != 1 || r.Unknown() != 0 {
			t.Errorf("close: %v", err)
		}
		mustCreate(t, s, nil, plain)
	})
}

// Whatever of the store's actors, or of the writer's own, dies at whatever message: what was added is there, or named.
func TestWriterPanicsAtEachMessage(t *testing.T) {
	most := 25
	if testing.Short() || raceEnabled {
		most = 6
	}
	for _, victim := range []string{"/log.", "/t.", "/bins.", "/w.", "/w. that share a buffer"} {
		t.Run(victim, func(t *testing.T) {
			victim, shared := strings.CutSuffix(victim, " that share a buffer")
			binners := 2
			if shared {
				binners = 0
			}
			for after := range most {
				runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, k *killer) {
					keepVersions(t, s)
					w := newWriter(t, s, writer.Options{MemoryBytes: 4000, Latency: time.Second, Binners: binners})
					k.mu.Lock()
					k.target, k.after = victim, after
					k.mu.Unlock()
					rows, named := map[string]bool{}, map[string]bool{}
					for i := range 60 {
						row := fmt.Sprintf("%02d", i*37%100)
						if err := w.Add(t.Context(), put(row)); err != nil {
							break
						}
						rows[row] = true
					}
					err := w.Close(t.Context())
					k.kill("")
					var r *writer.RejectedError
					if errors.As(err, &r) {
						for _, f := range r.Failed {
							named[string(f.Mutation.Row())] = f.Unknown
						}
					} else if err != nil {
						t.Errorf("%d: %v", after, err)
					}
					time.Sleep(time.Hour)
					checkOnce(t, s, rows, named, false)
				})
			}
		})
	}
}

// A writer that is given a context which has ended still ends its actors once it can.
func TestWriterCloseWithAnEndedContext(t *testing.T) {
	s := openStore(t, vfs.Mem())
	mustCreate(t, s, nil, plain)
	w := newWriter(t, s, writer.Options{})
	if err := w.Add(t.Context(), put("1")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Close(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, alive := range s.Runtime().Alive() {
		if strings.Contains(alive, "/w.") {
			t.Errorf("%s is alive", alive)
		}
	}
	checkRows(t, s, []string{"1"})
	closeStore(t, s)
}
