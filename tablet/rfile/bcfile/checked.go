package bcfile

import (
	"bytes"
	"fmt"

	"millrace/internal/invariant"
)

// checkedCompressor decompresses what it has compressed and holds it against what it was given: a codec that gets rare
// input wrong is found before anything relies on it.
type checkedCompressor struct {
	Compressor
	name string
	back Decompressor
	raw  []byte
}

// newChecked wraps a codec's compressor where the program checks itself.
func newChecked(c Compressor, name string) (Compressor, error) {
	if !invariant.Enabled || name == None {
		return c, nil
	}
	back, err := NewDecompressor(name)
	if err != nil {
		return nil, err
	}
	return &checkedCompressor{Compressor: c, name: name, back: back}, nil
}

func (c *checkedCompressor) Compress(dst, raw []byte) ([]byte, error) {
	out, err := c.Compressor.Compress(dst, raw)
	if err != nil {
		return out, err
	}
	got, err := c.back.Decompress(c.raw[:0], out[len(dst):], len(raw))
	c.raw = got
	if err == nil && !bytes.Equal(got, raw) {
		err = fmt.Errorf("other bytes come back")
	}
	if err != nil {
		return out, fmt.Errorf("codec %s: a block of %d bytes, compressed to %d, does not decompress to itself: %w", c.name, len(raw), len(out)-len(dst), err)
	}
	return out, nil
}

func (c *checkedCompressor) Close() error {
	c.back.Close()
	return c.Compressor.Close()
}
