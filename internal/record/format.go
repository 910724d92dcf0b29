package record

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/bits"
)

// Versions of the framing as a whole; the kind's own version is the Header's.
//
//	"mrec"  the first
//
// A file:
//
//	header, 24 bytes
//	   0  magic      "mrec" and four letters of the kind
//	   8  version    of the kind
//	  12  number     of the file
//	  20  sum        CRC32C of the bytes before
//	then frames
//	   0  sum        CRC32C of the rest of the frame, begun with the seed of (file number, offset of the frame)
//	   4  length     of the payload; 0 in the seal, which is the last frame
//	   8  synced     bytes of the file that were on stable storage when the frame was written; at most its offset, and
//	                 exactly that in the seal
//	  16  payload
//
// Numbers are little-endian.
const (
	headerBytes = 24
	frameBytes  = 16 // of a frame before its payload
)

// FrameBytes is what a record takes beside its payload, in front of it.
const FrameBytes = frameBytes

// MaxPayload is the longest payload: what the length's four bytes can say.
const MaxPayload = math.MaxUint32

// Kind is what a file holds: four letters of its magic.
type Kind string

// The kinds.
const (
	Log      Kind = "wal "
	Manifest Kind = "mani"
)

// Header names a file from within.
type Header struct {
	Kind    Kind
	Version uint32 // of what the payloads mean
	Number  uint64 // of the file, never used twice
}

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	le         = binary.LittleEndian
)

const magic = "mrec"

func appendHeader(dst []byte, h Header) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	dst = append(dst, h.Kind...)
	dst = le.AppendUint32(dst, h.Version)
	dst = le.AppendUint64(dst, h.Number)
	return le.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
}

// parseHeader reads a header; ok says that it verifies.
func parseHeader(b []byte) (h Header, ok bool) {
	if string(b[:4]) != magic || le.Uint32(b[20:]) != crc32.Checksum(b[:20], castagnoli) {
		return Header{}, false
	}
	return Header{Kind: Kind(b[4:8]), Version: le.Uint32(b[8:]), Number: le.Uint64(b[12:])}, true
}

// seed is what the sum of a frame begins with. Offsets within 4 GiB of one file have different seeds, and so have files at
// one offset within 2³² numbers; a sum that begins differently ends differently, whatever bytes follow.
func seed(number uint64, offset int64) uint32 {
	low, high := uint32(number), uint32(number>>32)
	return low*0x9e3779b1 ^ bits.RotateLeft32(high*0x85ebca6b, 13) ^ uint32(offset) ^ bits.RotateLeft32(uint32(offset>>32)*0xc2b2ae35, 7)
}

// appendFrame appends one frame that will stand at offset.
func appendFrame(dst []byte, number uint64, offset, synced int64, payload []byte) []byte {
	start := len(dst)
	dst = le.AppendUint32(dst, 0)
	dst = le.AppendUint32(dst, uint32(len(payload)))
	dst = le.AppendUint64(dst, uint64(synced))
	dst = append(dst, payload...)
	le.PutUint32(dst[start:], crc32.Update(seed(number, offset), castagnoli, dst[start+4:]))
	return dst
}

// head is a frame's bytes before its payload.
type head struct {
	sum    uint32
	length int64
	synced uint64
}

func parseHead(b []byte) head {
	return head{sum: le.Uint32(b), length: int64(le.Uint32(b[4:])), synced: le.Uint64(b[8:])}
}

func (h head) seal() bool { return h.length == 0 }

// possible says whether a frame at offset of a file that ends at limit can have this head.
func (h head) possible(offset, limit int64) bool {
	if h.seal() {
		return h.synced == uint64(offset)
	}
	return h.synced <= uint64(offset) && h.length <= limit-offset-frameBytes
}
