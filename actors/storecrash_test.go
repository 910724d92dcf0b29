package actors_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/storage"
)

// TestStoreCrashesAtAnyTime has writers, flushes, compactions and splits run, and takes what a power cut leaves again and
// again meanwhile. Of each image: what was acknowledged before is there, each mutation is whole, and nothing is there that
// was not written; a second opening gives the same; no file is left that nothing names.
func TestStoreCrashesAtAnyTime(t *testing.T) {
	images := 12
	if testing.Short() {
		images = 5
	}
	fs := vfs.Mem()
	s := openStore(t, fs, actors.WithProperties(map[string]string{
		"tserver.memory.maps.max": "300K", "tserver.wal.max.size": "100K", "tserver.compaction.major.concurrent.max": "2",
	}))
	mustCreate(t, s, [][]byte{[]byte("5")}, plain)
	var written, acked [3]atomic.Int64
	var limit atomic.Int64 // of writes, so that images do not grow without end
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range written {
		wg.Go(func() {
			for i := int64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				if i >= limit.Load() {
					time.Sleep(time.Millisecond)
					i--
					continue
				}
				written[w].Store(i + 1)
				mustApply(t, s, []*tablet.Mutation{pair(w, i)})
				acked[w].Store(i + 1)
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-stop:
				return
			default:
			}
			var err error
			switch rng.IntN(3) {
			case 0:
				err = s.Flush(t.Context(), "ci")
			case 1:
				_, err = s.Compact(t.Context(), "ci", actors.CompactOptions{})
			case 2:
				err = s.AddSplits(t.Context(), "ci", [][]byte{fmt.Appendf(nil, "%03d", rng.IntN(1000))})
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range images {
		least := [3]int64{}
		half := limit.Add(400) - 200
		for w := range least {
			for acked[w].Load() < half && !t.Failed() {
				time.Sleep(100 * time.Microsecond)
			}
		}
		for w := range least {
			least[w] = acked[w].Load()
		}
		image := fs.Durable()
		most := [3]int64{}
		for w := range most {
			most[w] = written[w].Load()
		}
		checkImage(t, image, least, most)
	}
	close(stop)
	wg.Wait()
	extents, _ := s.Tablets("ci")
	t.Logf("%v written, %d tablets", acked[0].Load()+acked[1].Load()+acked[2].Load(), len(extents))
	closeStore(t, s)
}

// pair is a mutation of two updates, which are seen together or not at all.
func pair(w int, i int64) *tablet.Mutation {
	m := tablet.NewMutation(fmt.Appendf(nil, "%03d-%d-%d", (i*7919+int64(w)*331)%1000, w, i))
	m.Put([]byte("a"), nil, nil, fmt.Append(nil, i))
	m.Put([]byte("b"), nil, nil, fmt.Append(nil, i))
	return m
}

func checkImage(t *testing.T, image *vfs.MemFS, least, most [3]int64) {
	t.Helper()
	var before []string
	for range 2 {
		s := openStore(t, image)
		rows := scanRows(t, s, actors.ScanOptions{})
		seen := map[string]int{}
		for _, r := range rows {
			f := strings.Fields(r)
			if !strings.HasSuffix(f[0], "-"+f[len(f)-1]) {
				t.Errorf("an entry nobody wrote: %s", r)
			}
			seen[f[0]]++
		}
		for w := range least {
			for i := range most[w] {
				row := string(pair(w, i).Row())
				if n := seen[row]; n == 1 || n == 0 && i < least[w] {
					t.Errorf("%d entries of row %s, which is write %d of %d acknowledged", n, row, i, least[w])
				}
				delete(seen, row)
			}
		}
		if len(seen) > 0 {
			t.Errorf("%d rows that were never written", len(seen))
		}
		if before != nil && !slices.Equal(before, rows) {
			t.Errorf("a second opening gives %d entries, the first gave %d", len(rows), len(before))
		}
		before = rows
		if err := s.Flush(t.Context(), "ci"); err != nil {
			t.Error(err)
		}
		closeStore(t, s)
		after, err := storage.Load(t.Context(), image)
		if err != nil {
			t.Fatal(err)
		}
		if len(after.Orphans)+len(after.Foreign) > 0 {
			t.Errorf("named by nothing: %q, %q", after.Orphans, after.Foreign)
		}
		image = image.Durable()
	}
}
