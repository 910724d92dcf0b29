package actors_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

var atNone = actors.WithDurability(tablet.DurabilityNone)

// A Close keeps what was written at none, wherever it is: in active and frozen memtables, in some tablets or all. It
// flushes those tablets alone. A crash loses it.
func TestCloseKeepsWhatIsNotLogged(t *testing.T) {
	fs := vfs.Mem()
	s := openStore(t, fs)
	mustCreate(t, s, [][]byte{[]byte("4"), []byte("8")}, plain)
	mustApply(t, s, []*tablet.Mutation{put("1")}, atNone)
	if err := s.Flush(t.Context(), "ci"); err != nil {
		t.Fatal(err)
	}
	mustApply(t, s, []*tablet.Mutation{put("2"), put("5")})
	mustApply(t, s, []*tablet.Mutation{put("9")}, atNone)
	mustApply(t, s, []*tablet.Mutation{put("6")}, atNone)
	mustApply(t, s, []*tablet.Mutation{put("7")})
	crashed := fs.Durable()
	closeStore(t, s)
	files, err := fs.List("data")
	if err != nil || len(files) != 3 { // one before, and one of each tablet that needed it
		t.Errorf("files %v, %v", files, err)
	}
	check := func(fs vfs.FS, want ...string) {
		t.Helper()
		s := openStore(t, fs)
		checkRows(t, s, want)
		closeStore(t, s)
	}
	check(fs.Durable(), "1", "2", "5", "6", "7", "9")
	check(crashed, "1", "2", "5", "7")
}

// What Close cannot flush is in its error, and everything else is done all the same; that the context ends is such a case.
func TestCloseTellsWhatItCouldNotFlush(t *testing.T) {
	f := func(want error, ctx func(context.Context) (context.Context, context.CancelFunc), rule vfs.Rule, rows ...string) {
		t.Helper()
		mem := vfs.Mem()
		fs := vfs.Faulty(mem)
		slow := false
		s := openStore(t, vfs.Trace(fs, vfs.TraceOptions{Before: func(e vfs.Event) {
			if slow && e.Op == vfs.OpCreate {
				time.Sleep(300 * time.Millisecond)
			}
		}}))
		mustCreate(t, s, nil, plain)
		mustApply(t, s, []*tablet.Mutation{put("1")})
		mustApply(t, s, []*tablet.Mutation{put("2")}, atNone)
		fs.Add(rule)
		slow = want == context.DeadlineExceeded
		c, cancel := ctx(t.Context())
		defer cancel()
		if err := s.Close(c); !errors.Is(err, want) {
			t.Errorf("close: %v, want %v", err, want)
		}
		fs.Heal()
		time.Sleep(400 * time.Millisecond)
		if want == context.DeadlineExceeded {
			return // actors may still be there, which the lock stands for
		}
		s = openStore(t, mem)
		checkRows(t, s, rows)
		closeStore(t, s)
	}
	forever := func(c context.Context) (context.Context, context.CancelFunc) { return context.WithCancel(c) }
	short := func(c context.Context) (context.Context, context.CancelFunc) {
		return context.WithTimeout(c, 100*time.Millisecond)
	}
	f(syscall.EIO, forever, vfs.Rule{Op: vfs.OpWrite, Name: "*.rf", Sticky: true, Err: syscall.EIO}, "1")
	f(syscall.ENOSPC, forever, vfs.Rule{Op: vfs.OpCreate, Name: "*.rf", Sticky: true, Err: syscall.ENOSPC}, "1")
	f(context.DeadlineExceeded, short, vfs.Rule{Op: vfs.OpRename, Name: "none"})
}

// A flush that has failed and waits for its time is tried once more by Close.
func TestCloseFlushesAtOnce(t *testing.T) {
	fs := vfs.Faulty(vfs.Mem())
	runStore(t, fs, func(t *testing.T, s *actors.Store, _ *killer) {
		mustApply(t, s, []*tablet.Mutation{put("1")}, atNone)
		fs.Add(vfs.Rule{Op: vfs.OpSync, Name: "*.rf", Sticky: true, Err: syscall.EIO})
		if err := s.Flush(t.Context(), "ci"); !errors.Is(err, syscall.EIO) {
			t.Errorf("flush: %v", err)
		}
		time.Sleep(20 * time.Second)
		fs.Heal()
		began := time.Now()
		closeStore(t, s)
		if took := time.Since(began); took > 0 {
			t.Errorf("close took %v", took)
		}
		s = openStore(t, fs)
		checkRows(t, s, []string{"1"})
		closeStore(t, s)
	})
}
