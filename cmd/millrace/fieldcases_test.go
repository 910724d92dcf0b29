package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/vfs"
)

// modesFS notes the modes of files while they are written under temporary names, before anyone could change them.
type modesFS struct {
	vfs.FS
	seen map[string]fs.FileMode
}

func (f modesFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err == nil {
		info, statErr := f.FS.Stat(name)
		if statErr != nil {
			return nil, statErr
		}
		f.seen[name] = info.Mode
	}
	return file, err
}

func (f modesFS) LinkFrom(source vfs.FS, from, name string) error {
	return source.Link(from, f.FS, name)
}

func (f modesFS) Link(from string, to vfs.FS, name string) error {
	if target, ok := to.(vfs.LinkTarget); ok {
		return target.LinkFrom(f.FS, from, name)
	}
	return f.FS.Link(from, to, name)
}

func (f modesFS) Close() error { return vfs.Close(f.FS) }

// TestOutputsArePrivate runs every command that writes files under umasks that allow all and nothing: files, those that
// last and those that do not, are for their owner alone, and so are directories.
func TestOutputsArePrivate(t *testing.T) {
	for _, umask := range []int{0, 0o777} {
		for _, command := range append(slices.Clone(outputCommands), manyOutputs...) {
			t.Run(fmt.Sprintf("%03o %s", umask, strings.Join(command[1:], " ")), func(t *testing.T) {
				s := newOutputShell(t)
				for _, name := range []string{"v8_multilevel.rf", "in.rf"} {
					if err := os.Chmod(name, 0o644); err != nil { // an input's mode is not taken over
						t.Fatal(err)
					}
				}
				writeFile(t, "v8_none.rf", readFile(t, "v8_multilevel.rf"))
				if err := os.Mkdir("empty", 0o700); err != nil {
					t.Fatal(err)
				}
				before := tree(t)
				seen := map[string]fs.FileMode{}
				s.files = wrappedFiles{fs: func(fs vfs.FS) vfs.FS { return modesFS{fs, seen} }}
				old := syscall.Umask(umask)
				r := s.run(command...)
				syscall.Umask(old)
				if r.code != 0 {
					t.Fatalf("exit %d, %s", r.code, r.stderr)
				}
				made := 0
				for _, name := range tree(t) {
					if slices.Contains(before, name) {
						continue
					}
					made++
					info, err := os.Lstat(name)
					if err != nil {
						t.Fatal(err)
					}
					want := fs.FileMode(0o600)
					if info.IsDir() {
						want = 0o700
					}
					if info.Mode().Perm() != want {
						t.Errorf("%s: mode %v, want %v", name, info.Mode().Perm(), want)
					}
				}
				for name, mode := range seen {
					if mode != 0o600 {
						t.Errorf("%s was written with mode %v", name, mode)
					}
				}
				if made == 0 || len(seen) == 0 {
					t.Errorf("%d names made, %d files seen being written", made, len(seen))
				}
			})
		}
	}
}

// TestDamageIsLocal damages one block of a file of many: what lies outside is read as before, what lies inside gives an
// error that names file and offset, and other files of the same call are verified all the same.
func TestDamageIsLocal(t *testing.T) {
	s := newShell(t, "v8_none.rf")
	s.ok("rfile", "convert", "--codec", "lz4", "--block-size", "500", "good.rf", "v8_none.rf")
	writeFile(t, "bad.rf", readFile(t, "good.rf"))
	content := readFile(t, "bad.rf")
	at := len(content) / 3
	content[at] ^= 0x40
	writeFile(t, "bad.rf", content)
	r := s.fails(3, "bad.rf: corrupt at offset ", "rfile", "cat", "bad.rf")
	whole := strings.SplitAfter(s.ok("rfile", "cat", "good.rf"), "\n")
	if !strings.HasPrefix(strings.Join(whole, ""), r.out) {
		t.Error("what came before the damage is not what is there")
	}
	row := func(line string) string { return strings.SplitN(line, " ", 2)[0] }
	first, last := row(whole[0]), row(whole[len(whole)-2])
	for _, rows := range [][]string{{"-b", first, "-e", first}, {"-b", last, "-e", last}} {
		want := s.ok(append([]string{"rfile", "cat", "good.rf"}, rows...)...)
		if got := s.ok(append([]string{"rfile", "cat", "bad.rf"}, rows...)...); got != want || got == "" {
			t.Errorf("rows %q: got %q, want %q", rows, got, want)
		}
	}
	r = s.run("rfile", "verify", "good.rf", "bad.rf", "v8_none.rf")
	for _, want := range []string{"good.rf: ok", "bad.rf: DAMAGED at offset ", "v8_none.rf: ok"} {
		if r.code != 3 || !strings.Contains(r.out, want) {
			t.Errorf("verify: exit %d, %q does not say %q", r.code, r.out, want)
		}
	}
	writeFile(t, "cut.rf", content[:at])
	r = s.run("rfile", "verify", "cut.rf", "good.rf")
	if r.code != 3 || !strings.Contains(r.out, "cut.rf: DAMAGED at offset ") || !strings.Contains(r.out, "good.rf: ok") {
		t.Errorf("verify with a cut file: exit %d, %q", r.code, r.out)
	}
}
