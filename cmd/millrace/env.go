package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"

	"golang.org/x/term"

	"millrace/internal/clock"
	"millrace/internal/vfs"
)

// env is what a command may touch. There is one for each run.
type env struct {
	in    io.Reader
	out   *bufio.Writer // standard output; its errors are of type stdoutError
	err   io.Writer
	clock clock.Clock
	files files
	// bar says that standard error is a terminal, where progress may be drawn; direct, that standard output is one, so
	// that a command which prints as it goes draws none.
	bar, direct bool
	columns     func() int               // of that terminal
	drawing     atomic.Pointer[progress] // what stands on the terminal, if anything
}

// files leads from arguments to files. Tests put faults behind it.
type files interface {
	// open opens an existing file for reading.
	open(path string) (vfs.File, error)
	// split opens the directory of an output and returns the name in it; see vfs.SplitPath.
	split(path string) (vfs.FS, string, error)
	// stat says what a path leads to.
	stat(path string) (vfs.Info, error)
}

func newEnv(stdin io.Reader, stdout, stderr io.Writer) *env {
	const outBytes = 64 << 10
	e := &env{in: stdin, err: stderr, clock: clock.Real{}, files: diskFiles{}, bar: isTerminal(stderr), direct: isTerminal(stdout)}
	e.columns = func() int { return columnsOf(stderr) }
	e.out = bufio.NewWriterSize(stdoutWriter{e, stdout}, outBytes)
	return e
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columnsOf is the width of a terminal, the usual one when it does not tell.
func columnsOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

type diskFiles struct{}

func (diskFiles) open(path string) (vfs.File, error)        { return vfs.OpenPath(path) }
func (diskFiles) split(path string) (vfs.FS, string, error) { return vfs.SplitPath(path) }
func (diskFiles) stat(path string) (vfs.Info, error)        { return vfs.StatPath(path) }

// open opens an input. Its name, in whatever message, is fit to print.
func (e *env) open(path string) (vfs.File, error) {
	if path == "-" {
		return nil, usagef("an RFile is not read from standard input: it is read at many places, from the end on; save it to a file first")
	}
	f, err := e.files.open(path)
	if err != nil {
		return nil, printablePath(err)
	}
	return namedFile{f, printable(path)}, nil
}

// openLines opens an input that is read from its front to its end, and could as well come through standard input.
func (e *env) openLines(path string) (vfs.File, error) {
	f, err := e.open(path)
	if errors.Is(err, fs.ErrInvalid) {
		err = fmt.Errorf("%w; what comes through a pipe is read from standard input, which is -", err)
	}
	return f, err
}

// printablePath makes the path in an error of vfs fit to print.
func printablePath(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return &fs.PathError{Op: p.Op, Path: printable(p.Path), Err: p.Err}
	}
	return err
}

// namedFile is a file with another name in messages.
type namedFile struct {
	vfs.File
	name string
}

func (f namedFile) Name() string { return f.name }

// stdoutWriter marks the errors of standard output, so that a pipe closed there is told from one closed elsewhere.
type stdoutWriter struct {
	e *env
	w io.Writer
}

func (w stdoutWriter) Write(p []byte) (int, error) {
	if drawn := w.e.drawing.Load(); drawn != nil && w.e.direct {
		drawn.clear()
	}
	n, err := w.w.Write(p)
	if err != nil {
		return n, &stdoutError{err}
	}
	return n, nil
}

type stdoutError struct{ err error }

func (e *stdoutError) Error() string {
	if p, ok := e.err.(*os.PathError); ok { // the path would be /dev/stdout
		return fmt.Sprintf("write standard output: %v", p.Err)
	}
	return fmt.Sprintf("write standard output: %v", e.err)
}

func (e *stdoutError) Unwrap() error { return e.err }
