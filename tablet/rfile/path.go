package rfile

import (
	"fmt"
	"slices"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// path is a place in a group's index: a node and an entry of it for each level, root first. Nodes below the root come
// out of a cache, or are read into buffers of their own and stay there while they are on the path.
type path struct {
	r      *Reader
	g      *Group
	levels []pathLevel
	leaf   int  // number of the leaf entry in the group, counted along the walk
	copied bool // nodes are copied and decoded when they are entered
}

type pathLevel struct {
	node   node
	at     int        // the entry taken
	offset int64      // of the node's block in the file, 0 for the root
	fetch  blockFetch // of no use for the root
}

func newPath(r *Reader, g *Group, o CursorOptions) *path {
	p := &path{}
	p.begin(r, g, o)
	return p
}

// begin sets the path above a group's index, at no place in it. Levels that it had for another group stay, for their
// memory.
func (p *path) begin(r *Reader, g *Group, o CursorOptions) {
	*p = path{r: r, g: g, levels: slices.Grow(p.levels[:0], g.root.level+1)[:g.root.level+1], copied: o.CopyIndex}
	p.levels[0] = pathLevel{node: g.root}
	if p.copied {
		p.levels[0].node.copyEntries()
	}
	for i := 1; i < len(p.levels); i++ {
		blocks := p.levels[i].fetch.blocks
		if blocks == nil {
			blocks = &bcfile.BlockReader{}
		}
		blocks.Use(r.bc)
		p.levels[i] = pathLevel{fetch: blockFetch{kind: IndexBlock, cache: o.Cache, blocks: blocks}}
	}
}

// seek goes to the first leaf entry whose key is at least k, and returns false if there is none.
func (p *path) seek(k *tablet.Key) (bool, error) {
	for i := range p.levels {
		l := &p.levels[i]
		at, err := l.node.search(k)
		if err != nil {
			return false, p.corrupt(l, err)
		}
		if at == l.node.n {
			if i == 0 {
				return false, nil
			}
			return false, p.corrupt(l, fmt.Errorf("no entry at or after the key that led here"))
		}
		l.at = at
		if i+1 < len(p.levels) {
			if err := p.enter(i + 1); err != nil {
				return false, err
			}
		}
	}
	leaf := &p.levels[len(p.levels)-1]
	p.leaf = leaf.node.offset + leaf.at
	return true, nil
}

// first goes to the group's first leaf entry, and returns false if there is none.
func (p *path) first() (bool, error) {
	p.leaf = 0
	if p.levels[0].node.n == 0 {
		return false, nil
	}
	p.levels[0].at = 0
	return true, p.descend(1)
}

// next goes to the following leaf entry, and returns false at the end.
func (p *path) next() (bool, error) {
	for i := len(p.levels) - 1; i >= 0; i-- {
		l := &p.levels[i]
		if l.at+1 < l.node.n {
			l.at++
			p.leaf++
			return true, p.descend(i + 1)
		}
	}
	return false, nil
}

// descend enters the first entry of each level from the given one down.
func (p *path) descend(from int) error {
	for i := from; i < len(p.levels); i++ {
		if err := p.enter(i); err != nil {
			return err
		}
		p.levels[i].at = 0
	}
	return nil
}

// enter reads the node that the level above points at, unless it is there, and holds it against what is known of it.
func (p *path) enter(i int) error {
	up, l := &p.levels[i-1], &p.levels[i]
	e, err := p.read(up)
	if err != nil {
		return err
	}
	if l.offset == e.region.Offset {
		return nil
	}
	l.offset = 0
	block, _, err := l.fetch.get(e.region)
	if err != nil {
		return err
	}
	nd, n, err := parseNode(block)
	if err == nil {
		err = checkChild(&nd, up, &e, len(block)-n)
	}
	if err != nil {
		return tablet.Corruptf(p.r.Name(), e.region.Offset, "index node of %v: %v", p.g, err)
	}
	if p.copied {
		nd.copyEntries()
	}
	l.node, l.offset = nd, e.region.Offset
	return nil
}

// checkChild holds a node against the entry that led to it.
func checkChild(nd *node, up *pathLevel, e *indexEntry, leftover int) error {
	switch {
	case leftover != 0:
		return fmt.Errorf("%d bytes too many", leftover)
	case nd.level != up.node.level-1:
		return fmt.Errorf("level %d below level %d", nd.level, up.node.level)
	case nd.n == 0:
		return fmt.Errorf("no entries")
	}
	last, err := nd.key(nd.n - 1)
	if err != nil {
		return err
	}
	if tablet.Compare(&last, &e.key) != 0 {
		return fmt.Errorf("last key %v, where the level above says %v", last, e.key)
	}
	return nil
}

// entry is the leaf entry that the path is at. Its key is valid while the path stays.
func (p *path) entry() (indexEntry, error) {
	return p.read(&p.levels[len(p.levels)-1])
}

// read decodes the entry taken at a level. What it points at must lie in the file, before the container's directory.
func (p *path) read(l *pathLevel) (indexEntry, error) {
	e, err := l.node.entry(l.at)
	if end := p.r.bc.MetaIndexOffset(); err == nil && (e.region.Offset < firstBlock || e.region.End() > end) {
		err = fmt.Errorf("index entry %d points at bytes %d to %d, not within %d to %d", l.at, e.region.Offset, e.region.End(), firstBlock, end)
	}
	if err != nil {
		return e, p.corrupt(l, err)
	}
	return e, nil
}

// forget makes every node below the root be read anew: for a reader whose last read failed midway.
func (p *path) forget() {
	for i := 1; i < len(p.levels); i++ {
		p.levels[i].offset = 0
	}
}

// close releases the buffers of the nodes below the root.
func (p *path) close() {
	for i := 1; i < len(p.levels); i++ {
		p.levels[i].fetch.blocks.Close()
	}
}

// rest lets go of the file and keeps what memory the levels have.
func (p *path) rest() {
	for i := range p.levels {
		blocks := p.levels[i].fetch.blocks
		if blocks != nil {
			blocks.Rest()
		}
		p.levels[i] = pathLevel{fetch: blockFetch{blocks: blocks}}
	}
	*p = path{levels: p.levels[:0]}
}

func (p *path) corrupt(l *pathLevel, err error) error {
	offset := l.offset
	if l.fetch.blocks == nil {
		if meta, ok := p.r.bc.Meta(indexName); ok {
			offset = meta.Region.Offset
		}
	}
	return tablet.Corruptf(p.r.Name(), offset, "index node of %v: %v", p.g, err)
}
