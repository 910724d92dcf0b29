package hosted

import (
	"sync/atomic"

	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/memtable"
)

// View is a tablet at one moment, for reading: its memtables and its files, each entry in exactly one of them. A view holds
// leases on its files: they stay until it is released. Views are shared; every goroutine that gets one from Tablet.View or
// Retain releases it once.
type View struct {
	extent     tablet.Extent
	generation uint64
	memories   []*memtable.Table // newest first
	metas      []tablet.FileMeta // newest first
	files      []*file           // those of metas
	holders    atomic.Int64      // the tablet, while the view is published, and readers
	obsolete   *obsoleteList
}

// Extent is the tablet's.
func (v *View) Extent() tablet.Extent { return v.extent }

// Generation grows with each published view: two views of one generation are the same.
func (v *View) Generation() uint64 { return v.generation }

// Files are the view's files, newest first. The slice must not be changed.
func (v *View) Files() []tablet.FileMeta { return v.metas }

// Snapshots are the view's memtables, newest first, empty ones left out. They are taken now: a scan asks once and keeps
// the answer, so that it reads one moment; mutations committed later are in a later answer.
func (v *View) Snapshots() []*memtable.Snapshot {
	snaps := make([]*memtable.Snapshot, 0, len(v.memories))
	for _, m := range v.memories {
		if s := m.Snapshot(); s.Entries() > 0 {
			snaps = append(snaps, s)
		}
	}
	return snaps
}

// Retain adds a holder. The caller is one already.
func (v *View) Retain() *View {
	invariant.That(v.tryRetain(), "view retained after its last release")
	return v
}

func (v *View) tryRetain() bool {
	for {
		n := v.holders.Load()
		if n == 0 {
			return false
		}
		if v.holders.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Release gives the view up.
func (v *View) Release() {
	n := v.holders.Add(-1)
	invariant.That(n >= 0, "view released more often than retained")
	if n > 0 {
		return
	}
	for _, f := range v.files {
		if f.views.Add(-1) == 0 && f.left.Load() {
			v.obsolete.add(f.meta)
		}
	}
}

// View is the tablet as it is now, to be released by the caller; nil after Close. Any goroutine may call it.
func (t *Tablet) View() *View {
	for {
		v := t.view.Load()
		if v == nil || v.tryRetain() {
			return v
		}
		// It was replaced between the two steps; the next one is there already.
	}
}

// publish makes what the tablet is now what readers see.
func (t *Tablet) publish() {
	t.generation++
	v := &View{extent: t.extent, generation: t.generation, files: t.files, metas: t.metas(), obsolete: &t.obsolete}
	v.memories = append(v.memories, t.active.table)
	for i := len(t.frozen) - 1; i >= 0; i-- {
		v.memories = append(v.memories, t.frozen[i].table)
	}
	for _, f := range v.files {
		f.views.Add(1)
	}
	v.holders.Store(1)
	if old := t.view.Swap(v); old != nil {
		old.Release()
	}
}

// Close ends the tablet. Views that are held stay readable. The tablet lets go of its files: each comes out of Obsolete when
// its last view ends.
func (t *Tablet) Close() {
	for _, f := range t.files {
		f.left.Store(true)
	}
	if old := t.view.Swap(nil); old != nil {
		old.Release()
	}
}

// Obsolete returns the files that left the tablet, or that it had when it was closed, and that no view holds any more, each
// once. Other tablets may still have them, another load of this one too. Any goroutine may call it.
func (t *Tablet) Obsolete() []tablet.FileMeta { return t.obsolete.take() }

// obsoleteList collects files without a lock, as views are released by any goroutine.
type obsoleteList struct {
	head atomic.Pointer[obsoleteFile]
	wake func()
}

type obsoleteFile struct {
	meta tablet.FileMeta
	next *obsoleteFile
}

func (l *obsoleteList) add(meta tablet.FileMeta) {
	f := &obsoleteFile{meta: meta}
	for {
		f.next = l.head.Load()
		if l.head.CompareAndSwap(f.next, f) {
			break
		}
	}
	if l.wake != nil {
		l.wake()
	}
}

func (l *obsoleteList) take() (metas []tablet.FileMeta) {
	for f := l.head.Swap(nil); f != nil; f = f.next {
		metas = append(metas, f.meta)
	}
	return metas
}
