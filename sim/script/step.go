package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"millrace/internal/clock"
	"millrace/internal/nearest"
	"millrace/tablet"
)

// step is one operation.
type step interface {
	// run carries it out. An error is what was found where something else was expected: a *mismatch, or any other for
	// which success was.
	run(ctx context.Context, r *runner) error
}

// mismatch is an answer that is not the expected one.
type mismatch struct{ found, expected string }

func (m *mismatch) Error() string { return "found " + m.found + "; expected " + m.expected }

func mismatchf(expected, found string, args ...any) error {
	return &mismatch{found: fmt.Sprintf(found, args...), expected: expected}
}

// parsers read the operations, by name. The number is for the errors of parts.
var parsers map[string]func(o *object, number string) step

func init() { // apart from the declaration: parallel looks its parts up in it
	parsers = map[string]func(o *object, number string) step{
		"put":         parsePut,
		"delete":      parsePut,
		"mutate":      parseMutate,
		"batch":       parseBatch,
		"fill":        parseFill,
		"flush":       parseFlush,
		"compact":     parseCompact,
		"config":      parseConfig,
		"split":       parseSplit,
		"reopen":      func(*object, string) step { return restartStep{crash: false} },
		"crash":       func(*object, string) step { return restartStep{crash: true} },
		"scan":        parseScan,
		"iter":        parseIter,
		"open":        parseOpen,
		"read":        parseRead,
		"close":       parseClose,
		"parallel":    parseParallel,
		"files":       parseFiles,
		"dir":         func(*object, string) step { return dirStep{} },
		"fault":       parseFault,
		"clearFaults": func(*object, string) step { return clearFaultsStep{} },
	}
}

func parseStep(number string, raw json.RawMessage) (step, error) {
	o := newObject(raw)
	o.must("op")
	name := o.text("op")
	o.text("note") // for people
	if o.err != nil {
		return nil, o.err
	}
	parse := parsers[name]
	if parse == nil {
		var known []string
		for k := range parsers {
			known = append(known, k)
		}
		return nil, fmt.Errorf("unknown operation %q; the nearest known one is %q", name, nearest.Name(name, known))
	}
	o.kind = name
	s := parse(o, number)
	return s, o.done()
}

// outcome is what a write, flush or compaction is expected to end with.
type outcome bool

const (
	wantOK    outcome = false
	wantError outcome = true
)

func parseOutcome(o *object) outcome {
	return outcome(o.choice("expect", "ok", "error") == "error")
}

// try does as a batch writer does when success is wanted: what is refused for now, until log or manifest have found a new
// file to write, is tried again while there is time.
func (want outcome) try(ctx context.Context, do func() error) error {
	const pause = 5 * time.Millisecond
	for {
		err := do()
		if want == wantError || !errors.Is(err, tablet.ErrBusy) || clock.Sleep(ctx, clock.Real{}, pause) != nil {
			return err
		}
	}
}

// of compares an error with what was expected. An operation that ran out of time has not done what was expected of it
// either way.
func (want outcome) of(err error) error {
	if want == wantOK || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	if err == nil {
		return &mismatch{found: "no error", expected: "an error"}
	}
	return nil
}
