package writer

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"millrace/tablet/locate"
	"millrace/writer/binning"
)

// shard is one of the buffers. With Actors each may have a worker, which alone bins its sets; so the order in it is kept.
type shard struct {
	mu        sync.Mutex
	parts     [][]binning.Item // that are full
	items     []binning.Item   // that are being filled
	bytes     int64            // estimated memory of both
	mutations int64            // added so far
	total     int64            // estimated memory of those
	closed    bool
	index     int
	binning   atomic.Bool // somebody bins and holds the lock
	_         [64]byte    // so that neighbours do not share a line of the processor's cache
}

// shardOf gives each row one of n buffers: by its first and last bytes and its length, as in rows that count upwards the first
// are alike and in others the last.
func shardOf(p locate.Prefix, row []byte, n int) int {
	h := p.First*0x9e3779b97f4a7c15 + p.Second + uint64(len(row))
	if len(row) > 16 {
		h = (h^h>>32)*0xd6e8feb86659fd93 + binary.BigEndian.Uint64(row[len(row)-8:])
	}
	h = (h ^ h>>32) * 0xd6e8feb86659fd93
	return int((h >> 32) * uint64(n) >> 32)
}

// take makes a set of a buffer, whose lock is held. It is nil if there is nothing in it.
func (w *BatchWriter) take(sh *shard, index int) *Set {
	if sh.bytes == 0 {
		return nil
	}
	s := w.newSet(index)
	w.move(sh, s)
	w.tracker.begin(s)
	return s
}

func (w *BatchWriter) newSet(index int) *Set {
	return &Set{w: w, shard: index, Durability: w.opts.Durability, AtLeastOnce: w.opts.AtLeastOnce}
}

// extend makes place in a buffer. A part has as many items as the buffer will have, if they are of one size, and partItems at
// most: what is sorted and binned at a time, whatever the set.
func (w *BatchWriter) extend(sh *shard, size int64) {
	if len(sh.items) > 0 {
		sh.parts = append(sh.parts, sh.items)
	}
	if sh.items = w.items.get(); cap(sh.items) == 0 {
		sh.items = make([]binning.Item, 0, min(max(w.cut/size+1, partItemsMin), partItems))
	}
}

// move appends a buffer's content to a set.
func (w *BatchWriter) move(sh *shard, s *Set) {
	for _, p := range append(sh.parts, sh.items) {
		s.parts = append(s.parts, p)
		s.left.Add(int64(len(p)))
	}
	s.leftBytes.Add(sh.bytes)
	sh.parts, sh.items, sh.bytes = nil, nil, 0
}

// recycle keeps a set's arrays for buffers, once it has been binned.
func (w *BatchWriter) recycle(s *Set) {
	for _, p := range s.parts {
		clear(p)
		w.items.give(p[:0], sparesMax)
	}
	s.parts = nil
}

// partItems are 128 KiB. There are partItemsMin even if the first mutation is large: arrays are used again.
const (
	partItems    = 4096
	partItemsMin = 256
)
