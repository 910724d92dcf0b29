package bcfile

import (
	"bytes"
	"fmt"
	"hash/crc32"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// ReaderOptions bounds and tunes reading. A zero field means its default.
type ReaderOptions struct {
	// MaxBlockBytes is the largest block, raw or stored, that is read; a larger one is tablet.ErrUnsupported. Default
	// 256 MiB, at most 2 GiB.
	MaxBlockBytes int64
	// ReadAheadBytes is the most that a BlockReader reads at once when blocks are asked for in the order of the file.
	// Default 256 KiB; negative means that each block is read by itself.
	ReadAheadBytes int
	// SkipSums leaves the file's checksums unread and unchecked.
	SkipSums bool
	// Sidecar holds the checksums of a file that has none of its own; see Sidecar.
	Sidecar *Sums
}

func (o ReaderOptions) withDefaults() ReaderOptions {
	if o.MaxBlockBytes <= 0 {
		o.MaxBlockBytes = 256 << 20
	}
	o.MaxBlockBytes = min(o.MaxBlockBytes, maxRawBytes)
	if o.ReadAheadBytes == 0 {
		o.ReadAheadBytes = 256 << 10
	}
	return o
}

// Reader knows a file's frame. Safe for concurrent use. It uses the file that it was opened on, and leaves closing it to
// the caller.
type Reader struct {
	src     *source
	opts    ReaderOptions
	footer  footer
	crypto  []byte
	codec   *codec
	metas   []MetaBlock
	regions []Region
	sums    *Sums
}

// Open reads a file's trailer, meta index and BCFile.index, checks them, and, in a file that has sums, checks those and
// all bytes outside blocks. It leaves f open, also on error. Of a file that we wrote, damage to any of this is
// tablet.ErrCorrupt, even where the damaged bytes look like an unknown version or codec.
func Open(f vfs.File, opts ReaderOptions) (*Reader, error) {
	src, err := newSource(f)
	if err != nil {
		return nil, err
	}
	r, err := open(src, opts.withDefaults())
	if err != nil {
		return nil, explain(src, err)
	}
	src.tail = nil
	return r, nil
}

// Version is the container's.
func (r *Reader) Version() Version { return r.footer.version }

// Codec is the name of the default codec, which all unnamed blocks use.
func (r *Reader) Codec() string { return r.codec.name }

// Crypto returns the crypto parameters; nil in a 1.0 file.
func (r *Reader) Crypto() []byte { return r.crypto }

// Size is the file's length.
func (r *Reader) Size() int64 { return r.src.size }

// MetaIndexOffset is where the blocks end.
func (r *Reader) MetaIndexOffset() int64 { return r.footer.metaIndex }

// Metas returns the named blocks in the order of the meta index, to be read only.
func (r *Reader) Metas() []MetaBlock { return r.metas }

// Meta finds a named block.
func (r *Reader) Meta(name string) (MetaBlock, bool) {
	for _, m := range r.metas {
		if m.Name == name {
			return m, true
		}
	}
	return MetaBlock{}, false
}

// DataRegions returns the regions that BCFile.index lists, to be read only: the data blocks of RFile versions 3 and 4,
// none in later ones.
func (r *Reader) DataRegions() []Region { return r.regions }

// Sums returns the checksums that reads are held against; nil when there are none.
func (r *Reader) Sums() *Sums { return r.sums }

// ReadMeta returns the raw bytes of a named block in a slice of their own.
func (r *Reader) ReadMeta(m MetaBlock) ([]byte, error) {
	if m.Name == SumsName && r.sums != nil {
		return bytes.Clone(r.sums.Bytes()), nil // checked by its own checksum, and not listed in itself
	}
	c, err := findCodec(m.Codec)
	if err != nil {
		return nil, fmt.Errorf("%s: block %q: %w", r.src.name, m.Name, err)
	}
	row, err := r.check(c, m.Region, 0)
	if err != nil {
		return nil, err
	}
	stored := make([]byte, m.Region.Stored)
	if err := r.src.read(stored, m.Region.Offset); err != nil {
		return nil, err
	}
	if err := r.checkSum(m.Region, stored, row); err != nil {
		return nil, err
	}
	if c.name == None {
		return stored, nil
	}
	d := c.get()
	defer c.put(d)
	raw, err := d.Decompress(nil, stored, int(m.Region.Raw))
	if err != nil {
		return nil, r.src.corrupt(m.Region.Offset, "block %q, codec %s, %d stored bytes, %d raw: %v", m.Name, c.name, m.Region.Stored, m.Region.Raw, err)
	}
	return raw, nil
}

// check says whether a block may be read: its place, its sizes, and its line in the sums. It returns that line's row, which
// it looks for at hint first.
func (r *Reader) check(c *codec, reg Region, hint int) (row int, err error) {
	if !reg.within(r.footer.metaIndex) || reg.Raw > maxRawBytes {
		return 0, r.src.corrupt(reg.Offset, "block of %d stored and %d raw bytes leaves the blocks' area, 16 to %d, or the format's limits", reg.Stored, reg.Raw, r.footer.metaIndex)
	}
	if !c.plausible(reg) {
		return 0, r.src.corrupt(reg.Offset, "block states %d raw bytes, its %d stored ones cannot give so many with codec %s", reg.Raw, reg.Stored, c.name)
	}
	if r.sums != nil {
		var ok bool
		if row, _, ok = r.sums.find(reg.Offset, reg.Stored, hint); !ok {
			return 0, r.src.corrupt(reg.Offset, "%s lists no block of %d bytes here", SumsName, reg.Stored)
		}
	}
	if limit := r.opts.MaxBlockBytes; reg.Raw > limit || reg.Stored > limit+limit/4+1024 {
		return 0, fmt.Errorf("%s: block at %d of %d raw bytes (%d stored), the limit is %d: %w", r.src.name, reg.Offset, reg.Raw, reg.Stored, limit, tablet.ErrUnsupported)
	}
	return row, nil
}

// checkSum compares a block's stored bytes with their row in the sums, if there are any.
func (r *Reader) checkSum(reg Region, stored []byte, row int) error {
	if r.sums == nil || len(stored) == 0 {
		return nil
	}
	want := r.sums.At(row).CRC
	if got := crc32.Checksum(stored, castagnoli); got != want {
		return r.src.corrupt(reg.Offset, "block of %d bytes has CRC32C %08x, %s says %08x", reg.Stored, got, SumsName, want)
	}
	return nil
}
