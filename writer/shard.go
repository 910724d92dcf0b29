package writer

import (
	"encoding/binary"
	"sync/atomic"

	"millrace/tablet/locate"
	"millrace/writer/binning"
)

// shard is one of the buffers. With Actors each may have a worker, which alone bins its sets; so the order in it is kept.
//
// What every Add touches is in the first 64 bytes, one line of the processor's cache: when threads add at the same time on
// several cores, the lines that go from one to the other are most of what an Add costs.
type shard struct {
	latch
	items  []binning.Item // that are being filled
	bytes  int64          // estimated memory of those and of parts
	credit int64          // memory that was taken for mutations to come

	closed    bool
	index     int
	parts     [][]binning.Item // that are full
	mutations int64            // taken out so far
	total     int64            // estimated memory of those
	binning   atomic.Bool      // somebody bins and holds the lock
	_         [132]byte        // to 256, so that neighbours share no line; lines are fetched in pairs
}

// draw takes memory for a mutation from what the buffer has in hand, or a piece of the writer's. It wants the lock.
func (sh *shard) draw(m *memory, bytes int64) bool {
	if bytes > sh.credit {
		piece := m.try(bytes)
		if piece == 0 {
			return false
		}
		sh.credit += piece
	}
	sh.credit -= bytes
	return true
}

// pushed is told when all that is buffered is to be sent. It wants the lock.
func (sh *shard) pushed(w *BatchWriter, last bool) {
	sh.closed = sh.closed || last
	sh.giveBack(&w.memory)
}

// giveBack returns what nobody has drawn. It wants the lock.
func (sh *shard) giveBack(m *memory) {
	if sh.credit > 0 {
		m.release(sh.credit)
		sh.credit = 0
	}
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

// buffered is how many mutations are in a buffer. It wants the lock.
func (sh *shard) buffered() int64 {
	n := len(sh.items)
	for _, p := range sh.parts {
		n += len(p)
	}
	return int64(n)
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
	n := int64(0)
	for _, p := range append(sh.parts, sh.items) {
		s.parts = append(s.parts, p)
		n += int64(len(p))
	}
	s.left.Add(n)
	s.leftBytes.Add(sh.bytes)
	sh.mutations += n
	sh.total += sh.bytes
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
