package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"millrace/internal/vfs"
)

// goldenDir holds the RFiles that were made for this project, with what is in them.
const goldenDir = "../../tablet/rfile/testdata/golden"

// shell runs the program as a shell would, in a directory of its own.
type shell struct {
	t     *testing.T
	stdin io.Reader
	files files // nil: the machine's
	ctx   context.Context
	bar   bool
}

// result is what a run left behind.
type result struct {
	code        int
	out, stderr string
}

// newShell makes an empty directory the current one; files of the golden directory are copied into it.
func newShell(t *testing.T, golden ...string) *shell {
	t.Helper()
	from, err := filepath.Abs(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, name := range golden {
		content, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, content)
	}
	return &shell{t: t}
}

func (s *shell) run(args ...string) result {
	s.t.Helper()
	var out, stderr bytes.Buffer
	code := s.runTo(&out, &stderr, args...)
	return result{code, out.String(), stderr.String()}
}

func (s *shell) runTo(stdout, stderr io.Writer, args ...string) int {
	stdin := s.stdin
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	e := newEnv(stdin, stdout, stderr)
	if s.files != nil {
		e.files = s.files
	}
	e.bar = s.bar
	ctx := s.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	return e.run(ctx, args)
}

// ok runs a command that must succeed and returns what it printed.
func (s *shell) ok(args ...string) string {
	s.t.Helper()
	r := s.run(args...)
	if r.code != 0 || r.stderr != "" {
		s.t.Fatalf("millrace %s: exit %d, %s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.out
}

// fails runs a command that must end with a code and say one line that contains a text.
func (s *shell) fails(code int, text string, args ...string) result {
	s.t.Helper()
	r := s.run(args...)
	if r.code != code {
		s.t.Errorf("millrace %s: exit %d, want %d: %s%s", strings.Join(args, " "), r.code, code, r.out, r.stderr)
	}
	if strings.Count(r.stderr, "\n") != 1 || !strings.HasSuffix(r.stderr, "\n") {
		s.t.Errorf("millrace %s: want one line on standard error, got %q", strings.Join(args, " "), r.stderr)
	}
	if !strings.Contains(r.stderr, text) {
		s.t.Errorf("millrace %s: %q does not say %q", strings.Join(args, " "), r.stderr, text)
	}
	return r
}

// names are the files in the current directory, hidden ones included.
func (s *shell) names() []string {
	s.t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		s.t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func writeFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// goldenFiles are the names of all RFiles in the golden directory.
func goldenFiles(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(goldenDir + "/*.rf")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

// wrappedFiles put a file system of the test's before directories, and a file before inputs.
type wrappedFiles struct {
	fs   func(vfs.FS) vfs.FS
	file func(vfs.File) vfs.File
}

func (w wrappedFiles) open(path string) (vfs.File, error) {
	f, err := vfs.OpenPath(path)
	if err != nil || w.file == nil {
		return f, err
	}
	return w.file(f), nil
}

func (w wrappedFiles) split(path string) (vfs.FS, string, error) {
	dir, name, err := vfs.SplitPath(path)
	if err != nil || w.fs == nil {
		return dir, name, err
	}
	return w.fs(dir), name, nil
}

func (w wrappedFiles) stat(path string) (vfs.Info, error) { return vfs.StatPath(path) }

func removeFile(name string) error { return os.Remove(name) }

// scriptsDir holds the kv-ops scripts; tests change the directory, so it is found before.
var scriptsDir = func() string {
	dir, err := filepath.Abs("../../sim/script/testdata/cases")
	if err != nil {
		panic(err)
	}
	return dir
}()

// copyScripts puts the kv-ops scripts into the directory cases, if they are for the command.
func copyScripts(t *testing.T, command string) {
	t.Helper()
	if command != "script" {
		return
	}
	if err := os.CopyFS("cases", os.DirFS(scriptsDir)); err != nil {
		t.Fatal(err)
	}
}
