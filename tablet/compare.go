package tablet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
)

// Depth is how many parts of a key a partial comparison looks at, in key order.
type Depth uint8

// The depths, each including those before it.
const (
	DepthRow Depth = iota + 1
	DepthFamily
	DepthQualifier
	DepthVisibility
	DepthTimestamp
	DepthAll
)

// Compare orders two keys: row, family, qualifier, visibility ascending as unsigned bytes with a proper prefix first,
// timestamp descending, delete markers before puts. It returns -1, 0 or +1.
func Compare(a, b *Key) int {
	if a.ends == b.ends {
		// Fields end at the same places, so the first differing byte of the whole decides.
		if c := bytes.Compare(a.data, b.data); c != 0 {
			return c
		}
	} else if c := ComparePartial(a, b, DepthVisibility); c != 0 {
		return c
	}
	return compareVersion(a, b)
}

func compareVersion(a, b *Key) int {
	switch {
	case a.ts > b.ts:
		return -1
	case a.ts < b.ts:
		return 1
	case a.deleted == b.deleted:
		return 0
	case a.deleted:
		return -1
	}
	return 1
}

// ComparePartial orders two keys by their first parts only.
func ComparePartial(a, b *Key, depth Depth) int {
	c := bytes.Compare(a.Row(), b.Row())
	if c != 0 || depth == DepthRow {
		return c
	}
	c = bytes.Compare(a.Family(), b.Family())
	if c != 0 || depth == DepthFamily {
		return c
	}
	c = bytes.Compare(a.Qualifier(), b.Qualifier())
	if c != 0 || depth == DepthQualifier {
		return c
	}
	c = bytes.Compare(a.Visibility(), b.Visibility())
	if c != 0 || depth == DepthVisibility {
		return c
	}
	if depth == DepthTimestamp {
		return -cmp.Compare(a.ts, b.ts)
	}
	return compareVersion(a, b)
}

// SameCell says whether two keys agree in row, family, qualifier and visibility.
func SameCell(a, b *Key) bool { return a.ends == b.ends && bytes.Equal(a.data, b.data) }

// SameRow says whether two keys agree in their row.
func SameRow(a, b *Key) bool { return bytes.Equal(a.Row(), b.Row()) }

// CommonPrefix is the number of leading bytes that a and b share.
func CommonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)/8
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
