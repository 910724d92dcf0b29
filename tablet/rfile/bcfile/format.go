package bcfile

import (
	"hash/crc32"
	"math"
)

// A file, all integers big-endian:
//
//	offset 0   magic                      16 bytes
//	      16   unnamed blocks             back to back, addressed by Region from outside
//	           named blocks               back to back; BCFile.index, then millrace.sums if the file has sums
//	           meta index                 TVInt count, count × { TString "data:"+name, TString codec, Region }
//	           crypto section             3.0 only: i32 length, parameters
//	           trailer                    i64 meta index offset
//	                                      i64 crypto section offset (3.0 only)
//	                                      i16 major, i16 minor
//	                                      magic
//
// BCFile.index is { TString default codec, TVInt n, n × Region }; n > 0 only in RFile versions 3 and 4.
//
// millrace.sums is always the last block and stored as it is (codec none), so that the 64 KiB before the end of the file
// hold its end even when trailer or meta index are damaged:
//
//	 0  magic      8 bytes   sumsMagic
//	 8  version    u16       1
//	10  zero       u16
//	12  n          u32
//	16  file id    16 bytes  random
//	32  n × 16               u64 offset, u32 stored size, u32 CRC32C of the stored bytes
//	+0  outside    u32       CRC32C of all bytes outside blocks: first magic, meta index, crypto section, trailer
//	+4  length     u32       of millrace.sums, 52 + 16·n
//	+8  own        u32       CRC32C of everything before this field
//	+12 end magic  8 bytes   sumsEndMagic
//
// The n blocks ascend and tile the bytes from 16 up to millrace.sums; a block that stores no bytes is not listed. The
// file id tells a file from any other, so that blocks of one cannot pass for those of another of the same shape: it is
// repeated in the manifest. The same bytes in a file of their own are a sidecar for a file that was written elsewhere.
//
//	sums version   since   change
//	1              0.1     first
const (
	magicBytes = 16
	// minFileBytes is a magic and the shortest trailer; a shorter file is no BCFile.
	minFileBytes = magicBytes + trailer1Bytes
	// firstBlock is the offset of the first block.
	firstBlock = magicBytes

	trailer1Bytes = 8 + 4 + magicBytes
	trailer3Bytes = 8 + 8 + 4 + magicBytes

	metaPrefix = "data:"
	indexName  = "BCFile.index"

	// SumsName is the name of the block of checksums.
	SumsName = "millrace.sums"

	// plainCrypto are the crypto parameters of a 3.0 file that is not encrypted. They are seven ASCII bytes.
	plainCrypto = "U+1F47B"

	// maxRawBytes is the limit of one block: Accumulo counts raw bytes in 31 bits and needs one to spare.
	maxRawBytes = math.MaxInt32 - 1
)

const magic = "\xd1\x11\xd3\x68\x91\xb5\xd7\xb6\x39\xdf\x41\x40\x92\xba\xe1\x50"

const (
	sumsMagic    = "MRSUMS\x1a\n"
	sumsEndMagic = "\n\x1asmusRM"

	sumsVersion     = 1
	sumsHeaderBytes = 8 + 2 + 2 + 4 + 16
	sumsEntryBytes  = 8 + 4 + 4
	sumsFooterBytes = 4 + 4 + 4 + 8
	sumsOwnBytes    = 4 + 8 // what follows the bytes that the own CRC covers

	// maxSumsBlocks keeps the length in its 32 bits: 52 + 16·2^27 < 2^32.
	maxSumsBlocks = 1 << 27

	// sumsScanBytes is how much of a file's end is searched for sumsEndMagic.
	sumsScanBytes = 64 << 10
)

// castagnoli is CRC32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Version is the container's, from the trailer.
type Version struct{ Major, Minor uint16 }

var (
	// V1 is read by every Accumulo release.
	V1 = Version{1, 0}
	// V3 is what Accumulo 2.0 and later write; 1.10 refuses it.
	V3 = Version{3, 0}
)
