package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/tablet"
)

// Format is what the field format of every script says.
const Format = "kv-ops/1"

// Script is a script that was read. It is immutable and can be run any number of times.
type Script struct {
	ID    string // the file's name without its ending
	Title string
	table tableSpec
	hints hints
	needs []string
	steps []step
}

// Operations is how many there are.
func (s *Script) Operations() int { return len(s.steps) }

// tableSpec are settings that change results.
type tableSpec struct {
	maxVersions            int
	maxKeyBytes            int
	time                   string
	durability             string
	autoCompact, autoFlush bool
}

// hints are settings that must not change results; 0 where a script is silent.
type hints struct {
	dataBlockBytes, indexBlockBytes int
	cacheBytes, memoryLimitBytes    int64
	maxOpenFiles                    int
	splitBytes                      int64
	writerThreads                   int
	timeout                         time.Duration
}

const defaultTimeout = 30 * time.Second

// OperationError is what is wrong with a script: with an operation, if Op says which. It wraps tablet.ErrUsage.
type OperationError struct {
	Op  string // the operation's number; empty for the script as a whole
	Err error
}

func (e *OperationError) Error() string {
	if e.Op == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("operation %s: %v", e.Op, e.Err)
}

// Unwrap is what is wrong.
func (e *OperationError) Unwrap() []error { return []error{e.Err, tablet.ErrUsage} }

// at says which operation an error is of.
func at(op string, err error) error {
	var known *OperationError
	if err == nil || errors.As(err, &known) {
		return err
	}
	return &OperationError{Op: op, Err: err}
}

// Parse reads a script. The error is a *SyntaxError for what is not JSON, and an *OperationError for what is no script.
func Parse(file string, text []byte) (*Script, error) {
	if err := checkJSON(file, text); err != nil {
		return nil, err
	}
	o := newObject(text)
	s := &Script{ID: strings.TrimSuffix(path.Base(file), ".json")}
	o.must("format", "ops")
	if f := o.text("format"); o.err == nil && f != Format {
		o.failf("format is %q, not %s", f, Format)
	}
	s.Title = o.text("title")
	for _, name := range []string{"id", "class", "note"} {
		o.text(name)
	}
	o.list("bugs")
	s.needs = texts(o, "needs")
	s.table.parse(o)
	s.hints.parse(o)
	ops := o.list("ops")
	if err := o.done(); err != nil {
		return nil, &OperationError{Err: err}
	}
	for i, raw := range ops {
		number := strconv.Itoa(i)
		step, err := parseStep(number, raw)
		if err != nil {
			return nil, at(number, err)
		}
		s.steps = append(s.steps, step)
	}
	return s, nil
}

func texts(o *object, name string) (list []string) {
	for _, raw := range o.list(name) {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			o.failf("field %q holds %s, not a string", name, excerpt(raw))
		}
		list = append(list, s)
	}
	return list
}

// sub takes a field that is an object itself; an empty one if it is absent.
func (o *object) sub(name string) *object {
	raw, ok := o.take(name)
	if !ok {
		raw = json.RawMessage("{}")
	}
	return newObject(raw)
}

func (o *object) close(name string, sub *object) {
	if err := sub.done(); err != nil {
		o.failf("field %q: %w", name, err)
	}
}

func (t *tableSpec) parse(o *object) {
	f := o.sub("table")
	t.maxVersions = f.count("maxVersions", 1, 1)
	t.maxKeyBytes = f.count("maxKeyBytes", 1, 1<<20)
	t.time = f.choice("time", "logical", "millis")
	t.durability = f.choice("durability", "sync", "flush", "log", "none")
	t.autoCompact = f.flag("autoCompact", false)
	t.autoFlush = f.flag("autoFlush", false)
	o.close("table", f)
}

func (h *hints) parse(o *object) {
	f := o.sub("hints")
	h.dataBlockBytes = f.count("dataBlockBytes", 1, 0)
	h.indexBlockBytes = f.count("indexBlockBytes", 1, 0)
	h.cacheBytes, _ = f.number("cacheBytes", 0)
	h.memoryLimitBytes, _ = f.number("memoryLimitBytes", 1)
	h.maxOpenFiles = f.count("maxOpenFiles", 1, 0)
	h.splitBytes, _ = f.number("splitBytes", 1)
	h.writerThreads = f.count("writerThreads", 1, 0)
	h.timeout = time.Duration(f.count("opTimeoutMs", 1, int(defaultTimeout.Milliseconds()))) * time.Millisecond
	o.close("hints", f)
}

// movable says whether flushes and compactions between operations change nothing that the script compares.
func (s *Script) movable() bool {
	for _, step := range s.steps {
		switch step.(type) {
		case *configStep, *faultStep, *openStep:
			return false
		}
	}
	return true
}

// fails says whether the script makes file calls fail.
func (s *Script) fails() bool {
	return slices.ContainsFunc(s.steps, func(one step) bool { _, is := one.(*faultStep); return is })
}
