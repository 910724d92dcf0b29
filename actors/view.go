package actors

import (
	"sync/atomic"

	"millrace/actors/protocol"
	"millrace/internal/invariant"
	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/hosted"
	"millrace/tablet/iter"
	"millrace/tablet/memtable"
	"millrace/tablet/rfile"
)

// tabletView is a tablet at one moment, its memory included, with the means to open its files.
type tabletView struct {
	view     *hosted.View
	memory   []*memtable.Snapshot
	files    *openFiles
	leases   []*lease
	released atomic.Bool
}

var _ protocol.View = (*tabletView)(nil)

// Sources implements protocol.View. It opens files that are not open yet.
func (v *tabletView) Sources(k *scan.Kit, f tablet.Families) ([]iter.Source, error) {
	invariant.That(!v.released.Load(), "a view is read after its release")
	var out []iter.Source
	for _, s := range v.memory {
		out = append(out, s.Source())
	}
	size := batchEntries(len(v.memory) + len(v.view.Files()))
	for _, meta := range v.view.Files() {
		l := v.files.lease(meta)
		v.leases = append(v.leases, l)
		r, err := l.Reader()
		if err != nil {
			return nil, err
		}
		for _, g := range r.GroupsFor(f) {
			out = append(out, k.Cursors.Get(r, g, rfile.CursorOptions{BatchEntries: size}))
		}
	}
	return out, nil
}

// Release implements protocol.View.
func (v *tabletView) Release() {
	if v.released.Swap(true) {
		return
	}
	for _, l := range v.leases {
		l.Release()
	}
	v.view.Release()
}

// batchEntries is how many entries the sources of a scan decode at once. Scans read less at a time than compactions, so
// that a page which ends early has not decoded far more than it gives.
func batchEntries(sources int) int { return min(max(2048/max(sources, 1), 32), 256) }
