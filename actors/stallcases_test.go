package actors_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/actors/protocol"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// stallProperties are those of a table whose flushes wait at 12 files; stallServer make many flushes of little.
var (
	stallProperties = map[string]string{"table.file.max": "8", "table.file.pause": "12", "table.durability": "none", "table.file.compress.type": "none"}
	stallServer     = map[string]string{"tserver.memory.maps.max": "256K", "tserver.total.mutation.queue.max": "64K"}
)

// kilobyte is a mutation of about as much.
func kilobyte(i int) *tablet.Mutation {
	m := tablet.NewMutation(fmt.Appendf(nil, "%08d", i*7919%1_000_003))
	m.Put([]byte("f"), []byte("q"), nil, make([]byte, 1000))
	return m
}

// filesOf is how many files the fullest tablet has.
func filesOf(t *testing.T, s *actors.Store) (most int) {
	t.Helper()
	stats, err := s.Stats(t.Context(), "ci")
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range stats {
		most = max(most, len(st.Files))
	}
	return most
}

// TestIngestFasterThanCompactions writes as fast as it is let to a disk on which compactions keep up with a fifth of what
// flushes give: files are never more than the limit and one, and writes go on as compactions end. One that waits longer than
// tserver.hold.time.max is told so.
func TestIngestFasterThanCompactions(t *testing.T) {
	long := 10 * time.Minute
	if testing.Short() || raceEnabled {
		long = time.Minute
	}
	synctest.Test(t, func(t *testing.T) {
		// A compaction writes each byte of a flush about once again; a flush writes five times as fast.
		slow := vfs.Slow(vfs.Mem(), vfs.SlowOptions{
			Delay: func(c vfs.Call) time.Duration {
				switch {
				case c.Op != vfs.OpWrite:
					return 0
				case len(c.Name) > 5 && c.Name[5] == 'F':
					return time.Duration(c.Bytes) * time.Second / (1 << 20)
				}
				return time.Duration(c.Bytes) * 5 * time.Second / (1 << 20)
			},
			Wait: func(_ vfs.Call, d time.Duration) { time.Sleep(d) },
		})
		s := openStore(t, slow, actors.WithProperties(stallServer))
		if err := s.CreateTable(t.Context(), "ci", nil, map[string]string{
			"table.file.max": "15", "table.file.pause": "40", "table.durability": "none", "table.file.compress.type": "none",
		}); err != nil {
			t.Fatal(err)
		}
		began, slowest, most, busy, i := time.Now(), time.Duration(0), 0, 0, 0
		for looked := began; time.Since(began) < long; i++ {
			before := time.Now()
			switch err := s.Apply(t.Context(), "ci", []*tablet.Mutation{kilobyte(i)}); {
			case errors.Is(err, tablet.ErrBusy):
				busy++ // a compaction of all that was written takes longer than tserver.hold.time.max
			case err != nil:
				t.Fatal(err)
			}
			slowest = max(slowest, time.Since(before))
			if time.Since(looked) >= time.Second/10 {
				looked = time.Now()
				most = max(most, filesOf(t, s))
			}
		}
		t.Logf("%d mutations in %v, %d refused, at most %d files, slowest %v", i, time.Since(began), busy, most, slowest)
		if most > 41 || most < 40 {
			t.Errorf("%d files at once", most)
		}
		closeStore(t, s)
		time.Sleep(2 * time.Second)
	})
}

// TestStallEnds brings the number of files over the limit in every way there is: by flushes of a user, by a
// lower limit, and by opening the store with one. Each time compactions begin, and writers go on within five seconds.
func TestStallEnds(t *testing.T) {
	many := func(t *testing.T, s *actors.Store) {
		t.Helper()
		for i := range 40 {
			if err := s.Apply(t.Context(), "ci", []*tablet.Mutation{kilobyte(i)}); err != nil {
				t.Fatal(err)
			}
			if err := s.Flush(t.Context(), "ci"); err != nil {
				t.Fatal(err)
			}
		}
	}
	quiet := map[string]string{"table.file.max": "1000", "table.compaction.major.ratio": "1000", "table.durability": "none"}
	goesOn := func(t *testing.T, s *actors.Store) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for w := range 4 {
			all.Go(func() {
				for i := range 500 {
					if err := s.Apply(ctx, "ci", []*tablet.Mutation{kilobyte(w*1000 + i)}); err != nil {
						t.Errorf("a write after so many files: %v", err)
						return
					}
				}
			})
		}
		all.Wait()
		time.Sleep(5 * time.Second)
		if n := filesOf(t, s); n > 12 {
			t.Errorf("%d files are left", n)
		}
	}
	run := func(name string, properties map[string]string, f func(t *testing.T, fs vfs.FS, s *actors.Store) *actors.Store) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fs := vfs.Mem()
				s := openStore(t, fs, actors.WithProperties(stallServer))
				if err := s.CreateTable(t.Context(), "ci", nil, properties); err != nil {
					t.Fatal(err)
				}
				many(t, s)
				s = f(t, fs, s)
				goesOn(t, s)
				closeStore(t, s)
				time.Sleep(2 * time.Second)
			})
		})
	}
	run("flushes", stallProperties, func(_ *testing.T, _ vfs.FS, s *actors.Store) *actors.Store { return s })
	lower := func(t *testing.T, _ vfs.FS, s *actors.Store) *actors.Store {
		if n := filesOf(t, s); n != 40 {
			t.Fatalf("%d files", n)
		}
		change := map[string]string{"table.compaction.major.ratio": ""}
		for name, value := range stallProperties {
			change[name] = value
		}
		if err := s.SetProperties(t.Context(), "ci", change); err != nil {
			t.Fatal(err)
		}
		return s
	}
	run("a lower limit", quiet, lower)
	run("opened again", quiet, func(t *testing.T, fs vfs.FS, s *actors.Store) *actors.Store {
		s = lower(t, fs, s)
		closeStore(t, s)
		return openStore(t, fs, actors.WithProperties(stallServer))
	})
}

// A flush that waits for a compaction is wished for as soon as there are few enough files, and also when the compaction that
// it waits for has failed; and there is always a compaction wished for or running that it waits for.
func TestFlushesWaitForACompaction(t *testing.T) {
	const pause = 4
	run := func(name string, first func(tt *tabletTest, w []*protocol.WantPermit), rules ...vfs.Rule) {
		t.Run(name, func(t *testing.T) {
			runTablet(t, func(tt *tabletTest) {
				tt.other.Send(tt.tablet, &protocol.Configure{From: tt.other.PID(), Properties: map[string]string{
					"table.file.max": "2", "table.file.pause": fmt.Sprint(pause - 1), "table.file.compress.type": "none",
				}})
				actortest.Expect[*protocol.Configured](tt.other, time.Second)
				tt.Settle()
				tt.env.Plan(none{})
				for i := range pause { // a user's flushes do not wait
					tt.flush(fmt.Sprint(i))
				}
				tt.Settle()
				tt.env.Plan(pairs{})
				tt.flush("last")
				tt.apply("waits")
				tt.sched.Send(tt.tablet, &protocol.FlushMemory{})
				first(tt, tt.wishes())
			}, rules...)
		})
	}
	minor := func(all []*protocol.WantPermit) (n int) {
		for _, w := range all {
			if w.Kind == protocol.Minor {
				n++
			}
		}
		return n
	}
	run("until there are few enough", func(tt *tabletTest, all []*protocol.WantPermit) {
		for files := pause + 1; files >= pause; files-- {
			if minor(all) > 0 || len(all) == 0 {
				t.Fatalf("wishes %+v with %d files", all, files)
			}
			tt.permit(all[0])
			tt.released(all[0])
			all = append(all[1:], tt.wishes()...)
		}
		if minor(all) != 1 {
			t.Errorf("wishes %+v with few files", all)
		}
	})
	run("until it has failed", func(tt *tabletTest, all []*protocol.WantPermit) {
		if minor(all) > 0 || len(all) != 2 {
			t.Fatalf("wishes %+v", all)
		}
		for _, w := range all {
			tt.permit(w)
			actortest.Fish(tt.sched, func(m *protocol.Release) bool { return m.Job == w.Job })
		}
		w := actortest.Fish[*protocol.WantPermit](tt.sched, nil)
		if w.Kind != protocol.Minor {
			t.Errorf("wish %+v", w)
		}
	}, vfs.Rule{Op: vfs.OpCreate, Name: "data/C*", Sticky: true})
}
