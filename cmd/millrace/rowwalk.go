package main

import (
	"context"
	"errors"
	"slices"
	"sort"

	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// rowWalk finds the pieces of a tiling that a file has rows of, by seeks alone: from a piece to the file's next row, from
// that row to its piece. Source: the same is done by Accumulo's bulk import.
type rowWalk struct {
	tiles tiling
	scan  *scan
	next  int    // the piece to look from
	row   []byte // found last
}

func newRowWalk(ctx context.Context, r *rfile.Reader, tiles tiling) (*rowWalk, error) {
	s, err := openScan(ctx, r, r.Groups(), tablet.Range{}, tablet.Families{})
	if err != nil {
		return nil, err
	}
	return &rowWalk{tiles: tiles, scan: s}, nil
}

// step returns the next piece of which the file has rows, and the first of those, a view until the next call.
func (w *rowWalk) step(ctx context.Context) (at int, row []byte, ok bool, err error) {
	if w.next == len(w.tiles) {
		return 0, nil, false, nil
	}
	behind := rowsOf(tablet.Extent{PrevEndRow: w.tiles[w.next].PrevEndRow})
	if err := w.scan.merge.Seek(ctx, behind, tablet.Families{}); err != nil {
		return 0, nil, false, err
	}
	var run [1]iter.Run
	n, err := w.scan.merge.Fill(ctx, run[:])
	if err != nil || n == 0 {
		w.next = len(w.tiles)
		return 0, nil, false, err
	}
	k := w.scan.merge.Batch(run[0].Src).Key(int(run[0].Lo))
	w.row = append(w.row[:0], k.Row()...)
	at = w.tiles.find(w.row)
	w.next = at + 1
	return at, w.row, true, nil
}

func (w *rowWalk) close() error { return w.scan.close() }

// spread is how a file lies over a tiling.
type spread struct {
	pieces          []share
	firstRow        []byte
	lastRow         []byte
	entries, stored int64
}

// share is what a file has of one piece: exactly whether it has rows there, which is the first, and, from the index,
// bounds of how many entries.
type share struct {
	at          int // of the tiling
	firstRow    []byte
	least, most int64 // entries
	stored      int64 // bytes of blocks, about
}

// spreadOf looks at a file's index and seeks once for each piece that has rows.
func spreadOf(ctx context.Context, r *rfile.Reader, tiles tiling) (s spread, err error) {
	w, err := newRowWalk(ctx, r, tiles)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	for {
		at, row, ok, err := w.step(ctx)
		if err != nil {
			return s, err
		}
		if !ok {
			break
		}
		s.pieces = append(s.pieces, share{at: at, firstRow: slices.Clone(row)})
	}
	for _, g := range r.Groups() {
		if err := s.addGroup(ctx, r, g, tiles); err != nil {
			return s, err
		}
	}
	s.finish()
	return s, nil
}

// addGroup counts a group's entries from its index. The rows of a block lie between the index key before and its own.
func (s *spread) addGroup(ctx context.Context, r *rfile.Reader, g *rfile.Group, tiles tiling) error {
	if !g.HasFirstKey {
		return nil
	}
	low := slices.Clone(g.FirstKey.Row())
	err := r.Walk(ctx, g, rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
		s.addBlock(tiles.find(low), tiles.find(l.Key.Row()), l)
		low = append(low[:0], l.Key.Row()...)
		return nil
	}})
	if s.lastRow == nil || string(low) > string(s.lastRow) {
		s.lastRow = low // the last index key is the group's last key
	}
	return err
}

// addBlock counts a block whose rows lie in pieces from to to.
func (s *spread) addBlock(from, to int, l rfile.LeafInfo) {
	s.entries += int64(l.Entries)
	s.stored += l.Region.Stored
	first := sort.Search(len(s.pieces), func(i int) bool { return s.pieces[i].at >= from })
	end := first
	for end < len(s.pieces) && s.pieces[end].at <= to {
		end++
	}
	touched := s.pieces[first:end]
	for i := range touched {
		if len(touched) == 1 {
			touched[i].least += int64(l.Entries)
		}
		touched[i].most += int64(l.Entries)
		touched[i].stored += l.Region.Stored / int64(len(touched))
	}
}

// finish makes of the counts what is known besides: that a piece which is listed has an entry.
func (s *spread) finish() {
	for i := range s.pieces {
		s.pieces[i].least = max(s.pieces[i].least, 1)
	}
	if len(s.pieces) > 0 {
		s.firstRow = s.pieces[0].firstRow
	}
}
