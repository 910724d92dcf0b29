package wal

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestModel drives a log at random, with faults, crashes and crashes of what a crash left, and holds every image against
// a plain list: what was acknowledged is there by its level, in order and without a hole; what was refused for good, or
// was seen not to be there, never comes back.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, Options{
			MaxBytes:    rapid.Int64Range(1, 3000).Draw(t, "max bytes"),
			MaxUnsynced: rapid.Int64Range(1, 2000).Draw(t, "max unsynced"),
			MaxAge:      time.Hour,
		})
		tab := rapid.Uint64Range(1, 4)
		t.Repeat(map[string]func(*rapid.T){
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 4).Draw(t, "entries") {
					w.append(tab.Draw(t, "tablet"), rapid.SampledFrom(levels).Draw(t, "level"))
				}
			},
			"commit":  func(t *rapid.T) { w.commit() },
			"commit2": func(t *rapid.T) { w.append(tab.Draw(t, "tablet"), tablet.DurabilitySync); w.commit() },
			"heal":    func(t *rapid.T) { w.heal() },
			"flush":   func(t *rapid.T) { w.flush(tab.Draw(t, "tablet")) },
			"trim":    func(t *rapid.T) { w.log.Trim() },
			"wait":    func(t *rapid.T) { w.now = w.now.Add(40 * time.Minute) },
			"fault":   func(t *rapid.T) { w.disk.Add(drawRule(t)) },
			"mend": func(t *rapid.T) {
				w.disk.Heal()
				if err := w.heal(); err != nil {
					t.Fatalf("a disk without faults: %v", err)
				}
				w.append(1, tablet.DurabilitySync)
				if err := w.commit(); err != nil {
					t.Fatalf("a disk without faults: %v", err)
				}
			},
			"peek":  func(t *rapid.T) { o := drawImage(t); w.check(w.mem.Image(o), outlives(o.Mode)) },
			"crash": func(t *rapid.T) { w.crash(drawImage(t)) },
			"close": func(t *rapid.T) {
				if w.log.Close(w.now) == nil {
					w.turn(inFlight, acked)
					w.turn(refused, gone)
					w.check(w.mem.Durable(), tablet.DurabilityLog)
				}
				w.crash(vfs.ImageOptions{Mode: vfs.ImageAll})
			},
			"": func(t *rapid.T) {
				if n := w.mem.OpenFiles(); n > 1 {
					t.Fatalf("%d files are open", n)
				}
			},
		})
		for _, mode := range vfs.ImageModes() {
			w.check(w.mem.Image(vfs.ImageOptions{Mode: mode, Seed: 1}), outlives(mode))
		}
	})
}

func drawRule(t *rapid.T) vfs.Rule {
	return vfs.Rule{
		Op:     rapid.SampledFrom([]vfs.Op{vfs.OpAny, vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRemove, vfs.OpClose}).Draw(t, "op"),
		N:      rapid.IntRange(1, 4).Draw(t, "nth"),
		Sticky: rapid.IntRange(0, 3).Draw(t, "sticky") == 0,
		Short:  rapid.IntRange(0, 300).Draw(t, "short"),
		After:  rapid.IntRange(0, 3).Draw(t, "after") == 0,
		Sync:   rapid.SampledFrom(vfs.SyncModels).Draw(t, "sync"),
	}
}

func drawImage(t *rapid.T) vfs.ImageOptions {
	return vfs.ImageOptions{
		Mode: rapid.SampledFrom(vfs.ImageModes()).Draw(t, "mode"),
		P:    rapid.SampledFrom([]float64{0.1, 0.5, 0.9}).Draw(t, "p"),
		Seed: rapid.Uint64().Draw(t, "seed"),
	}
}

// crash goes on with what a crash leaves.
func (w *world) crash(o vfs.ImageOptions) {
	w.t.Helper()
	image := w.mem.Image(o)
	w.check(image, outlives(o.Mode))
	w.mem = image
	w.open()
}
