package actors_test

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// A hundred tablets, one of them busy: the log stays as short as it may be, because those that keep it long are flushed.
// Replay has no more to read.
func TestStoreLogStaysShort(t *testing.T) {
	fs := vfs.Mem()
	runStore(t, fs, func(t *testing.T, s *actors.Store, _ *killer) {
		var splits [][]byte
		for i := range 99 {
			splits = append(splits, fmt.Appendf(nil, "%02d", i))
		}
		if err := s.CreateTable(t.Context(), "many", splits, plain); err != nil {
			t.Fatal(err)
		}
		apply := func(m *tablet.Mutation) {
			t.Helper()
			if err := s.Apply(t.Context(), "many", []*tablet.Mutation{m}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 100 {
			apply(put(fmt.Sprintf("%02dx", i)))
		}
		for i := range 400 {
			m := put("50x")
			m.Put([]byte("v"), fmt.Append(nil, i), nil, make([]byte, 1000))
			apply(m)
			synctest.Wait() // flushes take no virtual time
			if names, err := fs.List("wal"); err != nil || len(names) > 4 {
				t.Fatalf("%d segments after %d writes, %v", len(names), i, err)
			}
		}
	}, actors.WithProperties(map[string]string{"tserver.wal.max.size": "20K", "tserver.wal.max.referenced": "3"}))
}

// What nobody has added to for a while is flushed, also after compactions have come and gone.
func TestStoreFlushesTheIdle(t *testing.T) {
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, _ *killer) {
		for i := range 3 {
			mustApply(t, s, []*tablet.Mutation{put("1"), put("9")})
			time.Sleep(4 * time.Minute)
			mustApply(t, s, []*tablet.Mutation{put("1"), put("9")})
			time.Sleep(4 * time.Minute)
			check := func(want bool) {
				t.Helper()
				synctest.Wait()
				stats, err := s.Stats(t.Context(), "ci")
				if err != nil {
					t.Fatal(err)
				}
				for _, st := range stats {
					if (st.MemoryEntries > 0) != want {
						t.Errorf("round %d, %v: %d entries in memory", i, st.Extent, st.MemoryEntries)
					}
				}
			}
			check(true)
			time.Sleep(2 * time.Minute)
			check(false)
			if _, err := s.Compact(t.Context(), "ci", actors.CompactOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Writers do not wait for memory for ever.
func TestStoreHoldsWritersForAWhile(t *testing.T) {
	limit, err := vfs.Limit(vfs.Mem(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	runStore(t, limit, func(t *testing.T, s *actors.Store, _ *killer) {
		limit.SetBytes(limit.Bytes() + 1000)
		began := time.Now()
		var err error
		for i := 0; err == nil; i++ {
			m := put(fmt.Sprintf("%05d", i))
			m.Put([]byte("v"), nil, nil, make([]byte, 5000))
			err = s.Apply(t.Context(), "ci", []*tablet.Mutation{m}, actors.WithDurability(tablet.DurabilityNone))
		}
		if took := time.Since(began); !errors.Is(err, tablet.ErrBusy) || took < 30*time.Second || took > 31*time.Second {
			t.Errorf("a writer was held for %v: %v", took, err)
		}
		limit.SetBytes(0)
		time.Sleep(time.Second)
		mustApply(t, s, []*tablet.Mutation{put("z")})
	}, actors.WithProperties(map[string]string{"tserver.memory.maps.max": "100K", "tserver.hold.time.max": "30s"}))
}

// A log that cannot be written refuses, says that it is safe to try again, and what was refused never comes back; what was
// acknowledged is there, though the segment it stood in was given up.
func TestStoreLogFails(t *testing.T) {
	mem := vfs.Mem()
	fs := vfs.Faulty(mem)
	runStore(t, fs, func(t *testing.T, s *actors.Store, _ *killer) {
		mustApply(t, s, []*tablet.Mutation{put("1")})
		mustApply(t, s, []*tablet.Mutation{put("2")}, actors.WithDurability(tablet.DurabilityLog))
		fs.Add(vfs.Rule{Op: vfs.OpSync, Name: "*.wal", N: 1, Sync: vfs.SyncDropped})
		mustApply(t, s, []*tablet.Mutation{put("3")}) // in a new segment, with what went before
		fs.Add(vfs.Rule{Op: vfs.OpWrite, Name: "*.wal", Sticky: true, Err: syscall.EIO})
		err := s.Apply(t.Context(), "ci", []*tablet.Mutation{put("4")})
		if !errors.Is(err, actors.ErrUnknownOutcome) || !errors.Is(err, syscall.EIO) {
			t.Errorf("a write that could not be logged: %v", err)
		}
		err = s.Apply(t.Context(), "ci", []*tablet.Mutation{put("5")})
		if errors.Is(err, actors.ErrUnknownOutcome) || !tablet.OutcomeOf(err).Retryable {
			t.Errorf("a write that was not let in: %v", err)
		}
		mustApply(t, s, []*tablet.Mutation{put("6")}, actors.WithDurability(tablet.DurabilityNone))
		checkRows(t, s, []string{"1", "2", "3", "6"})
		fs.Heal()
		time.Sleep(time.Minute)
		mustApply(t, s, []*tablet.Mutation{put("7")})
		checkRows(t, s, []string{"1", "2", "3", "6", "7"})
	})
	s := openStore(t, mem.Durable())
	checkRows(t, s, []string{"1", "2", "3", "6", "7"})
	closeStore(t, s)
}
