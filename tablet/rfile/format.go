package rfile

// The block named RFile.index, and what it holds:
//
//	i32 magic, i32 version, i32 g, g × Group, [version 8: bool hasSamples, if so g × Group, SamplerConfig]
//
//	Group   bool isDefault, [JUTF name], [versions 3–7: i32 startBlock],
//	        i32 n (−1: families not tracked), n × {i32 length, family, i64 count},
//	        bool hasFirstKey, [Key], [versions 6–8: i32 totalEntries], Node
//	Node    i32 level, i32 offset, bool hasNext, i32 n, n × i32 start, i32 size, n × {Key, i32 entries, Region}
//
// Versions this package knows:
//
//	3  index is a plain list {Key, i32 entries}; block i of a group is region startBlock+i of the container
//	4  the same list with an offset array before it
//	6  index nodes
//	7  relative keys may share prefixes
//	8  samples; index keys may be shortened. The only one written.
const (
	indexMagic   = 0x20637474
	version8     = 8
	indexName    = "RFile.index"
	flagRowSame  = 0x01
	flagFamSame  = 0x02
	flagQualSame = 0x04
	flagVisSame  = 0x08
	flagTSSame   = 0x10
	flagDeleted  = 0x20
	flagPrefixes = 0x80 // a second byte of flags follows

	prefixRow  = 0x01
	prefixFam  = 0x02
	prefixQual = 0x04
	prefixVis  = 0x08
	prefixTS   = 0x10 // timestamp is a difference

	prefixFields  = prefixRow | prefixFam | prefixQual | prefixVis
	allFieldsSame = flagRowSame | flagFamSame | flagQualSame | flagVisSame
	relativeFlags = allFieldsSame | flagTSSame | flagPrefixes
	unknownFlags1 = 0x40
	unknownFlags2 = 0xe0

	// minPrefixBytes is the shortest common prefix that Accumulo's encoder records.
	minPrefixBytes = 2

	// maxTrackedFamilies is how many families a default group lists: Accumulo compares its limit of 1,000 after the fact.
	maxTrackedFamilies = 1001

	// firstBlock is where blocks begin, behind the container's magic.
	firstBlock = 16

	// DefaultBlockBytes and DefaultIndexBlockBytes are Accumulo's table.file.compress.blocksize and .blocksize.index.
	DefaultBlockBytes      = 100 << 10
	DefaultIndexBlockBytes = 128 << 10
)
