package bcfile

import (
	"slices"

	"github.com/klauspost/compress/zstd"
)

type zstdCompressor struct{ enc *zstd.Encoder }

func newZstdCompressor(level int) (Compressor, error) {
	if level < 0 || level > 22 {
		return nil, badLevel(Zstd, level)
	}
	encoderLevel := zstd.SpeedDefault
	if level > 0 {
		encoderLevel = zstd.EncoderLevelFromZstd(level)
	}
	enc, err := zstd.NewWriter(nil,
		zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderLevel(encoderLevel),
		zstd.WithEncoderCRC(false), // as Hadoop's; sums cover the block
		zstd.WithZeroFrames(true),  // an empty block is a frame, too
		zstd.WithLowerEncoderMem(true),
	)
	if err != nil {
		return nil, err
	}
	return &zstdCompressor{enc}, nil
}

func (c *zstdCompressor) Compress(dst, raw []byte) ([]byte, error) {
	return c.enc.EncodeAll(raw, dst), nil
}

func (c *zstdCompressor) Close() error { return c.enc.Close() }

type zstdDecompressor struct{ dec *zstd.Decoder }

// zstdSlackBytes beyond the output let the library copy in whole words.
const zstdSlackBytes = 64

func (d *zstdDecompressor) Decompress(dst, stored []byte, rawBytes int) ([]byte, error) {
	if err := d.init(); err != nil {
		return dst, err
	}
	if len(stored) == 0 {
		return dst, errCut
	}
	start := len(dst)
	room := startBytes(len(stored), rawBytes)
	for {
		room = max(room, min(rawBytes, cap(dst)-start))
		dst = slices.Grow(dst, room+zstdSlackBytes)
		out, err := d.dec.DecodeAll(stored, dst[:start:start+room+zstdSlackBytes])
		switch {
		case err == nil && len(out)-start == rawBytes:
			return out, nil
		case err == nil && len(out)-start < rawBytes:
			return dst, errTooShort
		case room == rawBytes && err != nil:
			return dst, err
		case room == rawBytes:
			return dst, errTooLong
		}
		// Either damage or too little room; only more room tells.
		room = min(rawBytes, 4*room)
	}
}

func (d *zstdDecompressor) init() (err error) {
	if d.dec == nil {
		d.dec, err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true),
			zstd.WithDecodeAllCapLimit(true),
		)
	}
	return err
}

func (d *zstdDecompressor) Close() {
	if d.dec != nil {
		d.dec.Close()
	}
}
