package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet/manifest"
	"millrace/tablet/storage"
	"millrace/tablet/wal"
)

// TestLeftovers puts files with the names that a store would give next into its directories: final names and temporary
// ones, writable and not, each with a second name outside. The store opens, flushes and compacts; it takes higher numbers,
// never writes to what was there, and at the end nothing is left of ours that it does not name.
func TestLeftovers(t *testing.T) {
	var sum leftoverCounts
	for kind, names := range map[string][]func(n uint64) string{
		"flushes": {func(n uint64) string { return manifest.FileName("F", n) }}, "compactions": {func(n uint64) string { return manifest.FileName("A", n) }},
		"log": {wal.Name}, "manifest": {manifest.Name},
		"all": {func(n uint64) string { return manifest.FileName("F", n) }, func(n uint64) string { return manifest.FileName("C", n) }, wal.Name, manifest.Name},
	} {
		t.Run(kind, func(t *testing.T) { sum.add(leaveFiles(t, names)) })
	}
	lastLine(t, "leftovers", count("files", sum.files), zero("written", sum.written), zero("low", sum.low), zero("orphans", sum.orphans))
}

// leftoverCounts are the figures of one try.
type leftoverCounts struct{ files, written, low, orphans int }

func (l *leftoverCounts) add(o leftoverCounts) {
	l.files, l.written, l.low, l.orphans = l.files+o.files, l.written+o.written, l.low+o.low, l.orphans+o.orphans
}

// leaveFiles uses a store in which files lie that have the names to come.
func leaveFiles(t *testing.T, names []func(n uint64) string) (l leftoverCounts) {
	top := t.TempDir()
	dir, outside := top+"/store", top+"/outside"
	fs, err := vfs.MakeDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer vfs.Close(fs)
	if err := exercise(dir, fs, func(string) {}); err != nil {
		t.Fatal(err)
	}
	loaded, err := storage.Load(context.Background(), fs)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for n := loaded.NextNumber; n < loaded.NextNumber+12; n++ {
		for i, make := range names {
			name := make(n)
			for _, ending := range []string{"", ".tmp"} {
				content := fmt.Sprintf("left over as %s%s", name, ending)
				second := filepath.Join(outside, fmt.Sprintf("%d.%d%s", n, i, ending))
				mode := os.FileMode(0o600)
				if n%2 == 0 {
					mode = 0o400
				}
				if err := os.WriteFile(second, []byte(content), mode); err != nil {
					t.Fatal(err)
				}
				if err := os.Link(second, filepath.Join(dir, name+ending)); err != nil {
					t.Fatal(err)
				}
				want[second] = content
			}
		}
	}
	highest := loaded.NextNumber + 12
	var low atomic.Int64
	traced := vfs.Trace(fs, vfs.TraceOptions{Before: func(e vfs.Event) {
		if e.Op != vfs.OpCreate {
			return
		}
		n, ours := manifest.ParseFileName(e.Name)
		if !ours {
			n, ours = manifest.ParseName(e.Name)
		}
		if !ours {
			n, ours = wal.ParseName(strings.TrimPrefix(e.Name, wal.Dir+"/"))
		}
		if ours && n < highest {
			low.Add(1)
			t.Errorf("%v: there are files up to number %d", e, highest-1)
		}
	}})
	s, err := actors.Open(context.Background(), dir, actors.WithFS(traced))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"t"} {
		if err := doLive(context.Background(), s, Op{Kind: Flush, Table: table}); err != nil {
			t.Error(err)
		}
		if err := doLive(context.Background(), s, Op{Kind: Full, Table: table}); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
	report, err := storage.Check(context.Background(), fs, storage.CheckOptions{})
	if err != nil || report.Err() != nil {
		t.Error(err, report.Err())
	}
	for _, f := range report.Findings {
		if f.Kind == storage.Orphan {
			l.orphans++
			t.Error(f)
		}
	}
	for name, content := range want {
		if b, err := os.ReadFile(name); err != nil || string(b) != content {
			l.written++
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	l.files, l.low = len(want), int(low.Load())
	return l
}
