package bcfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
)

// Hadoop's block framing, around raw snappy and lz4 blocks:
//
//	until the stored bytes are used up:
//	    i32 total               raw bytes in this frame; 0 ends the stream
//	    until the chunks' raw bytes add up to total:
//	        i32 n, bytes[n]     one chunk, compressed on its own
//
// We write one chunk a frame, cut where Hadoop cuts, since Accumulo's reader has buffers of a fixed size: a chunk takes at
// most 65,536 bytes for snappy and 262,144 for lz4, raw and stored.
const (
	snappyChunkBytes = 65536 - (65536/6 + 32)     // 54,582
	lz4ChunkBytes    = 262144 - (262144/255 + 16) // 261,100

	snappyMaxRatio = 22
	lz4MaxRatio    = 256
)

var (
	errFrameSize = errors.New("frame of negative size")
	errChunkSize = errors.New("chunk leaves the stream")
	errNoBytes   = errors.New("chunk gives no bytes")
)

type framedCompressor struct {
	chunkBytes int
	// chunk appends the compressed form of raw, which is not empty.
	chunk func(dst, raw []byte) ([]byte, error)
}

func (c *framedCompressor) Compress(dst, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return binary.BigEndian.AppendUint32(dst, 0), nil
	}
	for len(raw) > 0 {
		part := raw[:min(c.chunkBytes, len(raw))]
		raw = raw[len(part):]
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(part)))
		sizeAt := len(dst)
		dst = binary.BigEndian.AppendUint32(dst, 0)
		var err error
		if dst, err = c.chunk(dst, part); err != nil {
			return dst, err
		}
		binary.BigEndian.PutUint32(dst[sizeAt:], uint32(len(dst)-sizeAt-4))
	}
	return dst, nil
}

func (c *framedCompressor) Close() error { return nil }

func newSnappyCompressor(level int) (Compressor, error) {
	var encode func(dst, src []byte) []byte
	switch level {
	case 0, 1:
		encode = s2.EncodeSnappy
	case 2:
		encode = s2.EncodeSnappyBetter
	case 3:
		encode = s2.EncodeSnappyBest
	default:
		return nil, badLevel(Snappy, level)
	}
	return &framedCompressor{snappyChunkBytes, func(dst, raw []byte) ([]byte, error) {
		dst = slices.Grow(dst, s2.MaxEncodedLen(len(raw)))
		out := encode(dst[len(dst):cap(dst)], raw)
		return dst[:len(dst)+len(out)], nil
	}}, nil
}

func newLZ4Compressor(level int) (Compressor, error) {
	var block interface {
		CompressBlock(src, dst []byte) (int, error)
	}
	switch {
	case level == 0 || level == 1:
		block = new(lz4.CompressorCCompat) // as fast as the library's own, and steadier on blocks over 64 KiB
	case level >= 2 && level <= 9:
		// The library's levels are search depths, 512 << level.
		block = &lz4.CompressorHC{Level: lz4.CompressionLevel(1 << (8 + level))}
	default:
		return nil, badLevel(LZ4, level)
	}
	return &framedCompressor{lz4ChunkBytes, func(dst, raw []byte) ([]byte, error) {
		bound := lz4.CompressBlockBound(len(raw))
		dst = slices.Grow(dst, bound)
		n, err := block.CompressBlock(raw, dst[len(dst):len(dst)+bound])
		if err == nil && n == 0 {
			err = errNoBytes
		}
		return dst[:len(dst)+n], err
	}}, nil
}

type framedDecompressor struct {
	// chunk appends the raw bytes of one chunk, at most room of them, for which dst has room.
	chunk func(dst, chunk []byte, room int) ([]byte, error)
	// maxRatio bounds the raw bytes that one byte of a chunk can stand for.
	maxRatio int
}

func (d *framedDecompressor) Decompress(dst, stored []byte, rawBytes int) ([]byte, error) {
	start := len(dst)
	dst = slices.Grow(dst, startBytes(len(stored), rawBytes))
	for len(stored) > 0 {
		total, rest, err := frameSize(stored)
		if err != nil {
			return dst, err
		}
		if total == 0 {
			if len(rest) > 0 {
				return dst, errLeftover
			}
			break
		}
		if total > rawBytes-(len(dst)-start) {
			return dst, errTooLong
		}
		if dst, stored, err = d.frame(dst, rest, total, start+rawBytes); err != nil {
			return dst, err
		}
	}
	if len(dst)-start < rawBytes {
		return dst, errTooShort
	}
	return dst, nil
}

func (d *framedDecompressor) Close() {}

// frame decodes the chunks of one frame and returns the bytes behind it. When all is decoded, dst will be of length end.
func (d *framedDecompressor) frame(dst, stored []byte, total, end int) ([]byte, []byte, error) {
	for left := total; left > 0; {
		n, rest, err := frameSize(stored)
		if err != nil {
			return dst, nil, err
		}
		if n > len(rest) {
			return dst, nil, errChunkSize
		}
		before := len(dst)
		if n > 0 {
			room := min(left, d.maxRatio*n)
			dst = growTwofold(dst, room, end)
			if dst, err = d.chunk(dst, rest[:n], room); err != nil {
				return dst, nil, err
			}
		}
		if len(dst) == before {
			return dst, nil, errNoBytes
		}
		left -= len(dst) - before
		stored = rest[n:]
	}
	return dst, stored, nil
}

func frameSize(b []byte) (size int, rest []byte, err error) {
	if len(b) < 4 {
		return 0, nil, errCut
	}
	v := int32(binary.BigEndian.Uint32(b))
	if v < 0 {
		return 0, nil, errFrameSize
	}
	return int(v), b[4:], nil
}

func snappyChunk(dst, chunk []byte, room int) ([]byte, error) {
	n, err := snappy.DecodedLen(chunk)
	if err != nil {
		return dst, fmt.Errorf("snappy: %w", err)
	}
	if n > room {
		return dst, errTooLong
	}
	if _, err := snappy.Decode(dst[len(dst):len(dst)+n], chunk); err != nil {
		return dst, fmt.Errorf("snappy: %w", err)
	}
	return dst[:len(dst)+n], nil
}

func lz4Chunk(dst, chunk []byte, room int) ([]byte, error) {
	n, err := lz4.UncompressBlock(chunk, dst[len(dst):len(dst)+room])
	if err != nil {
		return dst, err
	}
	return dst[:len(dst)+n], nil
}

// growTwofold makes room for n more bytes of a slice that will at last have the length end. It at least doubles the slice,
// where append would add a quarter to a large one, so that growing to any size copies each byte about once.
func growTwofold(dst []byte, n, end int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	return slices.Grow(dst, max(n, min(2*cap(dst), end)-len(dst)))
}
