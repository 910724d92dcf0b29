package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// killer makes the actor whose name contains what it is told panic at its next message, or the one after so many more.
type killer struct {
	mu     sync.Mutex
	target string
	after  int
	killed []string
}

func (k *killer) kill(part string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.target = part
}

func (k *killer) received(to *actor.PID, msg any) {
	if _, last := msg.(*actor.Stopping); last {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.target == "" || !strings.Contains(to.Id+"/", k.target) {
		return
	}
	if k.after > 0 {
		k.after--
		return
	}
	k.killed = append(k.killed, fmt.Sprintf("%s by %T", to.Id, msg))
	k.target = ""
	panic("killed by the test")
}

// runStore runs a test on a store in a bubble of virtual time.
func runStore(t *testing.T, fs vfs.FS, f func(t *testing.T, s *actors.Store, k *killer), options ...actors.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &killer{}
		s := openStore(t, fs, append(options, actors.WithHooks(actors.Hooks{Received: k.received}))...)
		if err := s.CreateTable(t.Context(), "ci", [][]byte{[]byte("8")}, map[string]string{"table.file.compress.type": "none"}); err != nil {
			t.Fatal(err)
		}
		f(t, s, k)
		closeStore(t, s)
		time.Sleep(2 * time.Second) // the library's throttle of dead letters
	})
}

// Whatever actor dies while a store works, what was acknowledged is there, and the store goes on: at once, or after the
// dead one was replaced.
func TestStoreOutlivesItsActors(t *testing.T) {
	for _, victim := range []string{"/sched.", "/bins.", "/files.", "/scans.", "/f.", "/c.", "/s."} {
		t.Run(victim, func(t *testing.T) {
			fs := vfs.Mem()
			runStore(t, fs, func(t *testing.T, s *actors.Store, k *killer) {
				ctx := t.Context()
				m := newModel()
				steps := []func() error{
					func() error { return s.Apply(ctx, "ci", m.mutations(100)) },
					func() error { return s.Flush(ctx, "ci") },
					func() error { _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); return err },
					func() error { return readAll(s) },
				}
				run := func() (failed int) {
					for _, step := range steps {
						before := newModelOf(m)
						err := step()
						if err != nil {
							failed++
							*m = *before // a write that failed is not there: it never reached a tablet
						}
					}
					return failed
				}
				if run() > 0 {
					t.Fatal("the store fails without a fault")
				}
				k.kill(victim)
				failed := run()
				synctest.Wait() // files that nobody holds any more are told of after the steps
				if len(k.killed) != 1 {
					t.Errorf("killed %v", k.killed)
				}
				time.Sleep(time.Minute) // replacements come after a while
				if n := run(); n > 0 {
					t.Errorf("%d steps fail long after %s was killed (%d at the time)", n, victim, failed)
				}
				m.check(t, s, "after all")
				synctest.Wait()
				stats, err := s.Stats(ctx, "ci")
				if err != nil {
					t.Fatal(err)
				}
				names, err := s.FilesForTest()
				if err != nil || len(names) != len(stats[0].Files)+len(stats[1].Files) {
					t.Errorf("files %v in the directory, %d and %d in the tablets", names, len(stats[0].Files), len(stats[1].Files))
				}
			})
		})
	}
}

// newModelOf copies a model's cells; the streams go on.
func newModelOf(m *model) *model {
	c := *m
	c.cells = make(map[string]string, len(m.cells))
	for k, v := range m.cells {
		c.cells[k] = v
	}
	c.keys = slices.Clone(m.keys)
	return &c
}

func readAll(s *actors.Store) error {
	sc, err := s.Scan(context.Background(), "ci", actors.ScanOptions{})
	if err != nil {
		return err
	}
	defer sc.Close()
	for sc.Next() {
	}
	return sc.Err()
}

// A tablet that dies is replaced by what manifest and log know. What it was just doing is answered as unknown, what comes
// while it is away waits; a flush and a scan do, too.
func TestStoreWithoutATablet(t *testing.T) {
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, k *killer) {
		ctx := t.Context()
		if err := s.Apply(ctx, "ci", []*tablet.Mutation{put("0")}); err != nil {
			t.Fatal(err)
		}
		k.kill("/t.000003.")
		err := s.Apply(ctx, "ci", []*tablet.Mutation{put("1"), put("9")})
		if !errors.Is(err, actors.ErrUnknownOutcome) || !tablet.OutcomeOf(err).Retryable {
			t.Errorf("a write that killed its tablet: %v", err)
		}
		if err := s.Apply(ctx, "ci", []*tablet.Mutation{put("2")}); err != nil {
			t.Errorf("write to a tablet that is being replaced: %v", err)
		}
		k.kill("/t.000003.2")
		s.Apply(ctx, "ci", []*tablet.Mutation{put("3")})
		if err := s.Flush(ctx, "ci"); err != nil {
			t.Errorf("flush: %v", err)
		}
		got := strings.Join(scanRows(t, s, actors.ScanOptions{}), "")
		for _, row := range []string{"0", "2", "9"} {
			if !strings.Contains(got, row+" f") {
				t.Errorf("row %s is lost: %s", row, got)
			}
		}
	})
}

// When the root dies everything fails at once, the host is told, and Close still cleans up.
func TestStoreWithoutItsEngine(t *testing.T) {
	told := make(chan error, 1)
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, k *killer) {
		ctx := t.Context()
		if err := s.Apply(ctx, "ci", newModel().mutations(100)); err != nil {
			t.Fatal(err)
		}
		k.kill("millrace/")
		if err := s.Flush(ctx, "ci"); err == nil {
			t.Error("the flush that killed the engine succeeded")
		}
		if err := <-told; err == nil {
			t.Error("the host was told nothing")
		}
		synctest.Wait() // everything below the engine ends with it
		if err := s.Apply(ctx, "ci", newModel().mutations(1)); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("write: %v", err)
		}
		if err := s.Flush(ctx, "ci"); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("flush: %v", err)
		}
		if err := readAll(s); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("scan: %v", err)
		}
	}, actors.OnFailure(func(err error) { told <- err }))
}

// A caller that gives up takes its compaction back.
func TestStoreCompactionIsCancelled(t *testing.T) {
	gate := newGate(vfs.Mem())
	gate.open()
	runStore(t, gate, func(t *testing.T, s *actors.Store, _ *killer) {
		m := newModel()
		if err := s.Apply(t.Context(), "ci", m.mutations(20_000)); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(t.Context(), "ci"); err != nil {
			t.Fatal(err)
		}
		gate.gate = make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); done <- err }()
		synctest.Wait() // both tablets' jobs wait at the gate
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("gave up with %v", err)
		}
		synctest.Wait()
		gate.open()
		time.Sleep(time.Minute)
		stats, err := s.Stats(t.Context(), "ci")
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range stats {
			if st.Counts.JobsCancelled != 1 || st.Counts.Compactions != 0 || st.Jobs != 0 {
				t.Errorf("tablet %v: %+v, %d jobs", st.Extent, st.Counts, st.Jobs)
			}
		}
		m.check(t, s, "after the cancellation")
	})
}

// TestStoreErrorAtEachCall makes the n-th file call fail, n from 1 until there are no more: the caller is told or the
// work is done again, nothing acknowledged is lost, and afterwards all works and no file is left that no tablet has.
func TestStoreErrorAtEachCall(t *testing.T) {
	hit := true
	n := 0
	for hit {
		n++
		boom := errors.New("boom")
		mem := vfs.Mem()
		synctest.Test(t, func(t *testing.T) {
			fs := vfs.Faulty(mem, vfs.Rule{Op: vfs.OpAny, Name: "*.rf", N: n, Err: boom})
			s := openStore(t, fs)
			ctx := t.Context()
			if err := s.CreateTable(ctx, "ci", nil, map[string]string{"table.file.compress.type": "none"}); err != nil {
				t.Fatal(err)
			}
			m := newModel()
			work := func() {
				for range 3 {
					if err := s.Apply(ctx, "ci", m.mutations(50)); err != nil {
						t.Fatalf("call %d: a write failed, which touches no file: %v", n, err)
					}
					if err := s.Flush(ctx, "ci"); err != nil && !errors.Is(err, boom) {
						t.Errorf("call %d: flush: %v", n, err)
					}
				}
				if err := readAll(s); err != nil && !errors.Is(err, boom) {
					t.Errorf("call %d: scan: %v", n, err)
				}
				if _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); err != nil && !errors.Is(err, boom) {
					t.Errorf("call %d: compaction: %v", n, err)
				}
			}
			work()
			time.Sleep(time.Hour)
			hit = len(fs.Hits()) > 0
			fs.Heal()
			m.check(t, s, "after the fault")
			if _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); err != nil {
				t.Errorf("call %d: the store does not work again: %v", n, err)
			}
			m.check(t, s, "after all")
			time.Sleep(time.Hour)
			names, err := s.FilesForTest()
			if err != nil || len(names) != 1 {
				t.Errorf("call %d: files %v, %v; want one", n, names, err)
			}
			closeStore(t, s)
			time.Sleep(2 * time.Second)
		})
		if mem.OpenFiles() > 0 {
			t.Fatalf("call %d: %d files are open", n, mem.OpenFiles())
		}
	}
	if n < 40 {
		t.Errorf("only %d calls were made to fail", n-1)
	}
}
