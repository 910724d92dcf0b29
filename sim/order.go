package sim

import (
	"context"
	"fmt"
	"strings"

	"millrace/internal/vfs"
	"millrace/tablet/manifest"
)

// syncOrder watches over every world, unless told not to: what the durable manifest names was synced before, data and name,
// and what is removed is not named any more.
type syncOrder struct {
	fs    *vfs.SyncOrderFS // of the present files; nil: none
	taken orderBooks       // of the files before
}

type orderBooks struct {
	named, removed int
	violations     []string
}

// over lays the watch over the files that a world has from now on.
func (o *syncOrder) over(fs vfs.FS) vfs.FS {
	o.taken = o.books()
	watched, err := vfs.SyncOrder(fs, vfs.SyncOrderOptions{Manifest: func(string, error) ([]string, bool) { return durablyNamed(fs) }})
	if err != nil {
		panic(fmt.Sprintf("sim: files cannot be listed: %v", err))
	}
	if names, ok := durablyNamed(fs); ok {
		watched.Named(names...)
	}
	o.fs = watched
	return watched
}

func (o *syncOrder) books() orderBooks {
	b := o.taken
	if o.fs != nil {
		named, removed := o.fs.Checks()
		b.named, b.removed = b.named+named, b.removed+removed
		b.violations = append(b.violations[:len(b.violations):len(b.violations)], o.fs.Violations()...)
	}
	return b
}

// durablyNamed are the data files that the manifest names after a power cut now; of files that keep no such account, those
// that it names now. A manifest that cannot be read, because a test has damaged it, tells nothing.
func durablyNamed(fs vfs.FS) (names []string, ok bool) {
	if m, mem := fs.(*vfs.MemFS); mem {
		fs = m.Durable()
	}
	found, err := manifest.Read(context.Background(), fs)
	if err != nil {
		return nil, false
	}
	for f := range found.State.Files() {
		names = append(names, f.Name)
	}
	return names, true
}

// SyncChecks is how many files were found in the manifest for the first time, and how many were removed, and whether any
// of it was too early.
func (w *World) SyncChecks() (named, removed int, violated error) {
	b := w.order.books()
	if len(b.violations) > 0 {
		violated = fmt.Errorf("order of syncs: %s", strings.Join(b.violations, "; "))
	}
	return b.named, b.removed, violated
}
