package actors_test

import (
	"fmt"
	"maps"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/writer"
)

// stalling is a store whose tablets come to have more files than table.file.max in one way or another.
type stalling struct {
	*testing.T
	s    *actors.Store
	rows int
}

func (k *stalling) set(fileMax string) {
	k.Helper()
	if err := k.s.SetProperties(k.Context(), "ci", map[string]string{"table.file.max": fileMax}); err != nil {
		k.Fatal(err)
	}
}

// write has a batch writer write a row to each tablet, by a flush and a close, which takes no time worth telling.
func (k *stalling) write() {
	k.Helper()
	began := time.Now()
	w := newWriter(k.T, k.s, writer.Options{MemoryBytes: 1})
	for i := range 2 {
		for _, half := range []string{"2", "9"} {
			if err := w.Add(k.Context(), put(fmt.Sprintf("%s%06d", half, k.rows+i))); err != nil {
				k.Fatal(err)
			}
		}
		if err := w.Flush(k.Context()); err != nil {
			k.Fatal(err)
		}
	}
	k.rows += 2
	if err := w.Close(k.Context()); err != nil {
		k.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		k.Errorf("writing took %v", took)
	}
}

// files makes so many files of each tablet.
func (k *stalling) files(n int) {
	k.Helper()
	for range n {
		k.write()
		if err := k.s.Flush(k.Context(), "ci"); err != nil {
			k.Fatal(err)
		}
	}
}

// most is how many files the tablet has that has most.
func (k *stalling) most() (n int) {
	k.Helper()
	stats, err := k.s.Stats(k.Context(), "ci")
	if err != nil {
		k.Fatal(err)
	}
	for _, s := range stats {
		n = max(n, len(s.Files))
	}
	return n
}

// within wants no more files than that in five seconds, while a writer goes on, and every row that was written.
func (k *stalling) within(fileMax int) {
	k.Helper()
	for range 5 {
		k.write()
		time.Sleep(time.Second)
	}
	if n := k.most(); n > fileMax {
		k.Errorf("%d files after five seconds, want %d at most", n, fileMax)
	}
	if rows := len(scanRows(k.T, k.s, actors.ScanOptions{})); rows != 2*k.rows {
		k.Errorf("%d rows of %d", rows, 2*k.rows)
	}
}

// TestWriterGoesOnOverFileMax brings tablets above table.file.max in every way there is: a compaction starts each time, and
// writers go on.
func TestWriterGoesOnOverFileMax(t *testing.T) {
	f := func(name string, over func(k *stalling)) {
		t.Run(name, func(t *testing.T) {
			runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, _ *killer) {
				if err := s.SetProperties(t.Context(), "ci", map[string]string{"table.compaction.major.ratio": "1000"}); err != nil {
					t.Fatal(err)
				}
				k := &stalling{T: t, s: s}
				over(k)
				k.within(3)
			})
		})
	}
	f("flushes", func(k *stalling) {
		k.set("3")
		k.files(9)
	})
	f("a lower limit", func(k *stalling) {
		k.set("50")
		k.files(9)
		if n := k.most(); n != 9 {
			k.Fatalf("%d files, want 9", n)
		}
		k.set("3")
	})
	f("a split", func(k *stalling) {
		k.set("50")
		k.files(9)
		k.set("3")
		if err := k.s.AddSplits(k.Context(), "ci", [][]byte{[]byte("2000005"), []byte("9000005")}); err != nil {
			k.Fatal(err)
		}
	})
	f("a compaction that was asked for", func(k *stalling) {
		k.set("50")
		k.files(9)
		k.set("3")
		if _, err := k.s.Compact(k.Context(), "ci", actors.CompactOptions{}); err != nil {
			k.Fatal(err)
		}
	})
}

// TestWriterGoesOnAfterARestart: a store that is opened with too many files compacts them without being asked.
func TestWriterGoesOnAfterARestart(t *testing.T) {
	for _, crash := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fs := vfs.Mem()
			k := &stalling{T: t, s: openStore(t, fs)}
			err := k.s.CreateTable(t.Context(), "ci", [][]byte{[]byte("8")}, map[string]string{"table.compaction.major.ratio": "1000", "table.file.max": "50"})
			if err != nil {
				t.Fatal(err)
			}
			k.files(9)
			disk := vfs.FS(fs)
			k.set("3")
			if crash {
				disk = fs.Durable()
			}
			closeStore(t, k.s)
			k.s = openStore(t, disk)
			k.within(3)
			closeStore(t, k.s)
			time.Sleep(2 * time.Second) // the library's throttle of dead letters
		})
	}
}

// flood has a batch writer add as fast as it may for a while, and returns how many files a tablet had at most and the longest
// Add. All that was added is written then.
func flood(t *testing.T, s *actors.Store, heal func(), during time.Duration) (files int, longest time.Duration) {
	t.Helper()
	w := newWriter(t, s, writer.Options{MemoryBytes: 20_000})
	value := make([]byte, 8000)
	for i, began := 0, time.Now(); time.Since(began) < during; i++ {
		m := tablet.NewMutation(fmt.Appendf(nil, "%d%07d", i%10, i*7919%10_000_000))
		m.Put([]byte("v"), nil, nil, value)
		if err := w.Add(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if i%25 == 0 {
			files = max(files, (&stalling{T: t, s: s}).most())
		}
	}
	heal()
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := w.Stats()
	if rows := int64(len(scanRows(t, s, actors.ScanOptions{}))); rows != st.Acknowledged || st.Mutations != st.Acknowledged || rows < 200 {
		t.Errorf("%d rows of %d that were acknowledged, of %d", rows, st.Acknowledged, st.Mutations)
	}
	return files, st.LongestAdd
}

// TestWriterFasterThanCompactions: with table.file.pause a tablet has one file more at most, however slow compactions are, and
// writers are slowed down; without it files become more and more. Where no compaction is due, or all fail, nobody waits for
// one.
func TestWriterFasterThanCompactions(t *testing.T) {
	f := func(name string, during time.Duration, properties map[string]string, rule *vfs.Rule, check func(t *testing.T, files int, longest time.Duration)) {
		t.Run(name, func(t *testing.T) {
			faulty := vfs.Faulty(vfs.Mem())
			slow := vfs.Slow(faulty, vfs.SlowOptions{
				Delay: func(c vfs.Call) time.Duration {
					if c.Op == vfs.OpWrite && strings.HasSuffix(c.Name, ".rf") {
						return 10 * time.Millisecond
					}
					return 0
				},
				Wait: func(_ vfs.Call, d time.Duration) { time.Sleep(d) },
			})
			runStore(t, slow, func(t *testing.T, s *actors.Store, _ *killer) {
				p := map[string]string{"table.file.compress.blocksize": "2K"}
				maps.Copy(p, properties)
				if err := s.SetProperties(t.Context(), "ci", p); err != nil {
					t.Fatal(err)
				}
				if rule != nil {
					faulty.Add(*rule)
				}
				files, longest := flood(t, s, faulty.Heal, during)
				t.Logf("%d files, longest Add %v", files, longest)
				check(t, files, longest)
			}, actors.WithProperties(map[string]string{"tserver.memory.maps.max": "200K"}))
		})
	}
	bounded := func(t *testing.T, files int, longest time.Duration) {
		if files > 9 || longest > 2*time.Second {
			t.Errorf("%d files, want 9 at most; the longest Add took %v", files, longest)
		}
	}
	grows := func(t *testing.T, files int, longest time.Duration) {
		if files < 11 || longest > 2*time.Second {
			t.Errorf("%d files, want 11 or more; the longest Add took %v", files, longest)
		}
	}
	f("pause", 5*time.Second, map[string]string{"table.file.max": "5", "table.file.pause": "8"}, nil, bounded)
	f("no pause", 5*time.Second, map[string]string{"table.file.max": "5", "table.file.pause": "0"}, nil, grows)
	never := map[string]string{"table.file.max": "100000", "table.compaction.major.ratio": "100000", "table.file.pause": "8"}
	f("no compaction is due", time.Second, never, nil, grows)
	f("compactions fail", time.Second, map[string]string{"table.file.max": "5", "table.file.pause": "8"},
		&vfs.Rule{Op: vfs.OpRead, Name: "*.rf", Sticky: true, Err: syscall.EIO}, grows)
}
