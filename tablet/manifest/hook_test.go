package manifest

import (
	"testing"

	"millrace/internal/vfs"
)

// hooked calls a function before, within and after each call that changes anything.
func hooked(inner vfs.FS, at func(call string)) vfs.FS {
	hook := func(when string) func(vfs.Event) {
		return func(e vfs.Event) {
			switch e.Op {
			case vfs.OpCreate, vfs.OpWrite, vfs.OpSync, vfs.OpSyncDir, vfs.OpRemove, vfs.OpRename, vfs.OpMkdir:
				at(when + " " + e.String())
			}
		}
	}
	return vfs.Trace(inner, vfs.TraceOptions{Before: hook("before"), Within: hook("within"), After: hook("after"), Seed: *seedFlag})
}

// crashes are images of what a crash at this moment may leave.
func crashes(mem *vfs.MemFS, seed uint64) []crash {
	var out []crash
	add := func(o vfs.ImageOptions) { out = append(out, crash{o, mem.Image(o)}) }
	for _, mode := range vfs.ImageModes() {
		switch mode {
		case vfs.ImageStrict, vfs.ImageAll:
			add(vfs.ImageOptions{Mode: mode})
		case vfs.ImageReorder:
			for nth := range min(mem.Images(mode), 8) {
				add(vfs.ImageOptions{Mode: mode, Nth: nth + 1})
			}
		default:
			for _, p := range []float64{0.1, 0.5, 0.9} {
				add(vfs.ImageOptions{Mode: mode, P: p, Seed: seed})
			}
		}
	}
	return out
}

type crash struct {
	how vfs.ImageOptions
	fs  *vfs.MemFS
}

func (c crash) String() string { return c.how.String() }

// aStore is an empty file system with the manifest's directory.
func aStore(t testing.TB) *vfs.MemFS {
	t.Helper()
	mem := vfs.Mem()
	check(t, mem.MkdirAll(Dir))
	check(t, mem.SyncDir("."))
	return mem
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
