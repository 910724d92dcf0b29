package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMain plays the other process when it is told to.
func TestMain(m *testing.M) {
	if dir := os.Getenv("VFS_TEST_LOCK"); dir != "" {
		holdLock(dir)
	}
	os.Exit(m.Run())
}

// holdLock takes the lock, says so, and holds it until it is killed.
func holdLock(dir string) {
	fsys, err := Dir(dir)
	var lock io.Closer
	if err == nil {
		lock, err = fsys.Lock("LOCK")
	}
	fmt.Println("locked:", err)
	io.Copy(io.Discard, os.Stdin) // until the parent goes; it does not return while the parent holds the pipe
	runtime.KeepAlive(lock)
	os.Exit(1)
}

func TestLockOfAnotherProcess(t *testing.T) {
	dir := t.TempDir()
	fsys := must(Dir(dir))
	defer Close(fsys)
	for range 3 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "VFS_TEST_LOCK="+dir)
		out, err := child.StdoutPipe()
		check(t, err)
		_, err = child.StdinPipe()
		check(t, err)
		check(t, child.Start())
		buf := make([]byte, 100)
		n, err := out.Read(buf)
		check(t, err)
		if got := string(buf[:n]); got != "locked: <nil>\n" {
			t.Fatalf("the other process says %q", got)
		}
		_, err = fsys.Lock("LOCK")
		wantErr(t, err, ErrLocked, dir+"/LOCK: locked by process "+strconv.Itoa(child.Process.Pid))
		check(t, child.Process.Kill())
		child.Wait()
		lock, err := fsys.Lock("LOCK")
		check(t, err)
		check(t, lock.Close())
	}
}

func TestModesUnderAnyUmask(t *testing.T) {
	for _, umask := range []int{0, 0o077, 0o177, 0o777} {
		t.Run(fmt.Sprintf("%03o", umask), func(t *testing.T) {
			parent := t.TempDir()
			before := unix.Umask(umask)
			defer unix.Umask(before)
			made, err := MakeDir(parent + "/new/deep")
			check(t, err)
			defer Close(made)
			check(t, made.MkdirAll("d/e"))
			put(t, made, "d/e/f", "x")
			lock, err := made.Lock("LOCK")
			check(t, err)
			check(t, lock.Close())
			temp, fsys, cleanup, err := TempDir("vfs-test")
			check(t, err)
			put(t, fsys, "f", "x")
			for path, want := range map[string]fs.FileMode{
				parent + "/new": 0o700, parent + "/new/deep": 0o700, parent + "/new/deep/d": 0o700,
				parent + "/new/deep/d/e": 0o700, parent + "/new/deep/d/e/f": 0o600, parent + "/new/deep/LOCK": 0o600,
				temp: 0o700, temp + "/f": 0o600,
			} {
				if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v, %v; want %v", path, info.Mode(), err, want)
				}
			}
			check(t, cleanup())
			if _, err := os.Stat(temp); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("temporary directory is still there: %v", err)
			}
		})
	}
}

// TestLinksAreNotFollowed puts links to files and directories, outside and inside, where names of the tree are looked
// for.
func TestLinksAreNotFollowed(t *testing.T) {
	outside, inside := t.TempDir(), t.TempDir()
	check(t, os.WriteFile(outside+"/secret", []byte("secret"), 0o600))
	fsys := must(Dir(inside))
	defer Close(fsys)
	other := must(Dir(t.TempDir()))
	defer Close(other)
	check(t, fsys.MkdirAll("real"))
	put(t, fsys, "real/secret", "mine")
	for link, target := range map[string]string{
		"file-out": outside + "/secret", "file-rel": "../" + filepath.Base(outside) + "/secret", "file-in": "real/secret",
		"dir-out": outside, "dir-in": "real", "dangling": "real/new", "loop": "loop",
	} {
		check(t, os.Symlink(target, filepath.Join(inside, link)))
	}
	check(t, syscall.Mkfifo(inside+"/pipe", 0o600))

	refuse := func(name, what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s of %s went through", what, name)
		} else if !strings.Contains(err.Error(), inside) {
			t.Errorf("%s: error %q does not say where", what, err)
		}
	}
	for _, name := range []string{"file-out", "file-rel", "file-in", "dir-out", "dir-in", "dangling", "loop", "pipe",
		"dir-out/secret", "dir-in/secret"} {
		_, err := fsys.Open(name)
		refuse(name, "open", err)
		_, err = fsys.Create(name)
		refuse(name, "create", err)
		_, err = fsys.Lock(name)
		refuse(name, "lock", err)
		_, err = fsys.Stat(name)
		refuse(name, "stat", err)
		_, err = fsys.List(name)
		refuse(name, "list", err)
		refuse(name, "mkdir", fsys.MkdirAll(name))
		refuse(name, "syncdir", fsys.SyncDir(name))
		refuse(name, "link", fsys.Link(name, other, "x"))
		if strings.Contains(name, "/") {
			refuse(name, "remove", fsys.Remove(name))
			refuse(name, "rename from", fsys.Rename(name, "x"))
			refuse(name, "rename to", fsys.Rename("real/secret", name))
		}
	}
	// Renaming over a link, and removing it, means the link alone.
	put(t, fsys, "new", "new")
	check(t, fsys.Rename("new", "file-out"))
	check(t, fsys.Remove("file-in"))
	check(t, fsys.Remove("dir-out"))
	if got, err := os.ReadFile(outside + "/secret"); err != nil || string(got) != "secret" {
		t.Errorf("outside: %q, %v", got, err)
	}
	if got := get(t, fsys, "real/secret"); got != "mine" {
		t.Errorf("inside: %q", got)
	}
	wantList(t, other, ".", "")
}

// TestExchangedForALink puts something else in a file's place just after the name was looked at: links and pipes are
// refused, another file is read as what it is, and nothing hangs.
func TestExchangedForALink(t *testing.T) {
	inside := t.TempDir()
	fsys := must(Dir(inside)).(*dirFS)
	defer Close(fsys)
	other := must(Dir(t.TempDir()))
	defer Close(other)
	put(t, fsys, "foreign", "foreign")
	f := func(times int, exchange func() error, want string) {
		t.Helper()
		put(t, fsys, "f", "mine")
		left := times
		fsys.gap = func() {
			if left > 0 {
				left--
				check(t, exchange())
			}
		}
		file, err := fsys.Open("f")
		if err == nil {
			var content []byte
			content, err = ReadAll(file, 100)
			check(t, file.Close())
			if string(content) != want {
				t.Errorf("read %q, want %q", content, want)
			}
		}
		if (err != nil) != (want == "") {
			t.Errorf("got %v, want %q", err, want)
		}
		check(t, os.Remove(inside+"/f"))

		put(t, fsys, "f", "mine")
		left = 1
		wantErr(t, fsys.Link("f", other, "linked"), fs.ErrInvalid, "exchanged")
		wantList(t, other, ".", "")
		fsys.gap = nil
		check(t, os.Remove(inside+"/f"))
	}
	link := func(path string) error { return os.Symlink("foreign", path) }
	pipe := func(path string) error { return syscall.Mkfifo(path, 0o600) }
	file := func(path string) error { return os.WriteFile(path, []byte("new"), 0o600) }
	// over makes the new thing while the old one is there; reuse may get the old one's inode number.
	over := func(make func(string) error) func() error {
		return func() error { return errors.Join(make(inside+"/new"), os.Rename(inside+"/new", inside+"/f")) }
	}
	reuse := func(make func(string) error) func() error {
		return func() error { return errors.Join(os.Remove(inside+"/f"), make(inside+"/f")) }
	}
	f(1, over(link), "")
	f(1, reuse(link), "")
	f(1, over(pipe), "")
	f(1, reuse(pipe), "")
	f(1, over(file), "new")
	f(maxTries-1, over(file), "new")
	f(maxTries, over(file), "")
}

func TestPathsInMessages(t *testing.T) {
	t.Chdir(t.TempDir())
	check(t, os.MkdirAll("d/e", 0o700))
	f := func(dir, name, want string) {
		t.Helper()
		fsys, err := Dir(dir)
		check(t, err)
		defer Close(fsys)
		_, err = fsys.Open(name)
		if err == nil || err.Error() != "open "+want+": no such file or directory" {
			t.Errorf("Dir(%q).Open(%q): %v", dir, name, err)
		}
		put(t, fsys, name, "x")
		file, err := fsys.Open(name)
		check(t, err)
		if file.Name() != want {
			t.Errorf("Dir(%q).Open(%q).Name() is %q, want %q", dir, name, file.Name(), want)
		}
		check(t, file.Close())
	}
	f(".", "a", "a")
	f("./", "b", "./b")
	f("d", "a", "d/a")
	f("d/", "b", "d/b")
	f("d//e", "b", "d//e/b")
	f("./d", "e/f", "./d/e/f")
	_, err := Dir("none")
	wantErr(t, err, fs.ErrNotExist, "open none")
	fsys := must(Dir("d"))
	defer Close(fsys)
	wantErr(t, fsys.Rename("x", "e/y"), fs.ErrNotExist, "rename d/x d/e/y")
}

func TestSplitPath(t *testing.T) {
	t.Chdir(t.TempDir())
	check(t, os.MkdirAll("d/e", 0o700))
	f := func(path, want string, wantError error) {
		t.Helper()
		dir, name, err := SplitPath(path)
		if wantError != nil {
			wantErr(t, err, wantError, path)
			return
		}
		check(t, err)
		defer Close(dir)
		out, err := dir.Create(name)
		check(t, err)
		if out.Name() != path || name != want {
			t.Errorf("%s: name %q, messages say %q", path, name, out.Name())
		}
		check(t, out.Close())
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	f("out", "out", nil)
	f("./out2", "out2", nil)
	f("d/out", "out", nil)
	f("d/e/../out3", "out3", nil)
	f(t.TempDir()+"/out", "out", nil)
	f("d/", "", syscall.EISDIR)
	f(".", "", syscall.EISDIR)
	f("d/..", "", syscall.EISDIR)
	f("", "", syscall.EISDIR)
	f("none/out", "", fs.ErrNotExist)
}

func TestOpenPath(t *testing.T) {
	dir := t.TempDir()
	check(t, os.WriteFile(dir+"/f", []byte("text"), 0o400))
	check(t, os.Symlink("f", dir+"/link"))
	check(t, syscall.Mkfifo(dir+"/pipe", 0o600))
	for _, name := range []string{"/f", "/link"} {
		content, err := ReadPath(dir+name, 4)
		if err != nil || string(content) != "text" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
		f, err := OpenPath(dir + name)
		check(t, err)
		if f.Name() != dir+name {
			t.Errorf("name %q", f.Name())
		}
		check(t, f.Close())
		if info, err := StatPath(dir + name); err != nil || info.Bytes != 4 || info.Dir {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
	_, err := ReadPath(dir+"/f", 3)
	wantErr(t, err, syscall.EFBIG, dir+"/f")
	for path, target := range map[string]error{dir: syscall.EISDIR, dir + "/none": fs.ErrNotExist, dir + "/pipe": fs.ErrInvalid} {
		_, err := OpenPath(path)
		wantErr(t, err, target, path)
	}
	if info, err := StatPath(dir); err != nil || !info.Dir {
		t.Errorf("%+v, %v", info, err)
	}
	_, err = StatPath(dir + "/none")
	wantErr(t, err, fs.ErrNotExist, dir+"/none")
}

func TestMakeDir(t *testing.T) {
	t.Chdir(t.TempDir())
	for range 2 {
		for _, path := range []string{"a/b/c", "./x/", "a/../y"} {
			fsys, err := MakeDir(path)
			check(t, err)
			check(t, Close(fsys))
		}
	}
	check(t, os.WriteFile("f", nil, 0o600))
	for _, path := range []string{"f", "f/g"} {
		if _, err := MakeDir(path); err == nil {
			t.Errorf("made a directory of %s", path)
		}
	}
	if names, _ := filepath.Glob("*"); strings.Join(names, " ") != "a f x y" {
		t.Errorf("there is %q", names)
	}
}

// TestDiskFull writes to a device that is always full, where there is one.
func TestDiskFull(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	f := &dirFile{f: full, path: "d/full", writing: true}
	_, err = f.Write(bytes.Repeat([]byte("x"), 100))
	wantErr(t, err, syscall.ENOSPC, "write d/full")
	check(t, f.Close())
}

// TestClosedDir says that a closed tree does not leak its handle and answers with an error.
func TestClosedDir(t *testing.T) {
	fsys := must(Dir(t.TempDir()))
	check(t, Close(fsys))
	_, err := fsys.Create("f")
	wantErr(t, err, fs.ErrClosed, "f")
}
