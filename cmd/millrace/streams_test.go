package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace/internal/clock"
)

// closedPipe is a standard output whose reader went away after so many bytes.
type closedPipe struct {
	left   int
	writes int // after that
	err    error
}

func (p *closedPipe) Write(b []byte) (int, error) {
	if len(b) <= p.left {
		p.left -= len(b)
		return len(b), nil
	}
	n := p.left
	p.left = 0
	p.writes++
	return n, p.err
}

// TestReaderGone closes the pipe behind commands: they stop at once, say nothing, and do not fail; unless they have
// found damage before.
func TestReaderGone(t *testing.T) {
	s := newShell(t, "v8_multilevel.rf", "v8_edge.rf", "v8_none.rf")
	writeFile(t, "bad.rf", []byte("not an RFile"))
	f := func(code, left int, args ...string) {
		t.Helper()
		pipe := &closedPipe{left: left, err: &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}
		var stderr bytes.Buffer
		if got := s.runTo(pipe, &stderr, args...); got != code {
			t.Errorf("%q: exit %d, want %d", args, got, code)
		}
		if code == 0 && stderr.Len() > 0 || strings.Contains(stderr.String(), "pipe") {
			t.Errorf("%q: %s", args, stderr.String())
		}
		if pipe.writes == 0 {
			t.Errorf("%q: the pipe was never full", args)
		}
		if pipe.writes > 1 {
			t.Errorf("%q: went on writing %d times", args, pipe.writes)
		}
	}
	f(0, 0, "rfile", "cat", "v8_multilevel.rf")
	f(0, 100000, "rfile", "cat", "--format", "ndjson", "v8_multilevel.rf")
	f(0, 10, "rfile", "info", "v8_multilevel.rf")
	f(0, 0, "rfile", "diff", "v8_edge.rf", "v8_edge.rf")
	f(0, 0, "rfile", "splits", "-n", "3", "v8_multilevel.rf")
	f(0, 0, "rfile", "extents", "v8_multilevel.rf")
	f(0, 0, "rfile", "split", "--at", "r", "out", "v8_edge.rf")
	f(0, 0, "rfile", "verify", "--deep", "v8_edge.rf", "v8_multilevel.rf")
	f(0, 0, "--help")
	f(0, 0, "version")
	f(0, 0, "rfile", "convert", "out.rf", "v8_edge.rf")
	f(3, 0, "rfile", "verify", "bad.rf", "v8_edge.rf")
	if s.ok("rfile", "verify", "out.rf") == "" {
		t.Error("the output is missing")
	}
}

// TestDash gives - where an RFile cannot come from or go to.
func TestDash(t *testing.T) {
	s := newShell(t, "v8_edge.rf")
	for _, command := range []string{"cat -", "info -", "verify -", "diff - v8_edge.rf", "convert out.rf -", "compact out.rf v8_edge.rf -", "sums -",
		"splits -n 1 -", "extents -", "split --at a out -", "convert --groups-like - out.rf v8_edge.rf"} {
		s.fails(2, "an RFile is not read from standard input", append([]string{"rfile"}, strings.Fields(command)...)...)
	}
	for _, command := range []string{"create -", "convert - v8_edge.rf", "compact --force - v8_edge.rf"} {
		s.fails(2, "an RFile is not written to standard output", append([]string{"rfile"}, strings.Fields(command)...)...)
	}
	s.fails(2, "RFiles are not written to standard output", "rfile", "split", "--at", "a", "-", "v8_edge.rf")
	s.ok("rfile", "convert", "./-", "v8_edge.rf")
	s.ok("rfile", "verify", "./-")
	if got := s.names(); len(got) != 2 {
		t.Errorf("there is %q", got)
	}
}

// TestFullOutput does the same with a disk that is full, which is a failure.
func TestFullOutput(t *testing.T) {
	s := newShell(t, "v8_edge.rf")
	for _, args := range [][]string{{"rfile", "cat", "v8_edge.rf"}, {"rfile", "info", "v8_edge.rf"}, {"rfile", "verify", "v8_edge.rf"}, {"help"}} {
		var stderr bytes.Buffer
		code := s.runTo(&closedPipe{err: &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}}, &stderr, args...)
		if code != 1 || !strings.HasSuffix(stderr.String(), "write standard output: no space left on device\n") || strings.Count(stderr.String(), "\n") != 1 {
			t.Errorf("%q: exit %d, %s", args, code, stderr.String())
		}
	}
}

// TestInterruptWaiting interrupts a command that waits for input.
func TestInterruptWaiting(t *testing.T) {
	s := newShell(t)
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	s.stdin, s.ctx = r, ctx
	go func() {
		io.WriteString(w, `{"row":"61","ts":"1"}`+"\n")
		cancel()
	}()
	s.fails(130, "interrupted", "rfile", "create", "out.rf")
	if names := s.names(); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
}

// TestPump reads through a pump as from the reader itself.
func TestPump(t *testing.T) {
	text := strings.Repeat("0123456789", 100000)
	got, err := io.ReadAll(newPump(context.Background(), strings.NewReader(text)))
	if err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	failing := io.MultiReader(strings.NewReader("abc"), &failingReader{})
	got, err = io.ReadAll(newPump(context.Background(), failing))
	if err != syscall.EIO || string(got) != "abc" {
		t.Errorf("%q, %v", got, err)
	}
}

type failingReader struct{}

func (*failingReader) Read([]byte) (int, error) { return 0, syscall.EIO }

// TestProgress draws on a terminal, and takes away what it drew.
func TestProgress(t *testing.T) {
	manual := clock.NewManual(time.Unix(0, 0))
	var stderr bytes.Buffer
	e := newEnv(strings.NewReader(""), &bytes.Buffer{}, &stderr)
	e.clock, e.bar = manual, true
	p := e.progress("read\x1b x", unitBytes, 4<<20)
	p.set(1 << 20)
	if stderr.Len() > 0 {
		t.Errorf("drawn at once: %q", stderr.String())
	}
	manual.Advance(500 * time.Millisecond)
	want := "\r" + `read\x1b x  [=====               ]  25%  1.0 MiB of 4.0 MiB, 2.0 MiB/s, 2s left` + "\x1b[K"
	if got := stderr.String(); !strings.HasSuffix(got, want) {
		t.Errorf("drawn %q, want %q", got, want)
	}
	p.end()
	if !strings.HasSuffix(stderr.String(), "\r\x1b[K") {
		t.Errorf("not taken away: %q", stderr.String())
	}
	stderr.Reset()
	manual.Advance(time.Second)
	if stderr.Len() > 0 {
		t.Errorf("drawn after the end: %q", stderr.String())
	}
	p = e.progress("count", "entries", 0)
	p.add(3000)
	manual.Advance(time.Second)
	if got := stderr.String(); !strings.HasSuffix(got, "\rcount  3,000 entries, 3,000/s\x1b[K") {
		t.Errorf("drawn %q", got)
	}
	p.end()
	e.bar = false
	stderr.Reset()
	p = e.progress("nothing", "entries", 10)
	manual.Advance(time.Second)
	p.end()
	if stderr.Len() > 0 {
		t.Errorf("drawn on what is no terminal: %q", stderr.String())
	}
}

// TestProgressFits keeps the line within the terminal, however narrow: a line that wraps cannot be taken away.
func TestProgressFits(t *testing.T) {
	e := newEnv(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	for _, total := range []int64{0, 1 << 40} {
		for _, label := range []string{"", "verify a.rf", strings.Repeat("long", 50)} {
			p := e.progress(label, "entries", total)
			p.set(1 << 39)
			for width := range 200 {
				if line := p.line(time.Hour, width); len(line) > width {
					t.Fatalf("%d columns for %d: %q", len(line), width, line)
				}
			}
			p.end()
		}
	}
	p := e.progress("verify a.rf", "entries", 1000)
	p.set(500)
	for width, want := range map[int]string{
		100: "verify a.rf  [============            ]  50%  500 of 1,000 entries, 100/s, 5s left",
		70:  "verify a.rf  [======      ]  50%  500 of 1,000 entries, 100/s, 5s left",
		60:  "verify a.rf  50%  500 of 1,000 entries, 100/s, 5s left",
		50:  "veri...  50%  500 of 1,000 entries, 100/s, 5s left",
	} {
		if got := p.line(5*time.Second, width); got != want {
			t.Errorf("in %d columns %q, want %q", width, got, want)
		}
	}
}
