package vfs

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
)

// each runs one test against every implementation. twin makes a second tree on the same device.
func each(t *testing.T, test func(t *testing.T, fsys FS, twin func() FS)) {
	t.Run("dir", func(t *testing.T) {
		top, err := Dir(t.TempDir())
		check(t, err)
		defer func() { check(t, Close(top)) }()
		sub := func(name string) FS {
			check(t, top.MkdirAll(name))
			fsys, err := Dir(top.(*dirFS).path + "/" + name)
			check(t, err)
			t.Cleanup(func() { check(t, Close(fsys)) })
			return fsys
		}
		test(t, sub("main"), func() FS { return sub("twin") })
	})
	mem := func(t *testing.T, wrap func(FS) FS) {
		m := Mem()
		sub := func(name string) FS {
			check(t, m.MkdirAll(name))
			s, err := m.Sub(name)
			check(t, err)
			return wrap(s)
		}
		test(t, sub("main"), func() FS { return sub("twin") })
		if n := m.OpenFiles(); n != 0 {
			t.Errorf("%d files left open", n)
		}
	}
	t.Run("mem", func(t *testing.T) { mem(t, func(f FS) FS { return f }) })
	for name, wrap := range layers {
		t.Run(name, func(t *testing.T) { mem(t, wrap) })
	}
}

// layers are the wrappers, none of which does anything by itself.
var layers = map[string]func(FS) FS{
	"faulty":    func(f FS) FS { return Faulty(f) },
	"trace":     func(f FS) FS { return Trace(f, TraceOptions{Within: func(Event) {}}) },
	"corrupt":   func(f FS) FS { return Corrupt(f, 1) },
	"slow":      func(f FS) FS { return Slow(f, SlowOptions{}) },
	"spoil":     func(f FS) FS { return Spoil(f, SpoilOptions{}) },
	"limit":     func(f FS) FS { l, err := Limit(f, 100, 1<<40); return must(l, err) },
	"syncorder": func(f FS) FS { s, err := SyncOrder(f, SyncOrderOptions{}); return must(s, err) },
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantErr fails unless err is target and its text holds the name.
func wantErr(t *testing.T, err, target error, name string) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("%s: got error %v, want %v", name, err, target)
		return
	}
	if !strings.Contains(err.Error(), name) {
		t.Errorf("error %q does not name %q", err, name)
	}
}

func put(t *testing.T, fsys FS, name, content string) {
	t.Helper()
	f, err := fsys.Create(name)
	check(t, err)
	n, err := f.Write([]byte(content))
	check(t, err)
	if n != len(content) {
		t.Fatalf("wrote %d of %d bytes", n, len(content))
	}
	check(t, f.Sync())
	check(t, f.Close())
}

func get(t *testing.T, fsys FS, name string) string {
	t.Helper()
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	content, err := ReadAll(f, 1<<20)
	check(t, err)
	return string(content)
}

func wantList(t *testing.T, fsys FS, dir, want string) {
	t.Helper()
	names, err := fsys.List(dir)
	check(t, err)
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func TestWriteAndRead(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		check(t, fsys.MkdirAll("a/b"))
		f, err := fsys.Create("a/b/f")
		check(t, err)
		for _, part := range []string{"hello ", "", "world"} {
			_, err := f.Write([]byte(part))
			check(t, err)
		}
		size, err := f.Size()
		check(t, err)
		if size != 11 {
			t.Errorf("size %d while writing, want 11", size)
		}
		if !strings.HasSuffix(f.Name(), "a/b/f") {
			t.Errorf("name %q", f.Name())
		}
		check(t, f.Sync())
		check(t, f.Close())

		r, err := fsys.Open("a/b/f")
		check(t, err)
		check(t, iotest.TestReader(io.NewSectionReader(r, 0, 11), []byte("hello world")))
		buf := make([]byte, 8)
		if n, err := r.ReadAt(buf, 6); n != 5 || err != io.EOF || string(buf[:n]) != "world" {
			t.Errorf("read across the end: %q, %v; want \"world\" and io.EOF itself", buf[:n], err)
		}
		if n, err := r.ReadAt(buf, 100); n != 0 || err != io.EOF {
			t.Errorf("read past the end: %d, %v", n, err)
		}
		if n, err := r.ReadAt(nil, 3); n != 0 || err != nil {
			t.Errorf("read of nothing: %d, %v", n, err)
		}
		if _, err := r.ReadAt(buf, -1); err == nil {
			t.Error("a negative offset was accepted")
		}
		check(t, r.Close())
	})
}

func TestWrongUseOfFiles(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		w, err := fsys.Create("f")
		check(t, err)
		_, err = w.ReadAt(make([]byte, 1), 0)
		wantErr(t, err, fs.ErrInvalid, "f")
		check(t, w.Close())
		r, err := fsys.Open("f")
		check(t, err)
		_, err = r.Write([]byte("x"))
		wantErr(t, err, fs.ErrInvalid, "f")
		check(t, r.Close())

		wantErr(t, r.Close(), fs.ErrClosed, "f")
		_, err = r.ReadAt(make([]byte, 1), 0)
		wantErr(t, err, fs.ErrClosed, "f")
		_, err = r.Size()
		wantErr(t, err, fs.ErrClosed, "f")
		_, err = w.Write([]byte("x"))
		wantErr(t, err, fs.ErrClosed, "f")
		wantErr(t, w.Sync(), fs.ErrClosed, "f")
		if got := get(t, fsys, "f"); got != "" {
			t.Errorf("file holds %q", got)
		}
	})
}

func TestCreateRefusesATakenName(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		put(t, fsys, "f", "first")
		check(t, fsys.MkdirAll("d"))
		for _, name := range []string{"f", "d"} {
			_, err := fsys.Create(name)
			wantErr(t, err, fs.ErrExist, name)
		}
		if got := get(t, fsys, "f"); got != "first" {
			t.Errorf("file holds %q", got)
		}
	})
}

func TestWhatIsNotThere(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, twin func() FS) {
		put(t, fsys, "f", "x")
		f := func(name string, target error) {
			t.Helper()
			_, err := fsys.Open(name)
			wantErr(t, err, target, name)
			_, err = fsys.Stat(name)
			wantErr(t, err, target, name)
			_, err = fsys.List(name)
			wantErr(t, err, target, name)
			_, err = fsys.Free(name)
			wantErr(t, err, target, name)
			wantErr(t, fsys.SyncDir(name), target, name)
			wantErr(t, fsys.Remove(name), target, name)
			wantErr(t, fsys.Rename(name, "to"), target, name)
			wantErr(t, fsys.Link(name, twin(), "to"), target, name)
		}
		f("none", fs.ErrNotExist)
		f("none/g", fs.ErrNotExist)
		f("f/g", syscall.ENOTDIR)
		for name, target := range map[string]error{"none/g": fs.ErrNotExist, "f/g": syscall.ENOTDIR} {
			_, err := fsys.Create(name)
			wantErr(t, err, target, name)
			_, err = fsys.Lock(name)
			wantErr(t, err, target, name)
			wantErr(t, fsys.Rename("f", name), target, name)
		}
		wantErr(t, fsys.MkdirAll("f/g"), syscall.ENOTDIR, "f")
		wantErr(t, fsys.MkdirAll("f"), syscall.ENOTDIR, "f")
		_, err := fsys.List("f")
		wantErr(t, err, syscall.ENOTDIR, "f")
		check(t, fsys.MkdirAll("d"))
		_, err = fsys.Open("d")
		wantErr(t, err, syscall.EISDIR, "d")
		wantList(t, fsys, ".", "d f")
	})
}

func TestNames(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, twin func() FS) {
		put(t, fsys, "good", "x")
		other := twin()
		f := func(name string, target error) {
			t.Helper()
			show := strings.TrimSuffix(strings.TrimPrefix(name, "."), "\x00")
			_, err := fsys.Create(name)
			wantErr(t, err, target, show)
			_, err = fsys.Open(name)
			wantErr(t, err, target, show)
			_, err = fsys.Lock(name)
			wantErr(t, err, target, show)
			wantErr(t, fsys.Remove(name), target, show)
			wantErr(t, fsys.Rename(name, "x"), target, show)
			wantErr(t, fsys.Rename("good", name), target, show)
			wantErr(t, fsys.Link("good", other, name), target, show)
			wantErr(t, fsys.Link(name, other, "x"), target, show)
			if name == "." {
				return
			}
			_, err = fsys.Stat(name)
			wantErr(t, err, target, show)
			_, err = fsys.List(name)
			wantErr(t, err, target, show)
			wantErr(t, fsys.MkdirAll(name), target, show)
			wantErr(t, fsys.SyncDir(name), target, show)
		}
		for _, name := range []string{".", "", "..", "../x", "a/../../x", "/x", "/", "x/", "a//b", "./x", "a/.", "x\x00"} {
			f(name, fs.ErrInvalid)
		}
		f(strings.Repeat("n", 256), syscall.ENAMETOOLONG)
		wantList(t, fsys, ".", "good")
		wantList(t, other, ".", "")

		longest := strings.Repeat("n", 255)
		put(t, fsys, longest, "x")
		for _, name := range []string{"..x", "x..", "a b", "ü", "-", "\\", "*"} {
			put(t, fsys, name, name)
			if got := get(t, fsys, name); got != name {
				t.Errorf("%q holds %q", name, got)
			}
		}
		check(t, fsys.MkdirAll("."))
		check(t, fsys.SyncDir("."))
	})
}

func TestRename(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		check(t, fsys.MkdirAll("d/e"))
		check(t, fsys.MkdirAll("empty"))
		put(t, fsys, "a", "a")
		put(t, fsys, "d/b", "b")
		check(t, fsys.Rename("a", "d/c"))
		wantList(t, fsys, "d", "b c e")

		old, err := fsys.Open("d/b")
		check(t, err)
		check(t, fsys.Rename("d/c", "d/b"))
		if got := get(t, fsys, "d/b"); got != "a" {
			t.Errorf("renamed over, it holds %q", got)
		}
		if got, err := ReadAll(old, 10); err != nil || string(got) != "b" {
			t.Errorf("the file open before holds %q, %v", got, err)
		}
		check(t, old.Close())
		check(t, fsys.Rename("d/b", "d/b"))
		if got := get(t, fsys, "d/b"); got != "a" {
			t.Errorf("renamed to itself, it holds %q", got)
		}

		wantErr(t, fsys.Rename("d", "d/e/f"), syscall.EINVAL, "d/e/f")
		wantErr(t, fsys.Rename("empty", "d"), fs.ErrExist, "empty") // ENOTEMPTY is ErrExist to errors.Is
		wantErr(t, fsys.Rename("d/b", "empty"), fs.ErrExist, "empty")
		wantErr(t, fsys.Rename("empty", "d/b"), syscall.ENOTDIR, "d/b")
		check(t, fsys.Rename("d", "moved"))
		wantList(t, fsys, ".", "empty moved")
		wantList(t, fsys, "moved", "b e")
	})
}

func TestRemove(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		check(t, fsys.MkdirAll("d"))
		put(t, fsys, "d/f", "text")
		wantErr(t, fsys.Remove("d"), syscall.ENOTEMPTY, "d")
		open, err := fsys.Open("d/f")
		check(t, err)
		check(t, fsys.Remove("d/f"))
		if got, err := ReadAll(open, 10); err != nil || string(got) != "text" {
			t.Errorf("the open file holds %q, %v", got, err)
		}
		check(t, open.Close())
		wantList(t, fsys, "d", "")
		check(t, fsys.Remove("d"))
		wantErr(t, fsys.Remove("d"), fs.ErrNotExist, "d")
		wantList(t, fsys, ".", "")
	})
}

func TestStatAndModes(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		check(t, fsys.MkdirAll("d/e"))
		check(t, fsys.MkdirAll("d/e"))
		put(t, fsys, "d/f", "12345")
		f := func(name string, want Info) {
			t.Helper()
			got, err := fsys.Stat(name)
			check(t, err)
			if got != want {
				t.Errorf("%s: %+v, want %+v", name, got, want)
			}
		}
		f("d/f", Info{Bytes: 5, Mode: 0o600})
		f("d", Info{Dir: true, Mode: 0o700})
		f("d/e", Info{Dir: true, Mode: 0o700})
		f(".", Info{Dir: true, Mode: 0o700})
	})
}

func TestFree(t *testing.T) {
	each(t, func(t *testing.T, fsys FS, _ func() FS) {
		free, err := fsys.Free(".")
		check(t, err)
		if free == 0 {
			t.Error("nothing free")
		}
	})
	m := Mem()
	m.SetFree(7)
	if free, err := m.Free("."); free != 7 || err != nil {
		t.Errorf("%d free, %v; want 7", free, err)
	}
}
