package wal

import (
	"slices"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// startedFS notes what files are asked to start on its way to stable storage, and their syncs.
type startedFS struct {
	vfs.FS
	ends  []int64 // 0 for a sync
	bytes int64
}

type startedFile struct {
	vfs.File
	fs    *startedFS
	start int64
}

func (s *startedFS) Create(name string) (vfs.File, error) {
	f, err := s.FS.Create(name)
	return &startedFile{File: f, fs: s}, err
}

func (f *startedFile) Sync() error {
	f.fs.ends = append(f.fs.ends, 0)
	return f.File.Sync()
}

func (f *startedFile) StartSync(from, n int64) {
	if size, _ := f.Size(); from < f.start || from+n > size {
		panic("what is not written, or was started before")
	}
	f.start = from + n
	f.fs.ends = append(f.fs.ends, f.start)
	f.fs.bytes += n
}

// TestStart: at level log what is written is started on its way in large pieces of whole pages, so that there is little left
// for the sync that comes at last; what is synced anyway is not, nor what is small.
func TestStart(t *testing.T) {
	const piece = 300_000
	f := func(level tablet.Durability, entries int, want ...bool) {
		t.Helper()
		fs := &startedFS{FS: vfs.Mem()}
		number := uint64(0)
		log, err := New(fs, Options{NextNumber: func() uint64 { number++; return number }, MaxUnsynced: 10 * piece})
		must(t, err)
		m := tablet.NewMutation([]byte("row"))
		m.Put(nil, nil, nil, make([]byte, piece))
		for range entries {
			must(t, log.Append(&Entry{Tablet: 1, Session: 1, Mutations: []*tablet.Mutation{m}}, level))
			must(t, log.Commit(time.Time{}))
		}
		got := make([]bool, len(fs.ends)) // whether each is a sync
		for i, end := range fs.ends {
			got[i] = end == 0
			if end%4096 != 0 {
				t.Errorf("%v: started up to %d, in the middle of a page", level, end)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v: syncs among starts and syncs are %v, want %v", level, got, want)
		}
		must(t, log.Close(time.Time{}))
	}
	f(tablet.DurabilityLog, 3, true) // the first is synced, with its segment
	f(tablet.DurabilityLog, 16, true, false, false, true, false)
	f(tablet.DurabilityFlush, 5, true, false)
	f(tablet.DurabilitySync, 5, true, true, true, true, true)
}
