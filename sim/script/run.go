package script

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
)

// tableName is the one table of a script.
const tableName = "t"

// Outcome is how a run ended.
type Outcome uint8

// The outcomes.
const (
	Passed Outcome = iota
	Failed
	Skipped
)

func (o Outcome) String() string { return [...]string{"passed", "failed", "skipped"}[o] }

// Result is what came of one run of a script.
type Result struct {
	Script  string
	Mode    Mode
	Outcome Outcome
	// Op is the number of the operation that failed, with parts behind dots; empty when it was none of them.
	Op string
	// Found and Expected say what failed. Values are cut and quoted.
	Found, Expected string
	// Lacks is the ability for want of which the script was skipped.
	Lacks string
	Took  time.Duration
}

func (r Result) String() string {
	switch r.Outcome {
	case Skipped:
		return fmt.Sprintf("%s: skipped: lacks %s", r.Script, r.Lacks)
	case Failed:
		return fmt.Sprintf("%s%s%s: found %s; expected %s", r.Script, r.Mode.suffix(), r.operation(), r.Found, r.Expected)
	}
	return r.Script + r.Mode.suffix() + ": passed"
}

func (r Result) operation() string {
	if r.Op == "" {
		return ""
	}
	return ": operation " + r.Op
}

// abilities are what a script may need, all of which there is.
var abilities = []string{"cancel", "crash", "dir", "fault", "files", "iter", "open", "parallel", "partial", "split"}

// Run carries a script out. The context ends it early, which is a failure that wraps the context's error; err is nil
// otherwise, whatever the outcome.
func Run(ctx context.Context, s *Script, m Mode) (Result, error) {
	res := Result{Script: s.ID, Mode: m}
	for _, need := range s.needs {
		if !slices.Contains(abilities, need) {
			res.Outcome, res.Lacks = Skipped, need
			return res, nil
		}
	}
	began := clock.Real{}.Now()
	var err error
	label := s.ID + m.suffix() + " " + strconv.FormatUint(runs.Add(1), 10)
	pprof.Do(context.WithoutCancel(ctx), pprof.Labels(goroutineLabel, label), func(context.Context) {
		r := &runner{script: s, mode: m, scans: map[string]*openScan{}}
		if m.Permuted {
			r.rand = rand.New(rand.NewPCG(m.Seed, 0x6b762d6f7073))
		}
		err = r.all(ctx)
	})
	if err == nil {
		err = leftGoroutines(label)
	}
	res.Took = clock.Since(clock.Real{}, began)
	if ctx.Err() != nil {
		return res, fmt.Errorf("script %s: %w", s.ID, ctx.Err())
	}
	if err != nil {
		res.fail(err)
	}
	return res, nil
}

func (r *Result) fail(err error) {
	r.Outcome = Failed
	var of *OperationError
	if errors.As(err, &of) {
		r.Op, err = of.Op, of.Err
	}
	var m *mismatch
	if errors.As(err, &m) {
		r.Found, r.Expected = m.found, m.expected
		return
	}
	r.Found, r.Expected = "error: "+strings.ReplaceAll(err.Error(), "\n", "; "), "no error"
}

// Invalid is the result of a script that cannot be run, for what Parse said about it.
func Invalid(id string, err error) Result {
	r := Result{Script: id}
	r.fail(err)
	r.Found, r.Expected = strings.TrimPrefix(r.Found, "error: "), "a script of format "+Format
	return r
}

// runner is one run of a script.
type runner struct {
	script *Script
	mode   Mode
	rand   *rand.Rand // nil unless permuted

	disk  *disk
	store *actors.Store
	scans map[string]*openScan
	at    string // number of the present operation
	stuck bool   // an operation has not ended in its time, and may be running still
}

// all opens the store, carries all operations out and closes it.
func (r *runner) all(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, r.end()) }()
	if err := r.begin(ctx); err != nil {
		return err
	}
	for i, step := range r.script.steps {
		r.at = strconv.Itoa(i)
		if r.rand != nil {
			if err := r.within(ctx, r.noise); err != nil {
				return at(r.at, fmt.Errorf("flush or compaction before it: %w", err))
			}
		}
		if err := r.within(ctx, func(ctx context.Context) error { return step.run(ctx, r) }); err != nil {
			return at(r.at, err)
		}
		if err := r.disk.panicked(); err != nil {
			return at(r.at, err)
		}
	}
	return nil
}

// within gives a piece of work the time of one operation. Work that does not end then is left behind.
func (r *runner) within(ctx context.Context, work func(ctx context.Context) error) error {
	limit := r.script.hints.timeout
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- guarded(ctx, work) }()
	select {
	case err := <-ended:
		if errors.Is(err, context.DeadlineExceeded) {
			return tooLong(limit)
		}
		return err
	case <-ctx.Done():
	}
	// It has heard that its time is over; give it a moment to say so.
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), graceTime)
	defer stop()
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			err = tooLong(limit)
		}
		return err
	case <-grace.Done():
		r.stuck = true
		return tooLong(limit)
	}
}

// graceTime is how long the runner waits for what should end at once.
const graceTime = 5 * time.Second

func tooLong(limit time.Duration) error {
	return &mismatch{found: "no end", expected: fmt.Sprintf("an end within %v", limit)}
}

// guarded turns a panic of the caller's own goroutine into an error.
func guarded(ctx context.Context, work func(ctx context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &mismatch{found: fmt.Sprintf("panic: %v at %s", p, panicLine(debug.Stack())), expected: "no panic"}
		}
	}()
	return work(ctx)
}

// panicLine is the place in a stack where a panic began.
func panicLine(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic(") && i+3 < len(lines) {
			return strings.TrimSpace(lines[i+3])
		}
	}
	return "an unknown place"
}
