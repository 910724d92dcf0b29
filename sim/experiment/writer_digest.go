package experiment

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"millrace/tablet"
)

// entriesDigest is of entries in order: their columns and values, without the timestamps that stores give.
type entriesDigest struct {
	entries int
	sum     [sha256.Size]byte
}

// digester makes an entriesDigest, an entry at a time.
type digester struct {
	hash    hash.Hash
	entries int
	scratch []byte
}

// add takes the parts of an entry.
func (d *digester) add(parts ...[]byte) {
	if d.hash == nil {
		d.hash = sha256.New()
	}
	d.scratch = d.scratch[:0]
	for _, p := range parts {
		d.scratch = append(binary.AppendUvarint(d.scratch, uint64(len(p))), p...)
	}
	d.hash.Write(d.scratch)
	d.entries++
}

func (d *digester) digest() (e entriesDigest) {
	e.entries = d.entries
	if d.hash != nil {
		d.hash.Sum(e.sum[:0])
	}
	return e
}

// writtenDigest is of what mutations of different rows write.
func writtenDigest(mutations []*tablet.Mutation) entriesDigest {
	sorted := slices.SortedFunc(slices.Values(mutations), func(a, b *tablet.Mutation) int { return bytes.Compare(a.Row(), b.Row()) })
	var d digester
	for _, m := range sorted {
		for u := range m.All() {
			d.add(m.Row(), u.Family, u.Qualifier, u.Visibility, u.Value)
		}
	}
	return d.digest()
}
