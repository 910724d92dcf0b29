package sim

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
		for i, name := range []string{manifest.FileName("F", n), manifest.FileName("A", n), manifest.FileName("C", n), wal.Name(n), manifest.Name(n)} {
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
	low := 0
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
			low++
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
	orphans := 0
	for _, f := range report.Findings {
		if f.Kind == storage.Orphan {
			orphans++
			t.Error(f)
		}
	}
	changed := 0
	for name, content := range want {
		if b, err := os.ReadFile(name); err != nil || string(b) != content {
			changed++
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	lastLine(t, "leftovers", count("files", len(want)), zero("written", changed), zero("low", low), zero("orphans", orphans))
}
