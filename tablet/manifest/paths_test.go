package manifest

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// strangeNames lead outside the store, or to something that is not one of its data files. All are those of file 30, if of
// any.
var strangeNames = []string{
	"", ".", "..", "/", "data", "data/", "/data/F0000030.rf", "./data/F0000030.rf", "../data/F0000030.rf", "data/../data/F0000030.rf",
	"data/./F0000030.rf", "data//F0000030.rf", "data/x/F0000030.rf", "data/F0000030.rf/", "data/F0000030.rf/x", "../x", "../../etc/passwd",
	"/etc/passwd", "/dev/null", "/dev/zero", "data/../../x", "x", "F0000030.rf", "wal/0000000030.wal", "manifest/0000000030.manifest", "LOCK",
	"data/F0000030.rf\x00", "data/F0000030\x00.rf", "\x00", "data\\F0000030.rf", "C:\\data\\F0000030.rf", "data/F0000030.rf.tmp", "data/F0000030",
	"data/.rf", "data/F.rf", "data/0000030.rf", "data/F30.rf", "data/F00000030.rf", "data/F0000031.rf", "data/F-000030.rf", "data/F+000030.rf",
	"data/F000003O.rf", "data/É0000030.rf", "data/F 000030.rf", "data/F0000030.RF", "Data/F0000030.rf", "data/ABCDEFGHI0000030.rf",
	"data/F" + strings.Repeat("0", 300) + ".rf", "data/" + strings.Repeat("F", 300) + "0000030.rf", strings.Repeat("../", 100) + "data/F0000030.rf",
	"data/F18446744073709551646.rf", "\xff\xfe", "data/F0000030.rf\n", " data/F0000030.rf",
}

// pathsFS refuses to know of names outside the manifest's directory.
type pathsFS struct {
	vfs.FS
	t *testing.T
}

func (p pathsFS) check(name string) {
	if name != Dir && !strings.HasPrefix(name, Dir+"/0000") {
		p.t.Errorf("%q was touched", name)
	}
}

func (p pathsFS) Create(name string) (vfs.File, error)       { p.check(name); return p.FS.Create(name) }
func (p pathsFS) Open(name string) (vfs.File, error)         { p.check(name); return p.FS.Open(name) }
func (p pathsFS) Remove(name string) error                   { p.check(name); return p.FS.Remove(name) }
func (p pathsFS) Stat(name string) (vfs.Info, error)         { p.check(name); return p.FS.Stat(name) }
func (p pathsFS) List(name string) ([]string, error)         { p.check(name); return p.FS.List(name) }
func (p pathsFS) Rename(from, to string) error               { p.check(from); p.check(to); return fs.ErrInvalid }
func (p pathsFS) Link(from string, _ vfs.FS, _ string) error { p.check(from); return fs.ErrInvalid }

// TestPaths puts strange names into edits and snapshots: neither Apply nor Read takes them, and nothing that they name is
// touched.
func TestPaths(t *testing.T) {
	s := smallState(t)
	refused := 0
	damaged := func(name, where string, payloads [][]byte) {
		t.Helper()
		_, err := Read(t.Context(), pathsFS{only(t, 7, framed(t, 7, payloads)), t})
		var c *tablet.CorruptError
		if !errors.As(err, &c) || c.File != Name(7) || c.Offset == 0 {
			t.Errorf("%q in %s: %v", name, where, err)
			return
		}
		refused++
	}
	for _, name := range strangeNames {
		f := aFile(30, 3).with(func(f *FileRef) { f.Name, f.LastRow = name, []byte("c") })
		for _, e := range []Edit{
			Install{Tablet: 11, Session: 5, Time: 300, Add: f},
			Swap{Tablet: 11, Remove: []uint64{21}, Add: f.with(func(f *FileRef) { f.Ages = tablet.AgeRange{Oldest: 2, Newest: 2} })},
			Import{Tablet: 11, Add: []FileRef{*f}},
		} {
			var r *Refusal
			if _, err := Apply(s, e); !errors.As(err, &r) || !strings.Contains(r.What, "name") || !strings.Contains(r.Where, "tablet 11") {
				t.Errorf("%q: %v", name, err)
			}
			damaged(name, "an edit", append(payloads(s), appendEdits(nil, []Edit{e})))
		}
		// A snapshot with the name: the file is put in by hand, where Apply would not let it.
		bad := *s.Tablet(11)
		bad.Files = []FileRef{*f}
		d := draft{State: *s}
		d.nextNumber = 100
		bad.NextAge = 4
		d.setTablet(&bad)
		damaged(name, "a snapshot", payloads(&d.State))
	}
	good := Install{Tablet: 11, Session: 5, Time: 300, Add: aFile(30, 3).with(func(f *FileRef) { f.LastRow = []byte("c") })}
	if err := readPayloads(t, append(payloads(s), appendEdits(nil, []Edit{good}))); err != nil {
		t.Errorf("a proper name: %v", err)
	}
	fmt.Printf("R71 manifest names=%d refused=%d touched=0 seed=%d\n", len(strangeNames), refused, *seedFlag)
}

// TestNames goes back and forth.
func TestNames(t *testing.T) {
	for _, n := range []uint64{1, 9, 9999999, 10000000, 9999999999, 10000000000, maxNumber} {
		if got, ok := ParseFileName(FileName("Ab", n)); !ok || got != n {
			t.Errorf("%s: %d %v", FileName("Ab", n), got, ok)
		}
		if got, ok := ParseName(Name(n)); !ok || got != n {
			t.Errorf("%s: %d %v", Name(n), got, ok)
		}
	}
	for _, name := range append(strangeNames, "manifest/1.manifest", "manifest/00000000001.manifest", "manifest/0000000000.manifest",
		"manifest/0000000001.manifest.tmp", "0000000001.manifest", "manifest/000000000x.manifest", FileName("F", maxNumber+1)) {
		if n, ok := ParseFileName(name); ok && n != 31 {
			t.Errorf("%q is data file %d", name, n)
		}
		if n, ok := ParseName(name); ok && n != 30 {
			t.Errorf("%q is manifest %d", name, n)
		}
	}
}
