package rfile

import "millrace/tablet/rfile/bcfile"

// BlockKind tells a cache what it is to keep.
type BlockKind uint8

const (
	DataBlock  BlockKind = iota
	IndexBlock           // an index node, or the block RFile.index
)

// Block is a decompressed block that several cursors may use at a time. Raw does not change; Index grows as seeks come.
type Block struct {
	Raw   []byte
	Index BlockIndex
	// Grown, if not nil, is called when Index takes more memory than before; see BlockIndex.Bytes. Any goroutine may
	// call it, also after the cache has let the block go.
	Grown func(b *Block)
}

// BlockCache keeps decompressed blocks of one file; whoever gives it to a cursor has bound it to the file. It must be
// safe for concurrent use. Blocks that it returned stay good for as long as somebody holds them.
type BlockCache interface {
	// Block returns the block at a region. If it has none it may call load.Load, once, and keep what that returns, or
	// return nil: the caller then reads the block into a buffer of its own. Errors are not kept.
	Block(kind BlockKind, r bcfile.Region, load BlockLoader) (*Block, error)
}

// BlockLoader reads and decompresses the block that a cache was asked for. The block's bytes are fresh.
type BlockLoader interface {
	Load() (*Block, error)
}

// BlockAhead reads and decompresses the data blocks of a group before its cursor asks for them, as on a goroutine of its
// own. It serves one cursor.
type BlockAhead interface {
	// Read returns the raw bytes of a block, as BlockReader.Read does, valid until the next call. It is asked for the
	// blocks in the order of the index, without a gap, but for the first and after a seek.
	Read(r bcfile.Region) ([]byte, error)
	// Close ends what runs, and returns when nothing reads the file any longer.
	Close()
}

// blockFetch gets blocks of one kind through a cache, if there is one, else into a buffer that the next block takes over.
type blockFetch struct {
	kind   BlockKind
	cache  BlockCache
	blocks *bcfile.BlockReader
	ahead  BlockAhead    // reads in place of blocks, if not nil
	region bcfile.Region // being loaded
}

// get returns a block's bytes, and the block itself if a cache keeps it.
func (f *blockFetch) get(r bcfile.Region) ([]byte, *Block, error) {
	if f.cache != nil {
		f.region = r
		b, err := f.cache.Block(f.kind, r, f)
		if err != nil {
			return nil, nil, err
		}
		if b != nil {
			return b.Raw, b, nil
		}
	}
	if f.ahead != nil {
		raw, err := f.ahead.Read(r)
		return raw, nil, err
	}
	raw, err := f.blocks.Read(r)
	return raw, nil, err
}

// close lets go of buffers, and of what reads ahead.
func (f *blockFetch) close() {
	if f.ahead != nil {
		f.ahead.Close()
	}
	f.blocks.Close()
}

// Load implements BlockLoader.
func (f *blockFetch) Load() (*Block, error) {
	raw, err := f.blocks.AppendTo(nil, f.region)
	if err != nil {
		return nil, err
	}
	return &Block{Raw: raw}, nil
}

// metaLoad loads a named block.
type metaLoad struct {
	bc   *bcfile.Reader
	meta bcfile.MetaBlock
}

// Load implements BlockLoader.
func (l metaLoad) Load() (*Block, error) {
	raw, err := l.bc.ReadMeta(l.meta)
	if err != nil {
		return nil, err
	}
	return &Block{Raw: raw}, nil
}

// through gets the block's bytes from a cache, if there is one.
func (l metaLoad) through(c BlockCache) ([]byte, error) {
	if c == nil {
		return l.bc.ReadMeta(l.meta)
	}
	b, err := c.Block(IndexBlock, l.meta.Region, l)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return l.bc.ReadMeta(l.meta)
	}
	return b.Raw, nil
}
