package bcfile

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"io"

	"millrace/tablet"
)

// WriterOptions says what a file is to be. A zero field means its default.
type WriterOptions struct {
	// Codec compresses all blocks. Default gz.
	Codec string
	// Level is the codec's; 0 is its default.
	Level int
	// Version of the container. Default 1.0, which every Accumulo release reads.
	Version Version
	// NoSums leaves the checksums out.
	NoSums bool
	// FileID names the file in its sums. Default random.
	FileID [16]byte
}

func (o WriterOptions) withDefaults() WriterOptions {
	if o.Codec == "" {
		o.Codec = Gz
	}
	if o.Version == (Version{}) {
		o.Version = V1
	}
	if o.FileID == ([16]byte{}) {
		rand.Read(o.FileID[:]) // never fails
	}
	return o
}

// Summary describes a finished file.
type Summary struct {
	Bytes  int64
	FileID [16]byte // all zero without sums
	CRC    uint32   // CRC32C of the whole file
}

// writerBufferBytes gathers blocks into one write to the file. Writes of one even size cost the system less than writes of
// the blocks as they come, by more than the copy takes.
const writerBufferBytes = 256 << 10

// Writer writes one file from start to end. Its first error is final: later calls return it again.
type Writer struct {
	opts   WriterOptions
	out    *bufio.Writer
	comp   Compressor
	offset int64
	crc    uint32 // of all bytes so far
	buf    []byte // stored form of the last block
	metas  []MetaBlock
	sums   sumsBuilder
	done   bool
	err    error
}

// NewWriter begins a file on w. The error is tablet.ErrUnsupported for a codec or version that cannot be written.
func NewWriter(w io.Writer, opts WriterOptions) (*Writer, error) {
	opts = opts.withDefaults()
	if opts.Version != V1 && opts.Version != V3 {
		return nil, fmt.Errorf("writing BCFile version %d.%d: %w", opts.Version.Major, opts.Version.Minor, tablet.ErrUnsupported)
	}
	comp, err := NewCompressor(opts.Codec, opts.Level)
	if err != nil {
		return nil, err
	}
	bw := &Writer{opts: opts, out: bufio.NewWriterSize(w, writerBufferBytes), comp: comp}
	bw.put([]byte(magic))
	return bw, bw.err
}

// WriteBlock compresses and writes an unnamed block. All of them come before the first named one.
func (w *Writer) WriteBlock(raw []byte) (Region, error) {
	if err := w.unnamed(); err != nil {
		return Region{}, err
	}
	return w.block(raw)
}

// WriteStored writes an unnamed block that is compressed already, by the codec of this file, and has rawBytes raw bytes.
// It is for copying blocks from file to file and for compressing elsewhere; neither claim is checked.
func (w *Writer) WriteStored(stored []byte, rawBytes int64) (Region, error) {
	if err := w.unnamed(); err != nil {
		return Region{}, err
	}
	return w.stored(stored, rawBytes)
}

// WriteMeta compresses and writes a named block. Names are not empty, differ, and are not those that Finish writes.
func (w *Writer) WriteMeta(name string, raw []byte) error {
	if name == indexName || name == SumsName || name == "" {
		return w.fail(fmt.Errorf("named block %q is reserved: %w", name, tablet.ErrUsage))
	}
	return w.meta(name, raw)
}

// Offset is the file's length so far.
func (w *Writer) Offset() int64 { return w.offset }

// Finish writes what ends a file and flushes it to the underlying writer, which is neither synced nor closed. Nothing can
// be written afterwards.
func (w *Writer) Finish() (Summary, error) {
	if err := w.meta(indexName, appendIndexBlock(nil, w.opts.Codec)); err != nil {
		return Summary{}, err
	}
	id := w.opts.FileID
	if w.opts.NoSums {
		id = [16]byte{}
		w.put(w.ending(w.offset))
	} else {
		w.finishWithSums()
	}
	if err := w.out.Flush(); err != nil {
		w.fail(err)
	}
	if err := w.comp.Close(); err != nil {
		w.fail(err)
	}
	if w.err != nil {
		return Summary{}, w.err
	}
	w.done = true
	return Summary{Bytes: w.offset, FileID: id, CRC: w.crc}, nil
}

// finishWithSums writes sums and ending. The sums hold a checksum of what follows them, and what follows holds their
// place, so their size has to be known beforehand.
func (w *Writer) finishWithSums() {
	r := Region{Offset: w.offset, Stored: w.sums.bytes(), Raw: w.sums.bytes()}
	w.metas = append(w.metas, MetaBlock{Name: SumsName, Codec: None, Region: r})
	ending := w.ending(r.End())
	w.put(w.sums.encode(w.opts.FileID, outsideOf(ending)))
	w.put(ending)
}

// outsideOf is the checksum of all bytes outside blocks, given what follows them.
func outsideOf(ending []byte) uint32 {
	return crc32.Update(crc32.Checksum([]byte(magic), castagnoli), castagnoli, ending)
}

// ending returns all that follows the blocks, which end at offset.
func (w *Writer) ending(offset int64) []byte {
	b := appendMetaIndex(nil, w.metas)
	return appendFooter(b, w.opts.Version, offset, int64(len(b)))
}

func (w *Writer) unnamed() error {
	if err := w.usable(); err != nil {
		return err
	}
	if len(w.metas) > 0 {
		return w.fail(fmt.Errorf("unnamed block after the named block %q: %w", w.metas[0].Name, tablet.ErrUsage))
	}
	return nil
}

func (w *Writer) usable() error {
	if w.err == nil && w.done {
		return fmt.Errorf("write to a finished BCFile: %w", tablet.ErrClosed)
	}
	return w.err
}

func (w *Writer) meta(name string, raw []byte) error {
	if err := w.usable(); err != nil {
		return err
	}
	for _, m := range w.metas {
		if m.Name == name {
			return w.fail(fmt.Errorf("named block %q is written twice: %w", name, tablet.ErrUsage))
		}
	}
	r, err := w.block(raw)
	if err != nil {
		return err
	}
	w.metas = append(w.metas, MetaBlock{Name: name, Codec: w.opts.Codec, Region: r})
	return nil
}

func (w *Writer) block(raw []byte) (Region, error) {
	if err := w.usable(); err != nil {
		return Region{}, err
	}
	if w.opts.Codec == None {
		return w.stored(raw, int64(len(raw)))
	}
	if len(raw) > maxRawBytes {
		return Region{}, w.fail(errBlockSize(int64(len(raw))))
	}
	buf, err := w.comp.Compress(w.buf[:0], raw)
	w.buf = buf
	if err != nil {
		return Region{}, w.fail(fmt.Errorf("compress a block of %d bytes with %s: %w", len(raw), w.opts.Codec, err))
	}
	return w.stored(buf, int64(len(raw)))
}

func (w *Writer) stored(stored []byte, rawBytes int64) (Region, error) {
	if rawBytes < 0 || rawBytes > maxRawBytes || int64(len(stored)) > 2*maxRawBytes {
		return Region{}, w.fail(errBlockSize(rawBytes))
	}
	r := Region{Offset: w.offset, Stored: int64(len(stored)), Raw: rawBytes}
	crc := crc32.Checksum(stored, castagnoli)
	if !w.opts.NoSums {
		if err := w.sums.add(Sum{r.Offset, r.Stored, crc}); err != nil {
			return Region{}, w.fail(err)
		}
	}
	w.putSummed(stored, crc)
	return r, w.err
}

func errBlockSize(rawBytes int64) error {
	return fmt.Errorf("block of %d raw bytes, at most %d are allowed: %w", rawBytes, maxRawBytes, tablet.ErrUsage)
}

func (w *Writer) put(b []byte) { w.putSummed(b, crc32.Checksum(b, castagnoli)) }

// putSummed writes bytes whose checksum is known.
func (w *Writer) putSummed(b []byte, crc uint32) {
	if w.err != nil {
		return
	}
	if _, err := w.out.Write(b); err != nil {
		w.fail(err)
		return
	}
	w.offset += int64(len(b))
	w.crc = joinCRC(w.crc, crc, len(b))
}

// fail makes err the writer's last word, unless it has one.
func (w *Writer) fail(err error) error {
	if w.err == nil {
		w.err = err
	}
	return w.err
}
