package vfs

import (
	"math/rand/v2"
	"slices"
)

// Clone returns a copy of all that the process sees, on a device of its own: what a crash of the process leaves. What
// was pending still is, so that a power cut after it can be tried too.
func (m *MemFS) Clone() *MemFS { return m.Image(ImageOptions{Mode: ImageAll}) }

// Durable returns a copy of what was synced alone, on a device of its own: what a power cut leaves at the worst.
func (m *MemFS) Durable() *MemFS { return m.Image(ImageOptions{Mode: ImageStrict}) }

// Image returns what a crash at this moment leaves, on a device of its own. Pages are shared with the tree it was taken
// of, and neither changes the other. But for ImageAll nothing is pending in it. The same options give the same image of
// the same state. Locks are free, and no file is open.
func (m *MemFS) Image(opts ImageOptions) *MemFS {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	im := newImager(m, opts)
	root := im.copyOf(m.root)
	for _, c := range im.copies {
		if c.links > 0 { // not removed, of which a power cut alone may bring it back
			im.device.used += uint64(c.content.length)
		}
	}
	return &MemFS{device: im.device, root: root}
}

// imager makes one image.
type imager struct {
	opts   ImageOptions
	device *memDevice // the image's own
	copies map[*memNode]*memNode
	slab   []memNode
	rng    *rand.Rand

	changes []uint64 // pending ones, by number
	kept    []bool   // which of them are in the image
	cutAt   int64    // ImagePrefix with Nth: pending bytes before the cut, in the files still to come; below 0 none is cut
}

func newImager(m *MemFS, opts ImageOptions) *imager {
	old := m.device
	im := &imager{
		opts: opts,
		device: &memDevice{free: old.free, capacity: old.capacity, lastChange: old.lastChange,
			recycled: old.recycled[:len(old.recycled):len(old.recycled)]},
		copies: make(map[*memNode]*memNode, 2*len(m.root.entries)+8),
		cutAt:  int64(opts.Nth) - 1,
	}
	switch opts.Mode {
	case ImageAll, ImageStrict:
		return im
	}
	im.rng = rand.New(rand.NewPCG(opts.Seed, uint64(opts.Mode)))
	im.changes = m.root.pendingChanges()
	im.kept = make([]bool, len(im.changes))
	im.chooseChanges()
	return im
}

// copyOf returns the image's node for a node, and makes it at the first call. A file with two names stays one file.
func (im *imager) copyOf(n *memNode) *memNode {
	if c := im.copies[n]; c != nil {
		return c
	}
	if len(im.slab) == 0 {
		im.slab = make([]memNode, 16)
	}
	c := &im.slab[0]
	im.slab = im.slab[1:]
	im.copies[n] = c
	c.dir = n.dir
	switch {
	case im.opts.Mode == ImageAll:
		im.clone(n, c)
	case n.dir:
		c.entries = im.names(im.survivors(n))
		c.settle()
	default:
		c.content = im.remains(n)
		c.synced = c.content.length
	}
	return c
}

// names maps a directory's entries to the image's nodes, which get a link each.
func (im *imager) names(from memNames) memNames {
	to := make(memNames, len(from))
	for i, e := range from {
		to[i] = memName{e.name, im.copyOf(e.node)}
		to[i].node.links++
	}
	return to
}

// clone copies a node with what is pending in it.
func (im *imager) clone(n, c *memNode) {
	c.content = n.content.prefix(n.content.length)
	c.synced, c.dropped = n.synced, n.dropped
	c.entries, c.shared = im.names(n.entries), n.shared
	if n.shared {
		c.durable = c.entries
		return
	}
	c.durable = make(memNames, len(n.durable))
	for i, e := range n.durable {
		c.durable[i] = memName{e.name, im.copyOf(e.node)}
	}
	c.changes = slices.Clone(n.changes)
	for i := range c.changes {
		ch := &c.changes[i]
		ch.node = im.copyOf(ch.node)
		if ch.other != nil {
			ch.other = im.copyOf(ch.other)
		}
	}
}

// survivors are the entries that a directory has in the image.
func (im *imager) survivors(n *memNode) memNames {
	names, own := n.durable, false
	for i := range n.changes {
		if !im.keeps(n.changes[i].number) {
			continue
		}
		if !own {
			names, own = slices.Clone(names), true
		}
		names = n.changes[i].apply(names)
	}
	return names
}

func (im *imager) keeps(number uint64) bool {
	i, ok := slices.BinarySearch(im.changes, number)
	return ok && im.kept[i]
}
