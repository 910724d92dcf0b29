package rfile

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"

	"millrace/tablet"
)

// Digest is a SHA-256 over entries in a canonical form, the same for every codec, block size and grouping: each field
// with its length as 4 bytes, the timestamp as 8, the delete flag as one, the value with its length as 4.
type Digest struct {
	h   hash.Hash
	buf []byte
}

// digestBufferBytes is how much is gathered for one call of the hash.
const digestBufferBytes = 32 << 10

// NewDigest returns the digest of no entries.
func NewDigest() *Digest {
	return &Digest{h: sha256.New(), buf: make([]byte, 0, digestBufferBytes+4096)}
}

// Add takes one entry, the next in order.
func (d *Digest) Add(k *tablet.Key, value []byte) {
	d.buf = appendSized(d.buf, k.Row())
	d.buf = appendSized(d.buf, k.Family())
	d.buf = appendSized(d.buf, k.Qualifier())
	d.buf = appendSized(d.buf, k.Visibility())
	d.buf = binary.BigEndian.AppendUint64(d.buf, uint64(k.Timestamp()))
	d.buf = appendFlag(d.buf, k.Deleted())
	d.buf = appendSized(d.buf, value)
	if len(d.buf) >= digestBufferBytes {
		d.flush()
	}
}

// AddRun takes entries lo to hi of a batch.
func (d *Digest) AddRun(b *tablet.Batch, lo, hi int) {
	for i := lo; i < hi; i++ {
		k := b.Key(i)
		d.Add(&k, b.Value(i))
	}
}

func (d *Digest) flush() {
	d.h.Write(d.buf)
	d.buf = d.buf[:0]
}

// Hex is the digest so far, in lower-case hex.
func (d *Digest) Hex() string {
	d.flush()
	return hex.EncodeToString(d.h.Sum(nil))
}

func appendSized(dst, b []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}
