package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// countFS counts files that are begun.
type countFS struct {
	vfs.FS
	created atomic.Int64
}

func (c *countFS) Create(name string) (vfs.File, error) {
	c.created.Add(1)
	return c.FS.Create(name)
}

// TestStoreOnAFullDisk: while the disk is full little is tried, reads go on, users are told, and what is in memory stays
// there; as soon as there is space writers get on, those that waited for memory and those that were refused by the log.
func TestStoreOnAFullDisk(t *testing.T) {
	for _, level := range []tablet.Durability{tablet.DurabilityNone, tablet.DurabilitySync} {
		t.Run(level.String(), func(t *testing.T) {
			limit, err := vfs.Limit(vfs.Mem(), 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			fs := &countFS{FS: limit}
			runStore(t, fs, func(t *testing.T, s *actors.Store, _ *killer) {
				var rows atomic.Int64
				stop := make(chan struct{})
				done := make(chan struct{})
				errs := map[string]int{}
				var last atomic.Int64 // when a write succeeded last
				go func() {
					defer close(done)
					for {
						select {
						case <-stop:
							return
						default:
						}
						m := put(fmt.Sprintf("%06d", rows.Load()))
						m.Put([]byte("v"), nil, nil, make([]byte, 10_000))
						switch err := s.Apply(t.Context(), "ci", []*tablet.Mutation{m}, actors.WithDurability(level)); {
						case err == nil:
							rows.Add(1)
							last.Store(time.Now().UnixNano())
						case !tablet.OutcomeOf(err).Retryable:
							t.Errorf("a write fails for good: %v", err)
							return
						default:
							errs[fmt.Sprint(errors.Is(err, syscall.ENOSPC))]++
						}
						time.Sleep(10 * time.Millisecond)
					}
				}()
				time.Sleep(time.Second)
				for range 3 {
					limit.SetBytes(limit.Bytes() + 20_000)
					time.Sleep(3 * time.Second) // until it is full
					before := fs.created.Load()
					time.Sleep(time.Minute)
					if n := fs.created.Load() - before; n > 12 {
						t.Errorf("%d tries within a minute on a full disk", n)
					}
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
					if err := s.Flush(ctx, "ci"); !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("flush on a full disk: %v", err)
					}
					cancel()
					if err := readAll(s); err != nil {
						t.Error(err)
					}
					limit.SetBytes(0)
					back := time.Now()
					time.Sleep(time.Second)
					if since := time.Unix(0, last.Load()).Sub(back); since <= 0 {
						t.Errorf("no write within a second of space; the last was %v before", -since)
					}
					time.Sleep(10 * time.Second)
				}
				close(stop)
				<-done
				if err := s.Flush(t.Context(), "ci"); err != nil {
					t.Error(err)
				}
				got := scanRows(t, s, actors.ScanOptions{})
				n := 0
				for _, r := range got {
					if !strings.Contains(r, "= \x00") {
						n++
					}
				}
				if int64(n) != rows.Load() || n < 100 {
					t.Errorf("%d rows, %d were acknowledged", n, rows.Load())
				}
				t.Logf("%d rows; errors, of a full disk or not: %v", n, errs)
			}, actors.WithProperties(map[string]string{"tserver.memory.maps.max": "300K"}))
		})
	}
}
