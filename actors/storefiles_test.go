package actors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// Compacting some files keeps delete markers and what a scan gives; with all files the markers go. What a deleted cell
// was does not come back, in any order, nor after a restart.
func TestStoreCompactsChosenFiles(t *testing.T) {
	fs := vfs.Mem()
	s := openStore(t, fs, actors.WithProperties(map[string]string{"tserver.compaction.major.concurrent.max": "1"}))
	mustCreate(t, s, nil, map[string]string{"table.file.compress.type": "none", "table.compaction.major.ratio": "100"})
	for i := range 5 {
		var batch []*tablet.Mutation
		for j := range 200 {
			m := tablet.NewMutation(fmt.Appendf(nil, "%03d", j))
			if i == 3 && j%2 == 0 {
				m.Delete([]byte("f"), nil, nil)
			} else {
				m.Put([]byte("f"), fmt.Append(nil, i/4), nil, fmt.Append(nil, i))
			}
			if i == 3 && j%2 == 0 {
				m.Delete([]byte("f"), []byte("0"), nil)
			}
			batch = append(batch, m)
		}
		mustApply(t, s, batch)
		if err := s.Flush(t.Context(), "ci"); err != nil {
			t.Fatal(err)
		}
	}
	want := scanRows(t, s, actors.ScanOptions{})
	files := func() []tablet.FileMeta {
		st, err := s.Stats(t.Context(), "ci")
		if err != nil {
			t.Fatal(err)
		}
		return st[0].Files // the newest first
	}
	compact := func(files []uint64, inputs, left, deletes int) {
		t.Helper()
		var told []int64
		done, err := s.Compact(t.Context(), "ci", actors.CompactOptions{Files: files, Progress: func(n int64) { told = append(told, n) }})
		if err != nil {
			t.Fatal(err)
		}
		if got := scanRows(t, s, actors.ScanOptions{}); !slices.Equal(got, want) {
			t.Errorf("after a compaction of %v a scan gives %d entries, want %d", files, len(got), len(want))
		}
		st, err := s.Stats(t.Context(), "ci")
		if err != nil {
			t.Fatal(err)
		}
		var n int64
		for _, f := range st[0].Files {
			n += f.Deletes
		}
		if len(done[0].Inputs) != inputs || len(st[0].Files) != left || n != int64(deletes) {
			t.Errorf("%d inputs, %d files and %d deletes are left, want %d, %d and %d", len(done[0].Inputs), len(st[0].Files), n, inputs, left, deletes)
		}
		if inputs > 0 && (len(told) == 0 || told[len(told)-1] != done[0].Books.Read || !slices.IsSorted(told)) {
			t.Errorf("progress %v, %d entries were read", told, done[0].Books.Read)
		}
	}
	f := files()
	compact([]uint64{99999}, 0, 5, 200)
	compact([]uint64{f[1].Number}, 1, 5, 200)                          // the markers alone
	compact([]uint64{files()[0].Number, files()[1].Number}, 2, 4, 200) // with newer ones
	image := fs.Durable()
	compact(nil, 4, 1, 0)
	closeStore(t, s)
	s = openStore(t, image)
	if got := scanRows(t, s, actors.ScanOptions{}); !slices.Equal(got, want) {
		t.Errorf("after reopening a scan gives %d entries, want %d: %s", len(got), len(want), strings.Join(got[:min(len(got), 3)], ", "))
	}
	closeStore(t, s)
}
