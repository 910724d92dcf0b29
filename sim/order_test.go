package sim

import (
	"strings"
	"testing"

	"millrace/internal/vfs"
)

// TestSyncOrder runs histories with crashes, and says how often the order of syncs was looked at. It is looked at in every
// other run of this package too; a violation fails those as it fails these.
func TestSyncOrder(t *testing.T) {
	n := runs(40)
	named, removed, violations := 0, 0, 0
	for i := range n {
		seed := firstSeed() + uint64(i)
		o := RunOptions{
			World:   Options{Schedule: ScheduleFor(seed), Store: smallSegments(seed)},
			History: HistoryOptions{Ops: 60, Weights: CrashWeights},
		}
		r := Run(seed, o)
		named, removed = named+r.Named, removed+r.Removed
		if r.Err != nil {
			if strings.Contains(r.Err.Error(), "order of syncs") {
				violations++
			}
			explain(t, r, o)
		}
	}
	if n >= 40 && (named < 10*n || removed < 10*n) {
		t.Errorf("only %d names and %d removals checked", named, removed)
	}
	lastLine(t, "R06", count("runs", n), count("checks", named+removed), count("named", named), count("removed", removed), zero("violations", violations))
}

// A store that forgets a sync in the order must be found out in any run, without a crash.
func TestWorldFindsWrongOrder(t *testing.T) {
	f := func(layer func(vfs.FS) vfs.FS, want string) {
		t.Helper()
		r := Run(1, RunOptions{
			World:   Options{Layers: layer},
			History: HistoryOptions{Ops: 30, Deletes: -1, Weights: map[OpKind]int{Write: 4, Flush: 1, Full: 1}},
		})
		got := ""
		if r.Err != nil {
			got = r.Err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(nil, "")
	f(func(fs vfs.FS) vfs.FS { return lazy{fs, "data"} }, "synced")
	f(func(fs vfs.FS) vfs.FS { return forgetful{fs} }, "the directory entry of data/")
	f(func(fs vfs.FS) vfs.FS { return &hasty{FS: fs} }, "the durable manifest names data/")
}

// forgetful never syncs the directory of data files.
type forgetful struct{ vfs.FS }

func (f forgetful) SyncDir(dir string) error {
	if dir == "data" {
		return nil
	}
	return f.FS.SyncDir(dir)
}

// hasty removes the first data file as soon as there is a second one, whoever names it. It holds on to what is open.
type hasty struct {
	vfs.FS
	first string
}

func (h *hasty) Create(name string) (vfs.File, error) {
	if strings.HasPrefix(name, "data/") {
		if h.first != "" {
			h.FS.Remove(h.first)
		}
		h.first = name
	}
	return h.FS.Create(name)
}
