package rfile

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"millrace/internal/wire"
	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// node is an index node used where it lies: nothing is decoded but the header until an entry is asked for.
//
//	0   i32 level, i32 offset, bool hasNext, i32 n
//	13  n × i32 start of each entry, relative to the first byte after size
//	    i32 size
//	    n × {Key, i32 entries, Region}, back to back
type node struct {
	level   int
	offset  int // leaf entries of the group before this subtree
	hasNext bool
	n       int
	starts  []byte
	entries []byte
	decoded []int // the offset array, in a node that was copied
}

// indexEntry is one decoded entry of a node: a data block, or a child node.
type indexEntry struct {
	key     tablet.Key // a view of the node
	entries int        // in the data block; 0 for a child
	region  bcfile.Region
}

// parseNode reads a node from the front of b and returns the bytes it takes.
func parseNode(b []byte) (node, int, error) {
	f := fields{b: b}
	nd := node{level: f.int32("node's level"), offset: f.int32("node's offset"), hasNext: f.bool("node's hasNext")}
	nd.n = f.count("node's number of entries", 4)
	nd.starts = f.take("node's offset array", 4*nd.n)
	nd.entries = f.take("node's entries", f.int32("node's size"))
	if f.err == nil && (nd.level < 0 || nd.level > maxIndexLevels || nd.offset < 0) {
		f.fail(fmt.Sprintf("node of level %d, offset %d", nd.level, nd.offset), wire.ErrMalformed)
	}
	return nd, f.at, f.err
}

// maxIndexLevels bounds the depth of an index; with two entries a node, 2^31 blocks take 31.
const maxIndexLevels = 32

// start is where entry i begins, or where the entries end for i = n.
func (nd *node) start(i int) int {
	if i == nd.n {
		return len(nd.entries)
	}
	if nd.decoded != nil {
		return nd.decoded[i]
	}
	return int(int32(binary.BigEndian.Uint32(nd.starts[4*i:])))
}

// copyEntries makes the node independent of the block it was read from and decodes its offsets beforehand, as
// Accumulo's releases did before they used index blocks in place. It is there to be compared with.
func (nd *node) copyEntries() {
	nd.entries = bytes.Clone(nd.entries)
	decoded := make([]int, nd.n)
	for i := range decoded {
		decoded[i] = nd.start(i)
	}
	nd.decoded = decoded
}

// bytesOf are the bytes of entry i.
func (nd *node) bytesOf(i int) ([]byte, error) {
	from, to := nd.start(i), nd.start(i+1)
	if from < 0 || to < from || to > len(nd.entries) || i == 0 && from != 0 {
		return nil, fmt.Errorf("index entry %d of %d lies at %d to %d of %d bytes", i, nd.n, from, to, len(nd.entries))
	}
	return nd.entries[from:to], nil
}

// key reads the key of entry i and nothing else.
func (nd *node) key(i int) (tablet.Key, error) {
	b, err := nd.bytesOf(i)
	if err != nil {
		return tablet.Key{}, err
	}
	k, _, err := parseKey(b)
	if err != nil {
		return tablet.Key{}, fmt.Errorf("index entry %d: %w", i, err)
	}
	return k, nil
}

// entry reads entry i, which must fill its place exactly.
func (nd *node) entry(i int) (e indexEntry, err error) {
	b, err := nd.bytesOf(i)
	if err != nil {
		return e, err
	}
	f := fields{b: b}
	e.key = f.key("index entry's key")
	e.entries = f.int32("index entry's count")
	if f.err != nil {
		return e, f.err
	}
	region, n, err := bcfile.ParseRegion(b[f.at:])
	if err != nil {
		return e, fmt.Errorf("index entry %d: %w", i, err)
	}
	if f.at+n != len(b) {
		return e, fmt.Errorf("index entry %d has %d bytes too many", i, len(b)-f.at-n)
	}
	if e.entries < 0 || nd.level == 0 && e.entries == 0 {
		return e, fmt.Errorf("index entry %d counts %d entries", i, e.entries)
	}
	e.region = region
	return e, nil
}

// search returns the first entry whose key is at least k, n if there is none.
func (nd *node) search(k *tablet.Key) (int, error) {
	lo, hi := 0, nd.n
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		at, err := nd.key(mid)
		if err != nil {
			return 0, err
		}
		if tablet.Compare(&at, k) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo, nil
}

// appendIndexEntry appends an entry as it stands in a node.
func appendIndexEntry(dst []byte, k *tablet.Key, entries int, r bcfile.Region) []byte {
	return appendCountAndRegion(appendKey(dst, k), entries, r)
}

// appendCountAndRegion appends what follows the key in an entry.
func appendCountAndRegion(dst []byte, entries int, r bcfile.Region) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(entries))
	return bcfile.AppendRegion(dst, r)
}

// nodeBuilder collects the entries of a node being written.
type nodeBuilder struct {
	level, offset int
	starts        []uint32
	entries       []byte
}

func (nb *nodeBuilder) add(entry []byte) {
	nb.starts = append(nb.starts, uint32(len(nb.entries)))
	nb.entries = append(nb.entries, entry...)
}

// full says whether the node has outgrown its size, by Accumulo's measure. One entry is never too many.
func (nb *nodeBuilder) full(limit int) bool {
	return len(nb.starts) > 1 && len(nb.entries)+4*len(nb.starts) > limit
}

func (nb *nodeBuilder) append(dst []byte, hasNext bool) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(nb.level))
	dst = binary.BigEndian.AppendUint32(dst, uint32(nb.offset))
	dst = appendFlag(dst, hasNext)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(nb.starts)))
	for _, s := range nb.starts {
		dst = binary.BigEndian.AppendUint32(dst, s)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(nb.entries)))
	return append(dst, nb.entries...)
}

func appendFlag(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}
