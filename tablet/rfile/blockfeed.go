package rfile

import (
	"context"
	"math"
	"sync"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// leafBlock is what the index knows of a data block. The keys own their bytes.
type leafBlock struct {
	number  int
	entries int
	region  bcfile.Region
	key     tablet.Key // its own index key
	bound   tablet.Key // index key of the block before; like what follows of no meaning in the first block
	before  bcfile.Region
	inThat  int // entries of the block before
}

// blockFeed hands out the blocks of a group to those who check them, in the order of the index, some neighbours at a
// time. Safe for concurrent use.
type blockFeed struct {
	mu    sync.Mutex
	ctx   context.Context
	path  *path
	more  bool
	bound tablet.Key // index key of the block handed out last
	last  bcfile.Region
	had   int // entries of that one

	failed int // least number of a block that was found damaged, or could not be handed out
	err    error
	done   findings
	told   func(entries int64)
}

// portionBytes of stored blocks are handed out together, which is what a BlockReader reads at once, and at most
// portionBlocks.
const (
	portionBytes  = 256 << 10
	portionBlocks = 64
)

func newBlockFeed(ctx context.Context, r *Reader, g *Group, told func(int64)) (*blockFeed, error) {
	f := &blockFeed{ctx: ctx, path: newPath(r, g, CursorOptions{}), failed: math.MaxInt, told: told}
	var err error
	f.more, err = f.path.first()
	return f, err
}

// next fills blocks with the next portion; none are left, or wanted, when it is empty.
func (f *blockFeed) next(blocks []leafBlock) []leafBlock {
	f.mu.Lock()
	defer f.mu.Unlock()
	blocks = blocks[:0]
	for stored := int64(0); f.more && f.err == nil && len(blocks) < portionBlocks && stored < portionBytes; {
		err := f.ctx.Err()
		var e indexEntry
		if err == nil {
			e, err = f.path.entry()
		}
		if err != nil {
			f.fail(f.path.leaf, err)
			break
		}
		if n := len(blocks); n < cap(blocks) {
			blocks = blocks[:n+1] // with the memory of its keys
		} else {
			blocks = append(blocks, leafBlock{})
		}
		b := &blocks[len(blocks)-1]
		b.number, b.entries, b.region = f.path.leaf, e.entries, e.region
		b.bound.Assign(&f.bound)
		b.key.Assign(&e.key)
		b.before, b.inThat = f.last, f.had
		f.bound.Assign(&e.key)
		f.last, f.had = e.region, e.entries
		stored += e.region.Stored
		if f.more, err = f.path.next(); err != nil {
			f.fail(b.number+1, err)
		}
	}
	return blocks
}

// fail notes an error at a block. That of the block which comes first stays.
func (f *blockFeed) fail(number int, err error) {
	if number < f.failed {
		f.failed, f.err = number, err
	}
}

// report takes the outcome of a block, and says whether those behind it are still of interest.
func (f *blockFeed) report(b *leafBlock, err error) (goOn bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.fail(b.number, err)
	}
	return b.number < f.failed
}

// progress takes in entries that were checked.
func (f *blockFeed) progress(of *findings, before int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done.entries += of.entries - before
	f.told(f.done.entries)
}
