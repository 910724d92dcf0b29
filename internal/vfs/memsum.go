package vfs

import (
	"encoding/binary"
	"hash/maphash"
)

var sumSeed = maphash.MakeSeed()

// Sum is a fingerprint of all names and bytes that the process sees: equal within one process for trees that hold the same,
// whatever of it is pending. Whoever opens many images need not open one twice.
func (m *MemFS) Sum() uint64 {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	var h maphash.Hash
	h.SetSeed(sumSeed)
	m.root.sum(&h)
	return h.Sum64()
}

func (n *memNode) sum(h *maphash.Hash) {
	if n.dir {
		sumNumber(h, -1-int64(len(n.entries)))
		for _, e := range n.entries {
			sumNumber(h, int64(len(e.name)))
			h.WriteString(e.name)
			e.node.sum(h)
		}
		return
	}
	sumNumber(h, n.content.length)
	left := n.content.length
	for _, p := range n.content.pages {
		part := min(left, PageBytes)
		h.Write(p[:part])
		left -= part
	}
}

func sumNumber(h *maphash.Hash, n int64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(n))
	h.Write(b[:])
}
