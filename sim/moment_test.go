package sim

import (
	"strings"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestMoment takes images at some calls of a history and holds each against what may be there at that moment. Then it does
// the same with a model that has lost an acknowledged write, and wants to hear of it.
func TestMoment(t *testing.T) {
	seed := firstSeed()
	type point struct {
		at    Moment
		image *vfs.MemFS
	}
	var points []point
	mem := vfs.Mem()
	var p *Player
	calls := 0
	w := New(Options{Seed: seed, FS: mem, Layers: func(fs vfs.FS) vfs.FS {
		return vfs.Trace(fs, vfs.TraceOptions{Before: func(vfs.Event) {
			if calls++; calls%5 == 0 {
				points = append(points, point{p.Moment(), mem.Image(vfs.ImageOptions{Mode: vfs.ImageMode(calls / 5 % len(vfs.ImageModes())), Seed: uint64(calls)})})
			}
		}})
	}})
	defer w.End()
	p = NewPlayer(w, PlayOptions{})
	if err := p.Begin(); err != nil {
		t.Fatal(err)
	}
	h := NewHistory(seed, HistoryOptions{Ops: 20, Weights: map[OpKind]int{Write: 10, Flush: 3, Full: 1, Split: 1, Reopen: 1}})
	if err := p.Play(h); err != nil {
		t.Fatal(err)
	}
	for i, point := range points {
		if err := point.at.Verify(seed, point.image, false); err != nil {
			t.Fatalf("point %d: %v", i, err)
		}
	}
	t.Log(len(points), "points")

	wrong := p.Moment()
	lost := tablet.NewMutation([]byte("r03"))
	lost.Put([]byte("f"), []byte("q0"), nil, []byte("lost"))
	wrong.models["t"].Ack(wrong.models["t"].Begin(tablet.DurabilitySync, lost))
	if wrong.Verify(seed, mem.Image(vfs.ImageOptions{Mode: vfs.ImageAll}), true) == nil {
		t.Error("a lost write was not found")
	}
}

// lazy forgets to sync the files of one directory.
type lazy struct {
	vfs.FS
	dir string
}

type lazyFile struct{ vfs.File }

func (lazyFile) Sync() error { return nil }

func (l lazy) Create(name string) (vfs.File, error) {
	f, err := l.FS.Create(name)
	if err == nil && strings.HasPrefix(name, l.dir) {
		f = lazyFile{f}
	}
	return f, err
}

func (l lazy) SyncDir(dir string) error {
	if dir == l.dir {
		return nil
	}
	return l.FS.SyncDir(dir)
}

// A store that does not sync what it should must be found out by a power cut right after.
func TestMomentFindsAMissingSync(t *testing.T) {
	f := func(dir string) {
		t.Helper()
		mem := vfs.Mem()
		w := New(Options{Seed: 1, FS: mem, AnyOrder: true, Layers: func(fs vfs.FS) vfs.FS { return lazy{fs, dir} }})
		defer w.End()
		var found error
		p := NewPlayer(w, PlayOptions{})
		p.options.Ended = func(Op) {
			if found == nil {
				found = p.Moment().Verify(1, mem.Durable(), false)
			}
		}
		if err := p.Begin(); err != nil {
			t.Fatal(err)
		}
		if err := p.Play(NewHistory(1, HistoryOptions{Ops: 30, Deletes: -1, Weights: map[OpKind]int{Write: 4, Flush: 1}})); err != nil {
			t.Fatal(err)
		}
		if want := dir != "no such"; (found != nil) != want {
			t.Errorf("without syncs in %s: %v", dir, found)
		}
	}
	f("no such")
	f("wal")
	f("manifest")
	f("data")
}

func BenchmarkVerify(b *testing.B) {
	mem := vfs.Mem()
	w := New(Options{Seed: 1, FS: mem})
	defer w.End()
	p := NewPlayer(w, PlayOptions{})
	if err := p.Begin(); err != nil {
		b.Fatal(err)
	}
	if err := p.Play(NewHistory(1, HistoryOptions{Ops: 20})); err != nil {
		b.Fatal(err)
	}
	at := p.Moment()
	for b.Loop() {
		if err := at.Verify(1, mem.Image(vfs.ImageOptions{Mode: vfs.ImageStrict}), false); err != nil {
			b.Fatal(err)
		}
	}
}
