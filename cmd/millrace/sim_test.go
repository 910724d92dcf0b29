package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"millrace/sim/experiment"
	"millrace/tablet"
)

// simRuns are experiments that take much longer than they are given here.
var simRuns = [][]string{
	{"sim", "heap", "--json", "out.json", "--csv", "out.csv", "--plots", "charts"},
	{"sim", "pool", "--json", "out.json"},
	{"sim", "writer", "--json", "out.json"},
}

// TestSimInterrupted interrupts experiments: they end soon, with one line, and leave nothing behind.
func TestSimInterrupted(t *testing.T) {
	for _, args := range simRuns {
		s := newShell(t)
		ctx, cancel := context.WithCancel(context.Background())
		s.ctx = ctx
		timer := time.AfterFunc(300*time.Millisecond, cancel)
		start := time.Now()
		s.fails(130, "interrupted", args...)
		timer.Stop()
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%q ended %v after it was interrupted", args, took)
		}
		if names := s.names(); len(names) > 0 {
			t.Errorf("%q left behind: %q", args, names)
		}
	}
}

// TestSimFails wants a check that does not hold to be exit code 4, and a bar only if it was asked for.
func TestSimFails(t *testing.T) {
	good, bad := experiment.Check{OK: true}, experiment.Check{Name: "a check", Value: "1", Want: "2"}
	f := func(checks, bars experiment.Check, expect bool, code int) {
		t.Helper()
		err := failed([]experiment.Check{good, checks}, []experiment.Check{good, bars}, expect)
		if got := tablet.OutcomeOf(err).Exit; err == nil && code != 0 || err != nil && got != code {
			t.Errorf("%v, exit code %d, want %d", err, got, code)
		}
	}
	f(good, good, true, 0)
	f(good, bad, false, 0)
	f(good, bad, true, 4)
	f(bad, good, false, 4)
}

// TestSimReaderGone closes the pipe behind experiments that print.
func TestSimReaderGone(t *testing.T) {
	s := newShell(t)
	f := func(args ...string) {
		t.Helper()
		pipe := &closedPipe{left: 10, err: &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}
		var stderr bytes.Buffer
		if code := s.runTo(pipe, &stderr, args...); code != 0 || stderr.Len() > 0 || pipe.writes != 1 {
			t.Errorf("%q: exit %d, %d writes, %s", args, code, pipe.writes, stderr.String())
		}
	}
	f("sim", "heap", "--entries", "200", "--runs", "1", "--sources", "2")
	f("sim", "pool", "--quick", "--samples", "2000", "--seeks", "10", "--sources", "1")
}

// TestSimProgress draws progress on a terminal.
func TestSimProgress(t *testing.T) {
	s := newShell(t)
	s.bar = true
	var out, stderr bytes.Buffer
	if code := s.runTo(&out, &stderr, "sim", "heap", "--quick", "--entries", "10000", "--runs", "1", "--keys", "ci"); code != 0 {
		t.Fatal(stderr.String())
	}
	if !strings.Contains(stderr.String(), "divisions of keys") || !strings.Contains(stderr.String(), " left") || !strings.HasSuffix(stderr.String(), "\r\x1b[K") {
		t.Errorf("progress %q", stderr.String())
	}
}

// TestSimComplete completes names of merges, keys, shapes and pools.
func TestSimComplete(t *testing.T) {
	s := newShell(t)
	f := func(want string, args ...string) {
		t.Helper()
		r := s.run(append([]string{"__complete", "sim"}, args...)...)
		if got := strings.Join(strings.Fields(r.out), " "); r.code != 0 || got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	f("old new swap tree tree-entry :4", "heap", "--variants", "")
	f("ci long :4", "heap", "--keys", "")
	f("fresh freelist syncpool mutex direct :4", "pool", "--variants", "")
	f("equal natural long-run :4", "ingest", "--shape", "")
	f("none lz4 snappy gz zstd :4", "ingest", "--codec", "")
	f("text json csv markdown :4", "heap", "--format", "")
}
