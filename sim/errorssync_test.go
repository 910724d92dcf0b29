package sim

import (
	"fmt"
	"slices"
	"testing"

	"millrace/internal/vfs"
)

// syncKinds are the ways in which a sync fails. The last two are of directories.
var syncKinds = []struct {
	name string
	rule vfs.Rule
}{
	{"kept", vfs.Rule{Op: vfs.OpSync, Sync: vfs.SyncKept}},
	{"dropped", vfs.Rule{Op: vfs.OpSync, Sync: vfs.SyncDropped}},
	{"fine", vfs.Rule{Op: vfs.OpSync, Sync: vfs.SyncDroppedThenFine}},
	{"dir", vfs.Rule{Op: vfs.OpSyncDir}},
	{"dirlate", vfs.Rule{Op: vfs.OpSyncDir, After: true}},
}

type syncJob struct {
	seed  uint64
	fault fault
	rule  vfs.Rule
	all   []History
}

// syncHistories are one writer's at all levels of durability, or those of three who share their syncs. Theirs are all at
// sync: the order in which answers reach them is not that of the log, and so not the one in which less may be lost.
func syncHistories(seed uint64) (all []History) {
	if seed%2 == 1 {
		return []History{errorHistory(seed, errorOps)}
	}
	for n := range 3 {
		all = append(all, NewHistory(seed*10+uint64(n), HistoryOptions{
			Ops: 10, First: 1 + 100*n, Rows: 3, Weights: map[OpKind]int{Write: 10, Flush: 2, Full: 1},
		}))
	}
	return all
}

// TestSyncFailure makes each sync fail, in each way that file systems are known for. Whatever is acknowledged from then on
// is there after a power cut; what the file holds whose sync failed is never relied on, and never added to.
func TestSyncFailure(t *testing.T) {
	y := newTally(t)
	n := runs(60)
	var jobs []syncJob
	for seed := firstSeed(); len(jobs) < n; seed++ {
		h := syncHistories(seed)
		dry := newTrial(seed)
		dry.play(h...)
		y.add(dry, h...)
		calls := dry.trace.Events()[:dry.atEnd]
		dry.w.End()
		if t.Failed() {
			break
		}
		var all []syncJob
		for _, k := range syncKinds {
			sites := slices.DeleteFunc(slices.Clone(calls), func(e vfs.Event) bool { return e.Op != k.rule.Op })
			for i := range sites {
				j := syncJob{seed, fault{i + 1, k.name, "once"}, k.rule, h}
				j.rule.N = i + 1
				if *faultFlag == "" || *faultFlag == j.fault.String() {
					all = append(all, j)
				}
			}
		}
		if *nFlag == 0 && *faultFlag == "" { // half of one writer's history, half of three writers'
			step := max(1, 2*len(all)/n)
			for i := int(seed) % step; i < len(all); i += step {
				jobs = append(jobs, all[i])
			}
			continue
		}
		if jobs = append(jobs, all...); *faultFlag != "" {
			break
		}
	}
	inParallel(y, jobs, func(j syncJob) {
		r := newTrial(j.seed, j.rule)
		defer r.w.End()
		r.fault, r.verify, r.random = j.fault, 4, true
		r.play(j.all...)
		if !r.hit() {
			r.breach("failed", fmt.Errorf("%v was not met", j.rule))
		}
		y.add(r, j.all...)
	})
	hit, missed := y.sites()
	t.Logf("sites hit: %v", hit)
	for _, s := range missed {
		if s[:4] == "sync" {
			t.Logf("never hit: %v", s)
		}
	}
	lastLine(t, "R12", append([]figure{count("runs", y.runs), count("told", y.told), count("redone", y.redone), count("images", y.images)},
		y.zeros("lost", "touched", "unnamed", "undone", "unusable", "orphans", "panics", "files")...)...)
}
