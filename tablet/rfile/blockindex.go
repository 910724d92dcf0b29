package rfile

import (
	"math/bits"
	"sort"
	"sync/atomic"

	"millrace/tablet"
)

// BlockIndex lets seeks begin inside a decompressed data block, whose entries can otherwise only be read from the front:
// each key is stored relative to the one before it. It is a list of points, each with the key before it decoded, and
// grows while seeks come: at the 2nd, 4th, 8th … it gets about as many points as there were seeks, evenly spread, until
// they would stand 32 entries apart or closer.
//
// The zero value is an index without points. It belongs to one block and lives with it, in a cursor or in a cache, and is
// safe for concurrent use. Source: Accumulo's CachableBlockFile index of hot blocks (BlockIndex).
type BlockIndex struct {
	seeks    atomic.Uint32
	building atomic.Bool
	list     atomic.Pointer[blockPoints]
}

// minPointEntries is the distance of two points below which more of them are not worth their memory.
const minPointEntries = 32

// blockPoints is one generation of an index. It does not change once it is published.
type blockPoints struct {
	points []blockPoint
	keys   []byte // key bytes of all points
}

// blockPoint is a place before an entry.
type blockPoint struct {
	at, left  uint32 // position in the block, and entries from there to its end
	keyAt     uint32 // the key of the entry before: its bytes in keys
	keyBytes  uint32
	ends      tablet.Ends
	timestamp int64
	deleted   bool
}

const blockPointBytes = 48

// Points is the number of points.
func (x *BlockIndex) Points() int {
	if l := x.list.Load(); l != nil {
		return len(l.points)
	}
	return 0
}

// Bytes is what the index takes in memory, to be charged to whoever keeps the block.
func (x *BlockIndex) Bytes() int {
	l := x.list.Load()
	if l == nil {
		return 0
	}
	return blockPointBytes*cap(l.points) + cap(l.keys)
}

// reset makes the index that of another block.
func (x *BlockIndex) reset() {
	x.seeks.Store(0)
	x.list.Store(nil)
}

// visit notes that a seek came to a block of so many entries, and builds more points when it is time. grew says that it
// did. raw is the block.
func (x *BlockIndex) visit(raw []byte, entries int, s *skim) (grew bool, err error) {
	n := x.seeks.Add(1)
	if n < 2 || bits.OnesCount32(n) != 1 {
		return false, nil
	}
	interval := entries / int(n)
	if interval <= minPointEntries || x.Points() >= int(n)-1 {
		return false, nil
	}
	if !x.building.CompareAndSwap(false, true) {
		return false, nil // somebody else is at it
	}
	defer x.building.Store(false)
	list, err := buildPoints(raw, entries, interval, s)
	if err != nil {
		return false, err
	}
	x.list.Store(list)
	return true, nil
}

// buildPoints walks a block and puts a point before every entry whose number is a multiple of the interval, but for the
// last few.
func buildPoints(raw []byte, entries, interval int, s *skim) (*blockPoints, error) {
	list := &blockPoints{points: make([]blockPoint, 0, entries/interval)}
	s.open(raw, entries)
	if err := s.firstKey(); err != nil {
		return nil, err
	}
	for left := entries - interval; left >= interval; left -= interval {
		if _, err := s.pass(0, 0, left); err != nil {
			return nil, err
		}
		list.add(s)
	}
	return list, nil
}

// add puts a point where s stands.
func (l *blockPoints) add(s *skim) {
	p := blockPoint{at: uint32(s.at), left: uint32(s.left), keyAt: uint32(len(l.keys)), timestamp: s.ts, deleted: s.deleted()}
	l.keys, p.ends = s.appendKey(l.keys)
	p.keyBytes = uint32(len(l.keys)) - p.keyAt
	l.points = append(l.points, p)
}

func (l *blockPoints) key(p *blockPoint) tablet.Key {
	return tablet.KeyView(l.keys[p.keyAt:p.keyAt+p.keyBytes], p.ends, p.timestamp, p.deleted)
}

// before returns the last point whose key lies before the range: nothing of the range comes before it. It is nil when
// the range may begin before the first one. Points at equal keys are no trouble: only a smaller key counts.
func (l *blockPoints) before(r *tablet.Range) *blockPoint {
	i := sort.Search(len(l.points), func(i int) bool {
		k := l.key(&l.points[i])
		return !r.BeforeStart(&k)
	})
	if i == 0 {
		return nil
	}
	return &l.points[i-1]
}
