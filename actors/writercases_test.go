package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/writer"
)

// A mutation of twice the memory, of the writer and of the memtables, is written and read back.
func TestWriterLargerThanMemory(t *testing.T) {
	s := openStore(t, vfs.Mem(), actors.WithProperties(map[string]string{"tserver.memory.maps.max": "1M"}))
	mustCreate(t, s, eighths, plain)
	w := newWriter(t, s, writer.Options{MemoryBytes: 64})
	large := strings.Repeat("x", 2<<20)
	for i := range 3 {
		if err := w.Add(t.Context(), put(fmt.Sprintf("%d", i))); err != nil {
			t.Fatal(err)
		}
		m := tablet.NewMutation(fmt.Appendf(nil, "%dlarge", i))
		m.Put([]byte("f"), []byte("q"), nil, []byte(large))
		if err := w.Add(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range scanRows(t, s, actors.ScanOptions{}) {
		if strings.HasSuffix(r, large) {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d large values came back", n)
	}
	closeStore(t, s)
}

// With memory for one mutation, four that add, and flushes that never have room, all goes on.
func TestWriterMemoryOfOneMutation(t *testing.T) {
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, _ *killer) {
		for _, v := range writer.Variants {
			w := newWriter(t, s, writer.Options{Variant: v, MemoryBytes: 1})
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for i := range 50 {
						began := time.Now()
						if err := w.Add(t.Context(), put(fmt.Sprintf("%d.%d.%02d", g, v, i))); err != nil {
							t.Error(err)
							return
						}
						if i%7 == 0 {
							if err := w.Flush(t.Context()); err != nil {
								t.Error(err)
							}
						}
						if took := time.Since(began); took > 10*time.Second {
							t.Errorf("an add took %v", took)
						}
					}
				})
			}
			wg.Wait()
			if err := w.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if n := len(scanRows(t, s, actors.ScanOptions{})); n != 800 {
			t.Errorf("%d rows", n)
		}
	}, actors.WithProperties(map[string]string{"tserver.memory.maps.max": "100K"}))
}

// The log fails at any of its writes or syncs: whoever adds, flushes or closes hears of it, or the mutation is written.
func TestWriterHearsOfTheLog(t *testing.T) {
	rounds := 1000
	if testing.Short() || raceEnabled {
		rounds = 60
	}
	unseen, failed := 0, 0
	for round := range rounds {
		fs := vfs.Faulty(vfs.Mem())
		runStore(t, fs, func(t *testing.T, s *actors.Store, _ *killer) {
			w := newWriter(t, s, writer.Options{MemoryBytes: 3000, Binners: 2, Variant: writer.Variants[round%4]})
			op := []vfs.Op{vfs.OpWrite, vfs.OpSync}[round/4%2]
			fs.Add(vfs.Rule{Op: op, Class: vfs.ClassLog, N: 1 + round/8%12, Sticky: round%3 == 0, Err: syscall.EIO})
			rows, named := map[string]bool{}, map[string]bool{}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // while the log cannot be written it is tried again
			defer cancel()
			for i := range 60 {
				row := fmt.Sprintf("%02d", i*37%100)
				if err := w.Add(ctx, put(row)); err != nil {
					break
				}
				rows[row] = true
				if i%20 == 19 && w.Flush(ctx) != nil {
					break
				}
			}
			err := w.Close(ctx)
			hits := len(fs.Hits())
			fs.Heal()
			if err != nil {
				failed++
			}
			err = w.Close(t.Context())
			var r *writer.RejectedError
			if errors.As(err, &r) {
				for _, f := range r.Failed {
					named[string(f.Mutation.Row())] = f.Unknown
				}
			} else if err != nil {
				t.Errorf("round %d: %v", round, err)
			}
			time.Sleep(time.Minute)
			checkOnce(t, s, rows, named, true)
			if t.Failed() {
				unseen++
				t.Logf("round %d: %v fails at its %d-th, %d hits, error %v", round, op, 1+round/8%12, hits, err)
			}
		})
		if t.Failed() {
			break
		}
	}
	if failed == 0 {
		t.Error("no error of the log came through")
	}
	t.Logf("%d rounds, %d with errors, %d unseen", rounds, failed, unseen)
}

// A tablet that is ten times slower than those who add: memory and mailboxes stay within their bounds, and adds wait.
func TestWriterFasterThanTheTablet(t *testing.T) {
	runStore(t, slowSync{vfs.Mem()}, func(t *testing.T, s *actors.Store, _ *killer) {
		const memory = 50_000
		w := newWriter(t, s, writer.Options{MemoryBytes: memory, Durability: tablet.DurabilitySync})
		for i := range 5000 {
			if err := w.Add(t.Context(), put(fmt.Sprintf("%05d", i*7919%5000))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		st := w.Stats()
		if st.MemoryWaits == 0 || st.MemoryWait == 0 || st.LargestMemory > memory+300 {
			t.Errorf("%d waits of %v, %d bytes at most", st.MemoryWaits, st.MemoryWait, st.LargestMemory)
		}
		if over := s.Runtime().Overfilled(); len(over) > 0 {
			t.Errorf("%v", over)
		}
	})
}

// slowSync is a file system in which a sync takes ten milliseconds.
type slowSync struct{ vfs.FS }

func (s slowSync) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return slowFile{f}, nil
}

type slowFile struct{ vfs.File }

func (f slowFile) Sync() error {
	time.Sleep(10 * time.Millisecond)
	return f.File.Sync()
}

// A store that is closed while its log cannot be written does not try again for ever what a writer has: it is named.
func TestStoreCloseGivesUpOnWriters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.Faulty(vfs.Mem())
		s := openStore(t, fs)
		mustCreate(t, s, nil, plain)
		w := newWriter(t, s, writer.Options{})
		if err := w.Add(t.Context(), put("1")); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		fs.Add(vfs.Rule{Op: vfs.OpWrite, Class: vfs.ClassLog, Sticky: true, Err: syscall.ENOSPC})
		for i := range 20 {
			if err := w.Add(t.Context(), put(fmt.Sprint("x", i))); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		err := s.Close(ctx)
		var r *writer.RejectedError
		if !errors.As(err, &r) || len(r.Failed) != 20 || time.Since(began) > 10*time.Minute {
			t.Errorf("close took %v: %v", time.Since(began), err)
		}
		time.Sleep(2 * time.Second)
	})
}
