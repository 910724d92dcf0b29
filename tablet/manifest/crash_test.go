package manifest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"millrace/internal/vfs"
)

// history runs a writer through random edits and keeps the states that a crash may lead to: that before the call under
// way, and that after it.
type history struct {
	t       *testing.T
	seed    uint64
	g       *gen
	rng     *rand.Rand
	mem     *vfs.MemFS
	fs      vfs.FS
	w       *Writer
	state   *State
	allowed map[string]bool
	// unsure are the states that an earlier crash left possible, until something is durable again.
	unsure map[string]bool
	images int
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, seed: seed, g: newGen(seed), rng: rand.New(rand.NewPCG(seed, 1)), mem: aStore(t), state: Empty()}
	h.fs = h.mem
	h.allow(h.state)
	return h
}

// allow sets the states that a crash may lead to from here on.
func (h *history) allow(states ...*State) {
	h.allowed = maps.Clone(h.unsure)
	if h.allowed == nil {
		h.allowed = map[string]bool{}
	}
	for _, s := range states {
		h.allowed[s.String()] = true
	}
}

func (h *history) options() Options {
	return Options{NextNumber: h.g.following, NextLSN: h.state.NextLSN(), RollBytes: 600}
}

// open begins a writer. Its state is the one before with the numbers spent.
func (h *history) open() error {
	after := mustApply(h.t, h.state, Open{NextNumber: h.g.next, NextLSN: h.state.NextLSN()})
	h.allow(h.state, after)
	w, err := NewWriter(h.fs, h.state, h.options())
	if err != nil {
		return err
	}
	if w.State().String() != after.String() {
		h.t.Fatalf("seed %d: opened\n%vwant\n%v", h.seed, w.State(), after)
	}
	h.w, h.state, h.unsure = w, after, nil
	h.allow(after)
	return nil
}

// record records one to three edits.
func (h *history) record() error {
	var edits []Edit
	after := h.state
	for range 1 + h.rng.IntN(3) {
		e := h.g.edit(after)
		edits = append(edits, e)
		after = mustApply(h.t, after, e)
	}
	h.allow(h.state, after)
	got, err := h.w.Record(edits...)
	switch {
	case errors.Is(err, ErrInDoubt):
		if h.w.InDoubt() == nil {
			h.t.Fatalf("seed %d: %v, and no doubt", h.seed, err)
		}
		h.unsure = h.allowed // until there is a new file
		return err
	case err != nil:
		h.allow(h.state)
		return err
	}
	if got.State.String() != after.String() || h.w.InDoubt() != nil {
		h.t.Fatalf("seed %d: recorded\n%vwant\n%v", h.seed, got.State, after)
	}
	h.state, h.unsure = after, nil
	h.allow(after)
	return nil
}

// read reads an image: it must give one of the states allowed.
func (h *history) read(what string, fsys vfs.FS) *State {
	h.t.Helper()
	h.images++
	found, err := Read(h.t.Context(), fsys)
	if err != nil {
		h.t.Fatalf("seed %d, %s: %v", h.seed, what, err)
	}
	if !h.allowed[found.State.String()] {
		h.t.Fatalf("seed %d, %s: file %d has\n%vwhich is not among %v", h.seed, what, found.Number, found.State, h.allowed)
	}
	return found.State
}

// crashHere reads images of this moment, and goes on from some: a start in an image, crashed again.
func (h *history) crashHere(call string, deep int) {
	for _, c := range crashes(h.mem, h.seed) {
		what := fmt.Sprintf("%s, %v", call, c)
		s := h.read(what, c.fs)
		if deep > 0 && h.rng.IntN(300) == 0 {
			h.goOn(what, c.fs, s, deep-1)
		}
	}
}

// goOn opens an image, with crashes on the way, and records something in it.
func (h *history) goOn(what string, mem *vfs.MemFS, s *State, deep int) {
	in := &history{t: h.t, seed: h.seed, g: &gen{rng: h.rng, next: h.g.next + 10, rows: h.g.rows}, rng: h.rng, mem: mem, state: s, unsure: h.allowed}
	in.fs = hooked(mem, func(call string) { in.crashHere(what+", then "+call, deep) })
	check(h.t, in.open())
	check(h.t, in.record())
	in.read(what+", then closed", mem)
	h.images += in.images
}

// TestCrashAtEachCall crashes random histories of starts, edits, rolls and ends at every call, in every way, and some of
// the starts from there again: reading gives the state before or after what was under way.
func TestCrashAtEachCall(t *testing.T) {
	points, images := 0, 0
	for c := range cases(2) {
		h := newHistory(t, *seedFlag+uint64(c))
		h.fs = hooked(h.mem, func(call string) {
			if points++; points%thin == 0 {
				h.crashHere(call, 2)
			}
		})
		for range 3 {
			check(t, h.open())
			for range 10 {
				check(t, h.record())
			}
			if h.rng.IntN(2) == 0 {
				check(t, h.w.Close())
			}
		}
		images += h.images
	}
	fmt.Printf("manifest-crash points=%d images=%d lost=0 phantom=0 openfail=0 seed=%d\n", points, images, *seedFlag)
}

// TestFailureAtEachCall makes each call of a history fail, once or from there on, before or after its effect, or in the
// middle of a write: the caller is told, the state is the one before until the doubt is over, a crash gives one of the
// two, and once the cause is gone everything goes on.
func TestFailureAtEachCall(t *testing.T) {
	runs, hits := 0, map[string]int{}
	for c := range cases(1) {
		for _, r := range []vfs.Rule{{}, {After: true}, {Sticky: true}, {Short: 20}, {Short: 1000, Sticky: true}, {After: true, Sticky: true}} {
			for n := 1; ; n += max(thin/3, 1) {
				r.N = n
				runs++
				if !failAt(t, *seedFlag+uint64(c), r, hits) {
					break
				}
			}
		}
	}
	for _, op := range []vfs.Op{vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRemove, vfs.OpList} {
		if hits[string(op)] == 0 && thin == 1 {
			t.Errorf("no %s ever failed", op)
		}
	}
	fmt.Printf("manifest-failure runs=%d hits=%v wrong=0 seed=%d\n", runs, hits, *seedFlag)
}

// failAt runs one history; false if its rule was never met.
func failAt(t *testing.T, seed uint64, r vfs.Rule, hits map[string]int) bool {
	h := newHistory(t, seed)
	faulty := vfs.Faulty(h.mem, r)
	h.fs = faulty
	try := func(what string, do func() error) bool {
		t.Helper()
		before := h.state
		if err := do(); err == nil {
			return true
		} else if len(faulty.Hits()) == 0 {
			t.Fatalf("seed %d, %v: %s without a fault: %v", seed, r, what, err)
		}
		if h.w != nil && h.w.State().String() != before.String() {
			t.Fatalf("seed %d, %v: a failed %s changed the state", seed, r, what)
		}
		for _, c := range crashes(h.mem, seed) {
			h.read(fmt.Sprintf("%v, after a failed %s, %v", r, what, c), c.fs)
		}
		return false
	}
	if !try("open", h.open) {
		faulty.Heal()
		h.state = h.read("after a failed open", h.mem)
		check(t, h.open())
	}
	for i := range 12 {
		if try("record", h.record) {
			continue
		}
		if i%2 == 0 { // else it fails again, or the next record heals
			faulty.Heal()
			check(t, h.w.Heal())
			h.unsure = nil
			h.allow(h.state)
			h.certain()
		}
	}
	faulty.Heal()
	check(t, h.record())
	h.certain()
	check(t, h.w.Close())
	h.fs = h.mem
	check(t, h.open()) // and what could not be removed before is gone
	if left, err := h.mem.List(Dir); err != nil || len(left) != 1 {
		t.Fatalf("seed %d, %v: files left: %v %v", seed, r, left, err)
	}
	for _, hit := range faulty.Hits() {
		hits[string(hit.Op)]++
	}
	return len(faulty.Hits()) > 0
}

// certain checks that a power cut leaves the one state there is.
func (h *history) certain() {
	h.t.Helper()
	if h.w.InDoubt() != nil {
		h.t.Fatal(h.w.InDoubt())
	}
	for _, c := range crashes(h.mem, h.seed) {
		h.read("healed, "+c.String(), c.fs)
	}
	for _, f := range h.w.Doubted() {
		if h.state.Named(f.Number) != nil {
			h.t.Fatalf("%s is named, and said to be garbage", f.Name)
		}
	}
}
