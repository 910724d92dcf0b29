package bcfile

import (
	"bytes"
	"compress/bzip2"
	"io"

	"github.com/klauspost/compress/zlib"
)

// zlibDefaultLevel is Java's default, and gives the header 78 9c that all files of Accumulo have.
const zlibDefaultLevel = 6

type zlibCompressor struct {
	w   *zlib.Writer
	out sliceWriter
}

// sliceWriter is the io.Writer that a stream codec writes into.
type sliceWriter struct{ b []byte }

func (w *sliceWriter) Write(p []byte) (int, error) {
	w.b = append(w.b, p...)
	return len(p), nil
}

func newZlibCompressor(level int) (Compressor, error) {
	if level == 0 {
		level = zlibDefaultLevel
	}
	if level < zlib.BestSpeed || level > zlib.BestCompression {
		return nil, badLevel(Gz, level)
	}
	w, err := zlib.NewWriterLevel(nil, level)
	if err != nil {
		return nil, err
	}
	return &zlibCompressor{w: w}, nil
}

func (c *zlibCompressor) Compress(dst, raw []byte) ([]byte, error) {
	c.out.b = dst
	c.w.Reset(&c.out)
	_, err := c.w.Write(raw)
	if closeErr := c.w.Close(); err == nil {
		err = closeErr
	}
	dst, c.out.b = c.out.b, nil
	return dst, err
}

func (c *zlibCompressor) Close() error { return nil }

type zlibDecompressor struct {
	in    bytes.Reader // gives single bytes, so the codec takes none that it does not need
	zr    io.ReadCloser
	probe [1]byte
}

func (d *zlibDecompressor) Decompress(dst, stored []byte, rawBytes int) ([]byte, error) {
	if err := d.reset(stored); err != nil {
		return dst, err
	}
	dst, err := readExactly(dst, d.zr, d.probe[:], len(stored), rawBytes)
	if err == nil && d.in.Len() > 0 {
		// Accumulo would go on into a second stream, which no writer makes.
		err = errLeftover
	}
	d.in.Reset(nil)
	return dst, err
}

func (d *zlibDecompressor) reset(stored []byte) error {
	d.in.Reset(stored)
	if d.zr != nil {
		return d.zr.(zlib.Resetter).Reset(&d.in, nil)
	}
	zr, err := zlib.NewReader(&d.in)
	if err != nil {
		return err
	}
	d.zr = zr
	return nil
}

func (d *zlibDecompressor) Close() {}

// bzip2Decompressor allocates for each block; the library cannot be reset. The library itself refuses what follows the
// stream.
type bzip2Decompressor struct {
	in    bytes.Reader
	probe [1]byte
}

func (d *bzip2Decompressor) Decompress(dst, stored []byte, rawBytes int) ([]byte, error) {
	d.in.Reset(stored)
	dst, err := readExactly(dst, bzip2.NewReader(&d.in), d.probe[:], len(stored), rawBytes)
	if err == nil && d.in.Len() > 0 {
		err = errLeftover
	}
	d.in.Reset(nil)
	return dst, err
}

func (d *bzip2Decompressor) Close() {}
