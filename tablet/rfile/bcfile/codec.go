package bcfile

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"millrace/tablet"
)

// Names of codecs as files store them.
const (
	None   = "none"
	Gz     = "gz" // a zlib stream, in spite of the name
	Snappy = "snappy"
	LZ4    = "lz4"
	Zstd   = "zstd"
	Bzip2  = "bzip2" // read only
)

// Compressor turns the raw bytes of blocks into their stored form. It keeps its tables between blocks; when dst has
// room, Compress allocates nothing.
type Compressor interface {
	// Compress appends the stored form of raw to dst. It keeps neither slice.
	Compress(dst, raw []byte) ([]byte, error)
	// Close frees what the codec holds; the Compressor is not used afterwards.
	Close() error
}

// Decompressor is the way back. It keeps its tables between blocks; when dst has room, Decompress allocates nothing
// (bzip2 excepted).
type Decompressor interface {
	// Decompress appends the raw bytes that stored stands for, exactly rawBytes of them, to dst. It keeps neither
	// slice. It fails when the stream gives more or fewer, is damaged, or ends before stored does; the slice that it
	// then returns holds nothing of use but its capacity. Room for output is made as output comes, so that a false
	// rawBytes costs at most a few times what was really there.
	Decompress(dst, stored []byte, rawBytes int) ([]byte, error)
	Close()
}

// codec is one row of the table of codecs.
type codec struct {
	name string
	// maxRatio bounds the raw bytes that one stored byte can stand for.
	maxRatio     int64
	compressor   func(level int) (Compressor, error) // nil: read only
	decompressor func() Decompressor
	// idle keeps decompressors for Readers and BlockReaders, which come and go more often than their tables are worth.
	idle *sync.Pool
}

func (c *codec) get() Decompressor {
	if d, ok := c.idle.Get().(Decompressor); ok {
		return d
	}
	return c.decompressor()
}

func (c *codec) put(d Decompressor) { c.idle.Put(d) }

var codecs = []codec{
	{None, 1, newNoneCompressor, func() Decompressor { return noneDecompressor{} }, new(sync.Pool)},
	// Deflate: at best 258 bytes for 2 bits.
	{Gz, 1032, newZlibCompressor, func() Decompressor { return &zlibDecompressor{} }, new(sync.Pool)},
	// Snappy: at best 64 bytes for 3.
	{Snappy, snappyMaxRatio, newSnappyCompressor, func() Decompressor { return &framedDecompressor{snappyChunk, snappyMaxRatio} }, new(sync.Pool)},
	// LZ4: a length grows by 255 a byte.
	{LZ4, lz4MaxRatio, newLZ4Compressor, func() Decompressor { return &framedDecompressor{lz4Chunk, lz4MaxRatio} }, new(sync.Pool)},
	// Zstandard: at best a block of 128 KiB for 4 bytes.
	{Zstd, 32 << 10, newZstdCompressor, func() Decompressor { return &zstdDecompressor{} }, new(sync.Pool)},
	// bzip2: at best a block of 900 kB, its runs 255:4, for some 37 bytes.
	{Bzip2, 2 << 20, nil, func() Decompressor { return &bzip2Decompressor{} }, new(sync.Pool)},
}

// Codecs returns the names of the codecs that can write.
func Codecs() []string {
	var names []string
	for _, c := range codecs {
		if c.compressor != nil {
			names = append(names, c.name)
		}
	}
	return names
}

// NewCompressor returns a compressor. Level 0 is the codec's default; what other levels mean is the codec's affair: gz 1
// to 9 (6), snappy and lz4 1 (fast) and up, zstd as its command line. The error is tablet.ErrUnsupported for a name that
// cannot be written and tablet.ErrUsage for a level that does not exist.
func NewCompressor(name string, level int) (Compressor, error) {
	c, err := findCodec(name)
	if err != nil {
		return nil, err
	}
	if c.compressor == nil {
		return nil, fmt.Errorf("writing codec %q: %w", name, tablet.ErrUnsupported)
	}
	comp, err := c.compressor(level)
	if err != nil {
		return nil, err
	}
	return newChecked(comp, name)
}

// NewDecompressor returns a decompressor; the error is tablet.ErrUnsupported for a name that cannot be read.
func NewDecompressor(name string) (Decompressor, error) {
	c, err := findCodec(name)
	if err != nil {
		return nil, err
	}
	return c.decompressor(), nil
}

func findCodec(name string) (*codec, error) {
	for i := range codecs {
		if codecs[i].name == name {
			return &codecs[i], nil
		}
	}
	return nil, fmt.Errorf("codec %q: %w", name, tablet.ErrUnsupported)
}

// plausible says whether so many stored bytes can give so many raw ones.
func (c *codec) plausible(r Region) bool {
	if c.name == None {
		return r.Raw == r.Stored
	}
	return r.Raw/c.maxRatio <= r.Stored
}

func badLevel(name string, level int) error {
	return fmt.Errorf("codec %s has no level %d: %w", name, level, tablet.ErrUsage)
}

// What can be wrong with a stream, beside what a codec itself finds.
var (
	errTooLong  = errors.New("stream gives more than the stated raw size")
	errTooShort = errors.New("stream gives less than the stated raw size")
	errCut      = errors.New("stream ends early")
	errLeftover = errors.New("bytes are left over behind the stream")
)

// startBytes is the room made for output before any has come: 4:1 is what key-value data usually reaches.
func startBytes(storedBytes, rawBytes int) int {
	return min(rawBytes, max(64<<10, 4*storedBytes))
}

// readExactly appends rawBytes bytes of r to dst and checks that r ends there. probe is one byte that it may use.
func readExactly(dst []byte, r io.Reader, probe []byte, storedBytes, rawBytes int) ([]byte, error) {
	start := len(dst)
	for len(dst)-start < rawBytes {
		have := len(dst) - start
		if len(dst) == cap(dst) {
			room := min(rawBytes, max(2*have, startBytes(storedBytes, rawBytes)))
			dst = slices.Grow(dst, room-have)
		}
		n, err := r.Read(dst[len(dst):min(cap(dst), start+rawBytes)])
		dst = dst[:len(dst)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return dst, err
		}
	}
	if len(dst)-start < rawBytes {
		return dst, errTooShort
	}
	return dst, readEnd(r, probe)
}

// readEnd checks that r ends here, which is also when a codec compares its own checksum.
func readEnd(r io.Reader, probe []byte) error {
	const tries = 100 // a reader may give nothing and no error, but not forever
	for range tries {
		n, err := r.Read(probe)
		switch {
		case n > 0:
			return errTooLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
	return io.ErrNoProgress
}
