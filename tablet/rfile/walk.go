package rfile

import (
	"context"
	"fmt"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// NodeInfo is an index node below the root, as a walk meets it. Its key is valid during the call.
type NodeInfo struct {
	Level, Offset int
	HasNext       bool
	Entries       int
	Region        bcfile.Region
	LastKey       tablet.Key
}

// LeafInfo is a leaf entry of an index: one data block. Its key is valid during the call.
type LeafInfo struct {
	Key     tablet.Key // at least the block's last key
	Entries int
	Region  bcfile.Region
}

// Visitor is called back by Walk. Either function may be nil.
type Visitor struct {
	Node func(NodeInfo) error // depth first, each node before its children
	Leaf func(LeafInfo) error // in key order
}

// Walk reads a group's whole index and no data, and checks its structure: levels, offsets, keys between levels, which
// nodes say that another follows, and the number of leaf entries.
func (r *Reader) Walk(ctx context.Context, g *Group, v Visitor) error {
	w := &walker{ctx: ctx, p: newPath(r, g, CursorOptions{}), v: v, g: g}
	defer w.p.close()
	w.last = make([]*NodeInfo, g.root.level+1)
	if err := w.visit(0); err != nil {
		return err
	}
	for _, n := range w.last {
		if n != nil && n.HasNext {
			return tablet.Corruptf(r.Name(), n.Region.Offset, "index node of %v: the last of level %d says that another follows", g, n.Level)
		}
	}
	if w.leaves != g.Blocks {
		return w.p.corrupt(&w.p.levels[0], fmt.Errorf("%d leaf entries, where the group says %d", w.leaves, g.Blocks))
	}
	return nil
}

type walker struct {
	ctx    context.Context
	p      *path
	v      Visitor
	g      *Group
	leaves int
	last   []*NodeInfo // the node met last at each level
}

// visit walks the subtree of the node that the path has at a depth.
func (w *walker) visit(depth int) error {
	l := &w.p.levels[depth]
	for l.at = 0; l.at < l.node.n; l.at++ {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		e, err := w.p.read(l)
		if err != nil {
			return err
		}
		if depth == len(w.p.levels)-1 {
			if err := w.leaf(&e); err != nil {
				return err
			}
			continue
		}
		if err := w.p.enter(depth + 1); err != nil {
			return err
		}
		if err := w.node(depth+1, &e); err != nil {
			return err
		}
		if err := w.visit(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) leaf(e *indexEntry) error {
	w.leaves++
	if w.v.Leaf == nil {
		return nil
	}
	return w.v.Leaf(LeafInfo{Key: e.key, Entries: e.entries, Region: e.region})
}

func (w *walker) node(depth int, e *indexEntry) error {
	l := &w.p.levels[depth]
	n := NodeInfo{Level: l.node.level, Offset: l.node.offset, HasNext: l.node.hasNext, Entries: l.node.n,
		Region: e.region, LastKey: e.key}
	if n.Offset != w.leaves {
		return w.p.corrupt(l, fmt.Errorf("offset %d, with %d leaf entries before it", n.Offset, w.leaves))
	}
	if before := w.last[n.Level]; before != nil && !before.HasNext {
		return tablet.Corruptf(w.p.r.Name(), before.Region.Offset, "index node of %v says that none of level %d follows, but one does", w.g, n.Level)
	}
	w.last[n.Level] = &n
	if w.v.Node == nil {
		return nil
	}
	return w.v.Node(n)
}
