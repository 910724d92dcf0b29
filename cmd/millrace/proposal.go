package main

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"math"
	"slices"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

// longestSplitRow is Accumulo's table.split.endrow.size.max: rows of that length and longer are no split points.
const longestSplitRow = 10 << 10

// proposal is what was found of split points wanted.
type proposal struct {
	rows    [][]byte
	blocks  int64 // index entries counted
	entries int64
	tooLong int // candidates that were longer than longestSplitRow
}

// propose finds split points of files taken as one table, from their indexes alone: as many, evenly far apart in the
// number of data blocks. A row is shortened to what it needs to differ from the one before it in the index.
//
// Source: Accumulo 4.0 SplitUtils.findSplits. What differs: the last row of all is no split point, behind it nothing
// would lie.
func propose(ctx context.Context, readers []*rfile.Reader, wanted int64) (p proposal, err error) {
	last, err := p.count(ctx, readers)
	if err != nil || wanted < 1 {
		return p, err
	}
	distance := float64(p.blocks) / float64(wanted+1)
	count := int64(0)
	var before, previous []byte // before: the last row that differs from the one at hand, if there is one
	differs := false
	err = mergedIndex(ctx, readers, func(l rfile.LeafInfo) error {
		row := l.Key.Row()
		if count > 0 && !bytes.Equal(row, previous) {
			before, differs = append(before[:0], previous...), true
		}
		previous = append(previous[:0], row...)
		count++
		if count < int64(math.Floor(float64(len(p.rows)+1)*distance+0.5)) {
			return nil
		}
		if differs {
			row = row[:min(tablet.CommonPrefix(before, row)+1, len(row))]
		}
		if p.add(row, last); int64(len(p.rows)) == wanted {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return p, err
}

// add takes a candidate that divides something and is not too long.
func (p *proposal) add(row, last []byte) {
	switch n := len(p.rows); {
	case len(row) >= longestSplitRow:
		p.tooLong++
	case len(row) == 0, bytes.Compare(row, last) >= 0, n > 0 && bytes.Equal(row, p.rows[n-1]):
	default:
		p.rows = append(p.rows, slices.Clone(row))
	}
}

// errEnough ends a walk that has found what it wants.
var errEnough = errors.New("enough")

// count counts the index entries of all files, and returns their last row.
func (p *proposal) count(ctx context.Context, readers []*rfile.Reader) (last []byte, err error) {
	for _, r := range readers {
		for _, g := range r.Groups() {
			err := r.Walk(ctx, g, rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
				p.blocks++
				p.entries += int64(l.Entries)
				if row := l.Key.Row(); bytes.Compare(row, last) > 0 {
					last = append(last[:0], row...)
				}
				return nil
			}})
			if err != nil {
				return nil, err
			}
		}
	}
	return last, nil
}

// indexWalk is the index of one group, entry by entry.
type indexWalk struct {
	next func() (rfile.LeafInfo, bool)
	stop func()
	now  rfile.LeafInfo
	more bool
	err  error
}

func walkIndex(ctx context.Context, r *rfile.Reader, g *rfile.Group) *indexWalk {
	w := &indexWalk{}
	w.next, w.stop = iter.Pull(func(yield func(rfile.LeafInfo) bool) {
		err := r.Walk(ctx, g, rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
			if !yield(l) {
				return errEnough
			}
			return nil
		}})
		if !errors.Is(err, errEnough) {
			w.err = err
		}
	})
	w.step()
	return w
}

func (w *indexWalk) step() { w.now, w.more = w.next() }

// mergedIndex visits the index entries of all groups of all files in the order of their keys. There are few sources, and
// few entries, so that looking at all of them does.
func mergedIndex(ctx context.Context, readers []*rfile.Reader, visit func(rfile.LeafInfo) error) error {
	var walks []*indexWalk
	defer func() {
		for _, w := range walks {
			w.stop()
		}
	}()
	for _, r := range readers {
		for _, g := range r.Groups() {
			walks = append(walks, walkIndex(ctx, r, g))
		}
	}
	for {
		var least *indexWalk
		for _, w := range walks {
			if w.err != nil {
				return w.err
			}
			if w.more && (least == nil || tablet.Compare(&w.now.Key, &least.now.Key) < 0) {
				least = w
			}
		}
		if least == nil {
			return nil
		}
		if err := visit(least.now); err != nil {
			return err
		}
		least.step()
	}
}

// desiredSplits is how many split points files of some size want so that no tablet has more than threshold bytes, about.
// Source: Accumulo SplitUtils.
func desiredSplits(size, threshold int64) int64 {
	if size <= threshold {
		return 0
	}
	return size / threshold
}
