package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// own is a command line of this program, as a process of its own.
func own(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "millrace") // by this name the test binary is the program
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	return exec.Command(link, args...)
}

// runOwn runs a command line in a process of its own, and returns its exit code and what it said.
func runOwn(t *testing.T, args ...string) (code int, output string) {
	t.Helper()
	out, err := own(t, args...).CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode(), string(out)
	case err != nil:
		t.Fatal(err)
	}
	return 0, string(out)
}

// TestIngestKilled kills the process of sim ingest with SIGKILL, again and again on one directory, and then lets it come
// to its end: the store is sound each time, nothing acknowledged is missing, no reference is undefined, and no file is
// left that nothing names.
func TestIngestKilled(t *testing.T) {
	kills := 6
	if testing.Short() {
		kills = 2
	}
	for _, durability := range []string{"sync", "none"} {
		t.Run(durability, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir() + "/db"
			args := []string{"sim", "ingest", "--data", dir, "--entries", "60000", "--flush-entries", "2000", "--tablets", "3", "--pairs", "1",
				"--set", "table.durability=" + durability, "--set", "table.file.compress.type=snappy", "--set", "tserver.wal.max.size=1M"}
			killed := 0
			for after := 30 * time.Millisecond; killed < kills; after += 70 * time.Millisecond {
				c := own(t, args...)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(after)
				c.Process.Kill()
				c.Wait()
				if status, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
					t.Logf("it had ended after %v", after)
					break
				}
				if _, err := os.Stat(dir + "/manifest"); err != nil {
					continue // killed before there was a store
				}
				if code, out := runOwn(t, "store", "check", dir); code != 0 {
					t.Fatalf("after kill %d: exit code %d\n%s", killed+1, code, out)
				}
				if code, out := runOwn(t, "store", "scan", dir, "ci_run"); code == 0 && strings.Contains(out, "settings") {
					killed++ // it had come so far that it can go on
				}
			}
			code, out := runOwn(t, args...)
			if code != 0 || !strings.Contains(out, ": 0 undefined, 0 corrupt") {
				t.Fatalf("after %d kills: exit code %d\n%s", killed, code, out)
			}
			if killed > 0 && !strings.Contains(out, ", 0 of those missing") {
				t.Errorf("it does not say that it went on:\n%s", out)
			}
			code, out = runOwn(t, "store", "check", "--deep", dir)
			if code != 0 || strings.Count(out, "\n") != 1 || !strings.Contains(out, "sound: 2 tables, 4 tablets") {
				t.Errorf("at the end: exit code %d\n%s", code, out)
			}
			t.Logf("%d kills", killed)
		})
	}
}
