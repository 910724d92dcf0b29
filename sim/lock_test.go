package sim

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/storage"
)

// TestLock has another process hold a store, and then this one: nobody else opens, checks or repairs it, each is told
// within a second who has it, and it is free once the holder was killed, or has closed it.
func TestLock(t *testing.T) {
	n := runs(10)
	ctx := context.Background()
	dir := t.TempDir() + "/store"
	fs, err := vfs.MakeDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer vfs.Close(fs)
	refused, slow := 0, 0
	var slowest time.Duration
	held := func(by int) {
		t.Helper()
		for what, use := range map[string]func() error{
			"open": func() error {
				s, err := actors.Open(ctx, dir)
				if err == nil {
					s.Close(ctx)
				}
				return err
			},
			"check":  func() error { _, err := storage.Check(ctx, fs, storage.CheckOptions{}); return err },
			"repair": func() error { _, err := storage.Repair(ctx, fs, storage.RepairOptions{}); return err },
		} {
			began := time.Now()
			err := use()
			took := time.Since(began)
			slowest = max(slowest, took)
			if took > time.Second {
				slow++
			}
			if !errors.Is(err, tablet.ErrLocked) || tablet.OutcomeOf(err).Exit != 5 || !strings.Contains(fmt.Sprint(err), fmt.Sprint("process ", by)) {
				t.Errorf("%s while process %d has the store: %v", what, by, err)
				continue
			}
			refused++
		}
	}
	for range n {
		child, lines := startChild(t, errand{Dir: dir})
		if !lines.Scan() || lines.Text() != "open" {
			t.Fatalf("the process says %q", lines.Text())
		}
		held(child.Process.Pid)
		child.Process.Kill()
		child.Wait()
		s, err := actors.Open(ctx, dir)
		if err != nil {
			t.Fatalf("after the holder was killed: %v", err)
		}
		held(os.Getpid())
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("slowest refusal:", slowest)
	lastLine(t, "R73", count("rounds", n), count("refused", refused), zero("let_in", 6*n-refused), zero("slow", slow))
}
