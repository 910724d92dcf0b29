package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// childOrder is the environment variable by which a test tells a process of its own what to do.
const childOrder = "MILLRACE_SIM_CHILD"

// errand is what a child process does.
type errand struct {
	Dir string
	// Seed and First give the histories; see lifeOf. Without Tables the child opens the store and holds it.
	Seed   uint64
	First  int
	Ops    int
	Tables []string
	Heavy  bool // most operations are compactions
	Kill   killPlace
}

// killPlace is a call of the file system at which the child kills itself: the N-th of a kind.
type killPlace struct {
	Op    vfs.Op
	Class vfs.Class
	N     int // 0: it does not
	When  When
}

func (k killPlace) String() string {
	if k.N == 0 {
		return "a drawn time"
	}
	return fmt.Sprintf("%s call %d of %s on %s", k.When, k.N, k.Op, k.Class)
}

// startChild starts this test binary again, for an order. lines are what it prints on standard output.
func startChild(t testing.TB, o errand) (cmd *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(self)
	cmd.Env = append(os.Environ(), childOrder+"="+string(text))
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil { // which ends with this process at the latest
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// runChild is the child's main. It prints a line when the store is open, and one for each operation that has returned,
// each with a single call, so that whoever reads them knows what was acknowledged.
func runChild(text string) int {
	var o errand
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

func (o *errand) run() error {
	dir, err := vfs.MakeDir(o.Dir)
	if err != nil {
		return err
	}
	s, err := actors.Open(context.Background(), o.Dir, actors.WithFS(o.Kill.layer(dir)), actors.WithProperties(shortSegments))
	if err != nil {
		return err
	}
	tell("open")
	if len(o.Tables) == 0 {
		io.Copy(io.Discard, os.Stdin) // and hold the store until killed, or until nobody listens
		return s.Close(context.Background())
	}
	errs := make([]error, len(o.Tables))
	var all sync.WaitGroup
	for i := range o.Tables {
		all.Go(func() { errs[i] = o.write(s, i) })
	}
	all.Wait()
	return errors.Join(append(errs, s.Close(context.Background()))...)
}

// shortSegments has the log begin new segments often.
var shortSegments = map[string]string{"tserver.wal.max.size": "8K"}

// tell says something to the parent.
func tell(text string) { os.Stdout.WriteString(text + "\n") }

// layer kills the process at the place.
func (k killPlace) layer(fs vfs.FS) vfs.FS {
	if k.N == 0 {
		return fs
	}
	var seen atomic.Int64
	var at atomic.Uint64 // the call that it is
	die := func(e vfs.Event) {
		if at.Load() == e.Number {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	o := vfs.TraceOptions{Before: func(e vfs.Event) {
		if e.Op == k.Op && e.Class() == k.Class && seen.Add(1) == int64(k.N) {
			at.Store(e.Number)
		}
		if k.When == BeforeCall {
			die(e)
		}
	}}
	switch k.When {
	case WithinCall:
		o.Within = die
	case AfterCall:
		o.After = die
	}
	return vfs.Trace(fs, o)
}

// write plays the history of one table.
func (o *errand) write(s *actors.Store, table int) error {
	name := o.Tables[table]
	var last time.Time
	for _, op := range o.life(table) {
		for !time.Now().Truncate(time.Millisecond).After(last) { // no two operations get the same timestamp
			time.Sleep(200 * time.Microsecond)
		}
		if err := doLive(context.Background(), s, op); err != nil {
			return fmt.Errorf("table %s, operation %v: %w", name, op, err)
		}
		last = time.Now().Truncate(time.Millisecond)
		tell(fmt.Sprintf("%d %d", table, op.Number))
	}
	return nil
}

// life is the history that a child plays on one of its tables.
func (o *errand) life(table int) History {
	weights := map[OpKind]int{Write: 80, Flush: 6, Full: 4, Split: 1}
	if o.Heavy {
		weights = map[OpKind]int{Write: 30, Flush: 15, Full: 30, Split: 1}
	}
	h := HistoryOptions{Ops: o.Ops, First: o.First, Tables: []string{o.Tables[table]}, Rows: 12, Weights: weights}
	if o.Tables[table] == "mixed" { // not with none, which leaves no trace of an operation before a logged one
		h.Durabilities = []tablet.Durability{tablet.DurabilityLog, tablet.DurabilityFlush, tablet.DurabilitySync}
	}
	return NewHistory(mix(o.Seed+uint64(o.First)<<8+uint64(table)), h)
}

// doLive does an operation on a store with goroutines of its own.
func doLive(ctx context.Context, s *actors.Store, op Op) error {
	switch op.Kind {
	case Write:
		return s.Apply(ctx, op.Table, op.Mutations, actors.WithDurability(op.Durability))
	case Flush:
		return s.Flush(ctx, op.Table)
	case Full:
		_, err := s.Compact(ctx, op.Table, actors.CompactOptions{})
		return err
	case Split:
		return s.AddSplits(ctx, op.Table, [][]byte{op.Row})
	}
	return fmt.Errorf("operation %q is not for a live store", op.Kind)
}
