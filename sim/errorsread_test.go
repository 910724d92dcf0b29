package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// readKind is a way in which a read goes wrong.
type readKind struct {
	name string
	err  error // what the read reports; nil: nothing, or what is made of it by whoever reads
	rule func(bytes int) vfs.Rule
}

var readKinds = []readKind{
	{"eio", syscall.EIO, func(int) vfs.Rule { return vfs.Rule{} }},
	{"eio-on", syscall.EIO, func(int) vfs.Rule { return vfs.Rule{Sticky: true} }},
	{"part", syscall.EIO, func(n int) vfs.Rule { return vfs.Rule{Short: n / 2} }},
	{"late", syscall.EIO, func(n int) vfs.Rule { return vfs.Rule{After: true} }}, // all of it, and an error
	{"short", nil, func(n int) vfs.Rule { return vfs.Rule{Err: io.EOF, Short: n - 1} }},
	{"half", nil, func(n int) vfs.Rule { return vfs.Rule{Err: io.ErrUnexpectedEOF, Short: n / 2} }},
	{"empty", nil, func(int) vfs.Rule { return vfs.Rule{Err: io.EOF} }},
	{"empty-on", nil, func(int) vfs.Rule { return vfs.Rule{Err: io.EOF, Sticky: true} }},
	{"bit", nil, nil},
}

// readPhases are ways to read a store, each of which gives what it has found as text.
var readPhases = []struct {
	name string
	read func(*readTrial) ([]string, error)
}{
	{"open", (*readTrial).openAndScan},
	{"scan", (*readTrial).scan},
	{"columns", (*readTrial).scanColumns},
	{"snapshot", (*readTrial).scanSnapshot},
	{"iterate", (*readTrial).iterate},
	{"seek", (*readTrial).seek},
	{"get", (*readTrial).get},
	{"partial", (*readTrial).partial},
	{"compact", (*readTrial).compact},
	{"scratch", (*readTrial).scratch},
}

// readTable has small blocks, so that there are many reads.
var readTable = map[string]string{
	"table.compaction.major.ratio": "1000000", "table.file.max": "1000000", "table.file.compress.type": "none",
	"table.file.compress.blocksize": "160B", "table.file.compress.blocksize.index": "96B",
	"table.group.a": "g", "table.groups.enabled": "a",
}

// readStore is a store to be read: some files in each of two tablets, some of it in the log.
type readStore struct {
	seed   uint64
	files  *vfs.MemFS
	moment Moment
	right  map[string][]string    // by phase
	reads  map[string][]vfs.Event // by phase, without a fault
}

func newReadStore(seed uint64) (*readStore, error) {
	mem := vfs.Mem()
	w := New(Options{Seed: seed, FS: mem})
	defer w.End()
	p := NewPlayer(w, PlayOptions{Properties: readTable})
	if err := p.Begin(); err != nil {
		return nil, err
	}
	h := NewHistory(seed, HistoryOptions{Ops: 30, Rows: 12, Qualifiers: 4, Weights: map[OpKind]int{Write: 30, Flush: 1}, Batches: 60})
	h = slices.Insert(h, 22, Op{Kind: Flush, Table: "t"})
	h = slices.Insert(h, 14, Op{Kind: Split, Table: "t", Row: []byte("r05")})
	h = slices.Insert(h, 8, Op{Kind: Flush, Table: "t"})
	if err := p.Play(h); err != nil {
		return nil, err
	}
	s := &readStore{seed: seed, moment: p.Moment(), right: map[string][]string{}, reads: map[string][]vfs.Event{}}
	if err := w.CloseStore(); err != nil {
		return nil, err
	}
	s.files = mem.Clone()
	for _, phase := range readPhases {
		r := s.trial(phase.name, nil, 0)
		if phase.name != "open" {
			if err := r.open(); err != nil {
				return nil, err
			}
		}
		from := r.trace.Last()
		found, err := phase.read(r)
		if err != nil {
			return nil, fmt.Errorf("%s, without a fault: %w", phase.name, err)
		}
		s.right[phase.name] = found
		for _, e := range r.trace.Events()[from:] {
			if e.Op == vfs.OpRead && (r.own == 0 || e.Number <= r.own) {
				s.reads[phase.name] = append(s.reads[phase.name], e)
			}
		}
		if len(found) < 10 || len(s.reads[phase.name]) == 0 {
			return nil, fmt.Errorf("%s finds %d entries by %d reads: that is no test", phase.name, len(found), len(s.reads[phase.name]))
		}
		r.w.End()
	}
	return s, nil
}

// readTrial reads a store in one way, while one read goes wrong.
type readTrial struct {
	*readStore
	phase  string
	kind   *readKind
	call   int
	mem    *vfs.MemFS
	faulty *vfs.FaultyFS
	bits   *vfs.CorruptFS
	trace  *vfs.TraceFS
	w      *World
	p      *Player
	broken []breach
	opened bool
	own    uint64 // calls, until a scan looks at what came of the phase; 0: all
}

func (s *readStore) trial(phase string, kind *readKind, call int) *readTrial {
	r := &readTrial{readStore: s, phase: phase, kind: kind, call: call, mem: s.files.Clone()}
	r.w = New(Options{Seed: s.seed, FS: r.mem, Layers: func(fs vfs.FS) vfs.FS {
		r.bits = vfs.Corrupt(fs, s.seed+uint64(call))
		r.faulty = vfs.Faulty(r.bits)
		r.trace = vfs.Trace(r.faulty, vfs.TraceOptions{Keep: true})
		return r.trace
	}})
	r.p = NewPlayer(r.w, s.moment.options)
	return r
}

// arm has the n-th read from now go wrong.
func (r *readTrial) arm() {
	switch {
	case r.kind == nil:
	case r.kind.rule == nil:
		r.bits.Add(vfs.CorruptRule{Damage: vfs.DamageBit, N: r.call})
	default:
		rule := r.kind.rule(r.reads[r.phase][r.call-1].Bytes)
		rule.Op, rule.N = vfs.OpRead, r.call
		if rule.Err == nil {
			rule.Err = r.kind.err
		}
		r.faulty.Add(rule)
	}
}

func (r *readTrial) hits() (files []string) {
	for _, c := range r.faulty.Hits() {
		files = append(files, c.Name)
	}
	for _, h := range r.bits.Hits() {
		files = append(files, h.Name)
	}
	return files
}

func (r *readTrial) open() error {
	if r.opened {
		return nil
	}
	if err := r.w.Open(); err != nil {
		return err
	}
	r.opened = true
	for table, model := range r.moment.models {
		r.p.Models[table] = model.Clone()
	}
	return r.p.look()
}

func (r *readTrial) options() actors.ScanOptions {
	return actors.ScanOptions{Authorizations: r.p.all, PageEntries: 5}
}

// all is what a scan gives, as text, and of a failed one what it gave before.
func (r *readTrial) all(o actors.ScanOptions) (found []string, err error) {
	sc, err := r.w.Store().Scan(context.Background(), "t", o)
	if err != nil {
		return nil, err
	}
	entries, err := ReadAll(sc)
	return texts(entries), err
}

func texts(entries []tablet.Entry) []string {
	out := make([]string, len(entries))
	for i := range entries {
		out[i] = fmt.Sprintf("%v = %q", &entries[i].Key, entries[i].Value)
	}
	return out
}

func (r *readTrial) breach(what string, err error) { r.broken = append(r.broken, breach{what, err}) }

// run reads with the fault, and again without.
func (r *readTrial) run(read func(*readTrial) ([]string, error)) (told bool) {
	if r.phase != "open" {
		if err := r.open(); err != nil {
			r.breach("failed", err)
			return false
		}
	}
	r.arm()
	right := r.right[r.phase]
	found, err := read(r)
	hits := r.hits()
	switch {
	case len(hits) == 0:
		r.breach("failed", fmt.Errorf("read %v was to be hit", r.reads[r.phase][r.call-1]))
	case err == nil && slices.Equal(found, right):
	case err == nil && len(found) < len(right):
		r.breach("short", fmt.Errorf("no error, and %d entries instead of %d", len(found), len(right)))
	case err == nil:
		r.breach("unreported", fmt.Errorf("no error, and another answer:\n%s\nright is\n%s", strings.Join(found, "\n"), strings.Join(right, "\n")))
	case len(found) > len(right) || !slices.Equal(found, right[:len(found)]):
		r.breach("wrong", fmt.Errorf("before the error %w came\n%s\nright is\n%s", err, strings.Join(found, "\n"), strings.Join(right, "\n")))
	case !r.names(err, hits):
		r.breach("unnamed", fmt.Errorf("the error does not name what failed, %v: %w", hits, err))
	}
	r.faulty.Heal()
	r.bits.Heal()
	if !r.opened && r.mem.OpenFiles() > 0 {
		r.breach("files", fmt.Errorf("%d files are open after a failed opening", r.mem.OpenFiles()))
	}
	r.again(read, right)
	return err != nil
}

// names says whether an error tells the file, and that it could not be read or is not what it should be.
func (r *readTrial) names(err error, hits []string) bool {
	if r.kind.err != nil && !errors.Is(err, r.kind.err) {
		return false
	}
	if r.kind.err == nil && !errors.Is(err, tablet.ErrCorrupt) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	return slices.ContainsFunc(hits, func(name string) bool { return strings.Contains(err.Error(), path.Base(name)) })
}

// again wants the same reading to be right now, everything to be there, and nothing to be left.
func (r *readTrial) again(read func(*readTrial) ([]string, error), right []string) {
	if err := r.open(); err != nil {
		r.breach("unusable", fmt.Errorf("open again: %w", err))
		return
	}
	if found, err := read(r); err != nil || !slices.Equal(found, right) {
		r.breach("unusable", fmt.Errorf("the same again: %v\n%s\nright is\n%s", err, strings.Join(found, "\n"), strings.Join(right, "\n")))
	}
	if err := r.p.Check(); err != nil {
		r.breach("lost", err)
	}
	if err := r.w.Settle(); err != nil {
		r.breach("failed", err)
	}
	if _, leases := r.w.Store().OpenFiles(); leases > 0 {
		r.breach("files", fmt.Errorf("%d leases are left", leases))
	}
	if err := r.w.CloseStore(); err != nil {
		r.breach("unusable", fmt.Errorf("close: %w", err))
	}
	if err := checkStore(r.mem, true); err != nil {
		r.breach("orphans", err)
	}
}

// TestReadErrorAtEachCall makes the n-th read fail, or be short, or empty, or wrong by a bit, for each n, in each way of
// reading: whoever reads is told, and gets nothing but what is right before; the next reading of the same is right.
func TestReadErrorAtEachCall(t *testing.T) {
	y := newTally(t)
	n := runs(200)
	var jobs []*readTrial
	for seed := firstSeed(); len(jobs) < n; seed++ {
		s, err := newReadStore(seed)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		var all []*readTrial
		for _, phase := range readPhases {
			for i := range s.reads[phase.name] {
				for k := range readKinds {
					r := &readTrial{readStore: s, phase: phase.name, kind: &readKinds[k], call: i + 1}
					if *faultFlag == "" || *faultFlag == r.String() {
						all = append(all, r)
					}
				}
			}
		}
		if *nFlag == 0 && *faultFlag == "" {
			step := max(1, len(all)/n)
			for i := int(seed) % step; i < len(all); i += step {
				jobs = append(jobs, all[i])
			}
			break
		}
		if jobs = append(jobs, all...); *faultFlag != "" {
			break
		}
	}
	told, phases, redone := 0, map[string]int{}, map[string]int{}
	inParallel(y, jobs, func(j *readTrial) {
		r := j.trial(j.phase, j.kind, j.call)
		defer r.w.End()
		was := r.run(readPhases[slices.IndexFunc(readPhases, func(p struct {
			name string
			read func(*readTrial) ([]string, error)
		}) bool {
			return p.name == r.phase
		})].read)
		y.mu.Lock()
		defer y.mu.Unlock()
		y.runs++
		phases[r.phase]++
		if was {
			told++
		} else {
			redone[r.kind.name]++
		}
		for i, b := range r.broken {
			if y.figures[b.what]++; i == 0 {
				y.failed++
			}
			t.Errorf("seed %d, fault %v, %v: %s: %v\nagain: go test ./sim -run '^%s$' -v -args -seed %d -fault %v", r.seed, r, r.reads[r.phase][r.call-1], b.what, b.err, t.Name(), r.seed, r)
		}
	})
	t.Logf("runs %v; right answers nevertheless %v", phases, redone)
	lastLine(t, "R11", append([]figure{count("runs", y.runs), count("told", told), count("redone", y.runs-told)},
		y.zeros("unreported", "short", "wrong", "unnamed", "unusable", "lost", "files", "orphans")...)...)
}

func (r *readTrial) String() string { return fmt.Sprintf("%s/%d/%s", r.phase, r.call, r.kind.name) }
