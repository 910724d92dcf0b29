package sim

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"millrace/actors"
	"millrace/internal/record"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
)

// ownNames are all names that a store has to do with.
var ownNames = regexp.MustCompile(`^(\.|LOCK|HOLDER|data(/[A-Za-z]\d{7,}\.rf)?|wal(/\d{10}\.wal)?|manifest(/\d{10}\.manifest)?)$`)

// hostileNames are put into a manifest, where a data file is named. %s is a file outside that exists.
var hostileNames = []string{
	"", ".", "..", "/", "data", "data/", "x", "../x", "../../etc/passwd", "/etc/passwd", "%s", "../../outside", "data/../../outside",
	"data/../LOCK", "./data/F0000030.rf", "data//F0000030.rf", "data/x/F0000030.rf", "data/F0000030.rf/", "data/F0000030.rf/x", "/dev/null",
	"/dev/zero", "../../../../dev/zero", "LOCK", "wal/0000000030.wal", "manifest/0000000030.manifest", "data/F0000030.rf\x00", "\x00",
	"data/F0000030\x00.rf", `data\F0000030.rf`, `C:\data\F0000030.rf`, "data/F0000030.rf.tmp", "data/.rf", "data/F.rf", "data/F30.rf",
	"data/F-000030.rf", "data/F 000030.rf", "data/F0000030.RF", "Data/F0000030.rf", " data/F0000030.rf", "data/F0000030.rf\n", "\xff\xfe",
	"data/" + strings.Repeat("F", 300) + "0000030.rf", strings.Repeat("../", 100) + "data/F0000030.rf", "file:///etc/passwd",
}

// TestPaths does everything on a file system that records all names, and wants none that is not the store's own; and then
// opens stores whose manifest names something else: each is refused, and nothing else was asked for.
func TestPaths(t *testing.T) {
	top := t.TempDir()
	outside := filepath.Join(top, "outside")
	if err := os.WriteFile(outside, []byte("outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "parent", "store")
	fs, err := vfs.MakeDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer vfs.Close(fs)
	var calls, strange atomic.Int64
	record := func(inner vfs.FS) vfs.FS {
		return vfs.Trace(inner, vfs.TraceOptions{Before: func(e vfs.Event) {
			calls.Add(1)
			if !ownNames.MatchString(e.Name) || e.To != "" && !ownNames.MatchString(e.To) {
				strange.Add(1)
				t.Errorf("asked for %v", e)
			}
		}})
	}
	if err := exercise(dir, record(fs), func(string) {}); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, name := range hostileNames {
		if strings.Contains(name, "%s") {
			name = outside
		}
		left := renamedIn(t, fs, name)
		s, err := actors.Open(context.Background(), dir, actors.WithFS(record(left)))
		if err == nil {
			s.Close(context.Background())
		}
		var c *tablet.CorruptError
		if !errors.As(err, &c) || !strings.HasPrefix(c.File, manifest.Dir+"/") {
			t.Errorf("%q in the manifest: %v", name, err)
			continue
		}
		refused++
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "outside" {
		t.Errorf("the file outside: %q, %v", b, err)
	}
	lastLine(t, "R71", count("calls", int(calls.Load())), count("names", len(hostileNames)), count("refused", refused), zero("touched", int(strange.Load())))
}

// renamedIn is a copy of a store, in memory, whose manifest names a data file otherwise. All sums in it are right.
func renamedIn(t *testing.T, fs vfs.FS, name string) *vfs.MemFS {
	t.Helper()
	mem := vfs.Mem()
	for _, file := range storeFiles(t, fs) {
		content := readWhole(t, fs, file)
		if strings.HasPrefix(file, manifest.Dir+"/") {
			content = reframed(t, fs, file, name)
		}
		if err := mem.MkdirAll(filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
		f, err := mem.Create(file)
		if err == nil {
			_, err = f.Write(content)
			err = errors.Join(err, f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

// dataName finds a data file's name in a record, with the byte before it that says how long it is.
var dataName = regexp.MustCompile(`\x10data/[A-Z]\d{7}\.rf`)

// reframed is a manifest file with another name in the first record that has one.
func reframed(t *testing.T, fs vfs.FS, file, name string) []byte {
	t.Helper()
	number, ok := manifest.ParseName(file)
	f, err := fs.Open(file)
	if err != nil || !ok {
		t.Fatal(file, err)
	}
	defer f.Close()
	h := record.Header{Kind: record.Manifest, Version: 1, Number: number}
	r, err := record.NewReader(f, h, record.Outside{})
	if err != nil {
		t.Fatal(err)
	}
	mem := vfs.Mem()
	out, err := mem.Create("f")
	if err != nil {
		t.Fatal(err)
	}
	w := record.NewWriter(out, h)
	changed := false
	for {
		payload, _, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if at := dataName.FindIndex(payload); at != nil && !changed {
			changed = true
			longer := append(binary.AppendUvarint(bytes.Clone(payload[:at[0]]), uint64(len(name))), name...)
			payload = append(longer, payload[at[1]:]...)
		}
		if _, err := w.Append(payload); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Seal(), out.Close()); err != nil || !changed {
		t.Fatal(fmt.Errorf("changed %v: %w", changed, err))
	}
	return readWhole(t, mem, "f")
}

func readWhole(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := vfs.ReadAll(f, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
