package sim

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// errorKind is a way in which a call fails.
type errorKind struct {
	name string
	err  error
	ops  []vfs.Op // that fail so; nil: all
	rule func(e vfs.Event) vfs.Rule
	once bool // only once, as there is no sense in its going on
	// twice: on some other call later, too
	twice bool
}

var errorKinds = []errorKind{
	{name: "eio", err: syscall.EIO, twice: true},
	// The call has its effect, and reports an error.
	{name: "late", err: syscall.EIO, once: true, rule: func(vfs.Event) vfs.Rule { return vfs.Rule{After: true} },
		ops: []vfs.Op{vfs.OpCreate, vfs.OpRemove, vfs.OpRename, vfs.OpMkdir, vfs.OpSyncDir, vfs.OpSync, vfs.OpWrite, vfs.OpLink}},
	{name: "enospc", err: syscall.ENOSPC, twice: true, ops: []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpMkdir, vfs.OpRename, vfs.OpLink, vfs.OpSyncDir}},
	{name: "emfile", err: syscall.EMFILE, ops: []vfs.Op{vfs.OpCreate, vfs.OpOpen, vfs.OpLock, vfs.OpList, vfs.OpSyncDir, vfs.OpFree}},
	{name: "short", err: syscall.ENOSPC, ops: []vfs.Op{vfs.OpWrite}, rule: func(e vfs.Event) vfs.Rule { return vfs.Rule{Short: e.Bytes / 2} }},
	{name: "eof", err: io.ErrUnexpectedEOF, once: true, ops: []vfs.Op{vfs.OpRead}, rule: func(e vfs.Event) vfs.Rule { return vfs.Rule{Short: e.Bytes / 2} }},
}

func kindNamed(name string) errorKind {
	for _, k := range errorKinds {
		if k.name == name {
			return k
		}
	}
	return errorKind{name: name, err: syscall.EIO}
}

// err is what the failing calls report.
func (f fault) err() error { return kindNamed(f.kind).err }

// faults are what can be done to the calls of a run, of which event is the n-th.
func (k errorKind) faults(e vfs.Event) []fault {
	if k.ops != nil && !slices.Contains(k.ops, e.Op) {
		return nil
	}
	f := func(how string) fault { return fault{int(e.Number), k.name, how} }
	switch {
	case k.once:
		return []fault{f("once")}
	case k.twice:
		return []fault{f("once"), f("on"), f("twice")}
	}
	return []fault{f("once"), f("on")}
}

// rulesFor makes the rules of a fault in a run whose calls are known.
func rulesFor(f fault, calls []vfs.Event) []vfs.Rule {
	k, hit := kindNamed(f.kind), calls[f.call-1]
	rule := vfs.Rule{N: f.call}
	if k.rule != nil {
		rule = k.rule(hit)
		rule.N = f.call
	}
	rule.Err, rule.Sticky = k.err, f.how == "on"
	switch {
	case f.how == "twice":
		return []vfs.Rule{rule, {N: f.second(), Err: k.err}}
	case f.how == "once" || k.ops == nil:
		return []vfs.Rule{rule}
	}
	var rules []vfs.Rule
	for _, op := range k.ops { // from there on, but only calls that fail so
		rule.Op, rule.N = op, 1
		for _, e := range calls[:f.call-1] {
			if e.Op == op {
				rule.N++
			}
		}
		rules = append(rules, rule)
	}
	return rules
}

// errorJob is a run of TestErrorAtEachCall.
type errorJob struct {
	seed  uint64
	fault fault
	calls []vfs.Event
	h     History
}

const errorOps = 12

// TestErrorAtEachCall makes the n-th file call of histories fail, for each n, in each way, once and from there on: whoever
// is hit is told, or the work is done again; nothing is lost, nothing is left over, and everything works afterwards.
func TestErrorAtEachCall(t *testing.T) {
	y := newTally(t)
	jobs := errorJobs(t, y, runs(150))
	for range runtime.GOMAXPROCS(0) { // systems that stay
		defer giveSystem(takeSystem())
	}
	before := runtime.NumGoroutine()
	inParallel(y, jobs, func(j errorJob) {
		r := newTrial(j.seed, rulesFor(j.fault, j.calls)...)
		defer r.w.End()
		r.fault = j.fault
		if j.fault.how == "on" {
			r.healAt = int(j.seed+uint64(j.fault.call)) % 4
		}
		r.play(j.h)
		if hits := r.faulty.Hits(); len(hits) == 0 || hits[0].String() != j.calls[j.fault.call-1].Call.String() {
			r.breach("failed", fmt.Errorf("%v was to be hit", j.calls[j.fault.call-1]))
		}
		y.add(r, j.h)
	})
	hit, missed := y.sites()
	t.Logf("sites hit:\n  %s\nnever hit:\n  %s", strings.Join(hit, "\n  "), strings.Join(missed, "\n  "))
	figures := []figure{count("runs", y.runs), count("told", y.told), count("redone", y.redone), count("images", y.images), count("sites", len(hit))}
	figures = append(figures, count("unhit", len(missed)))
	figures = append(figures, y.zeros("lost", "orphans", "unnamed", "undone", "unusable", "panics", "files")...)
	lastLine(t, "R10", append(figures, zero("goroutines", noGoroutines(t, before)))...)
}

// errorJobs lists the faults of whole histories, at least n, or of -fault alone; by default a share of one history's.
func errorJobs(t *testing.T, y *tally, n int) (jobs []errorJob) {
	for seed := firstSeed(); len(jobs) < n; seed++ {
		h := errorHistory(seed, errorOps)
		dry := newTrial(seed)
		dry.play(h)
		y.add(dry, h)
		calls := dry.trace.Events()
		calls = calls[:dry.atEnd]
		dry.w.End()
		if t.Failed() {
			return nil
		}
		var all []errorJob
		for _, e := range calls {
			for _, k := range errorKinds {
				for _, f := range k.faults(e) {
					if *faultFlag == "" || *faultFlag == f.String() {
						all = append(all, errorJob{seed, f, calls, h})
					}
				}
			}
		}
		if *nFlag == 0 && *faultFlag == "" {
			step := max(1, len(all)/n)
			for i := int(seed) % step; i < len(all); i += step {
				jobs = append(jobs, all[i])
			}
			return jobs
		}
		jobs = append(jobs, all...)
		if *faultFlag != "" {
			return jobs
		}
	}
	return jobs
}

// A disk that was full for one write of the manifest: long afterwards everything works at the first try, however many
// tablets want to be flushed. What could not be removed at the time is gone, too.
func TestAfterOneFullWrite(t *testing.T) {
	write := func(number int) Op {
		a, b := tablet.NewMutation([]byte("r01")), tablet.NewMutation([]byte("r03"))
		for _, m := range []*tablet.Mutation{a, b} {
			m.Put([]byte("f"), []byte("q"), nil, Value(m.Row(), []byte("f"), []byte("q"), number))
		}
		return Op{Kind: Write, Number: number, Table: "t", Mutations: []*tablet.Mutation{a, b}}
	}
	full := Op{Kind: Full, Table: "t"}
	h := History{{Kind: Split, Table: "t", Row: []byte("r02")}, write(1), full, write(2), full}
	for seed := firstSeed(); seed < firstSeed()+6; seed++ { // each kind of schedule
		for n, hit := 1, true; hit; n++ {
			r := newTrial(seed, vfs.Rule{Op: vfs.OpWrite, Class: vfs.ClassManifest, N: n, Err: syscall.ENOSPC},
				vfs.Rule{Op: vfs.OpRemove, Class: vfs.ClassData, N: 1, Err: syscall.ENOSPC})
			r.fault = fault{kind: "enospc"}
			r.play(h)
			hit = slices.ContainsFunc(r.faulty.Hits(), func(c vfs.Call) bool { return c.Op == vfs.OpWrite })
			if hit && len(r.broken) > 0 {
				t.Errorf("seed %d, write %d of the manifest: %s", seed, n, r.report(h))
			}
			r.w.End()
			if n > 200 {
				t.Fatal("there is no end")
			}
		}
	}
}
