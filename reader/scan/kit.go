package scan

import (
	"sync"

	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// Kit is the memory that a reader works with and would otherwise make anew: merges and cursors of files, each with its
// buffers. One actor or goroutine has it at a time, from TakeKit to Release.
//
// The lists in it are without locks, being one reader's. The kits themselves are many readers', and come from a sync.Pool,
// which keeps what is in use between two collections, and lets go of the rest without anybody's asking.
type Kit struct {
	Merges  *iter.Pool
	Cursors *rfile.Cursors
	uses    int
}

var kits = sync.Pool{New: func() any { return &Kit{Merges: iter.NewPool(), Cursors: &rfile.Cursors{}} }}

// usesPerTrim is how many readers a kit serves between trims, so that it keeps what one of the last of them needed.
const usesPerTrim = 64

// TakeKit returns a kit for the caller alone.
func TakeKit() *Kit { return kits.Get().(*Kit) }

// Release gives the kit to whoever wants it next. All merges and cursors that came from it must be closed.
func (k *Kit) Release() {
	if k.uses++; k.uses%usesPerTrim == 0 {
		k.Merges.Trim()
		k.Cursors.Trim()
	}
	kits.Put(k)
}
