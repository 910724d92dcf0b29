package record

import (
	"hash/crc32"
	"math/bits"

	"millrace/tablet"
)

// sumPieceBytes is how much of a long frame is summed at a time.
const sumPieceBytes = 64 << 10

// lookAlikes bounds the bytes summed in search of a proof: as many times the rest of the file, and this many besides.
const (
	lookAlikeTimes = 16
	lookAlikeBytes = 64 << 20
)

// proof looks behind r.off for a frame that verifies and says that the byte at r.off was synced before it was written.
// Every place is tried, since the lengths in between cannot be trusted. A head must name a number between two offsets of
// this file in its eight bytes, so next to nothing is summed in vain; a file made so that much is, is refused as damaged.
func (r *Reader) proof() (offset int64, found bool, err error) {
	bad := r.off
	zeros := bits.LeadingZeros64(uint64(r.limit)) / 8 // the highest bytes of every offset
	budget := lookAlikeTimes*(r.limit-bad) + lookAlikeBytes
	for q := bad + 1; q+frameBytes <= r.limit; {
		n := int(min(windowBytes, r.limit-q))
		b, err := r.load(q, n)
		if err != nil {
			return 0, false, err
		}
		for i := 0; i+frameBytes <= n; i++ {
			if b[i+15] != 0 && zeros > 0 {
				i += zeros - 1 // nor does any of these places have zeros where it needs them
				continue
			}
			at := q + int64(i)
			if synced := le.Uint64(b[i+8:]); synced <= uint64(bad) || synced > uint64(at) {
				continue
			}
			h := parseHead(b[i:])
			if !h.possible(at, r.limit) {
				continue
			}
			if budget -= frameBytes + h.length; budget < 0 {
				return 0, false, tablet.Corruptf(r.f.Name(), bad, "record does not verify, and too many bytes behind it look like records")
			}
			if ok, err := r.verifies(at, h); ok || err != nil {
				return at, ok, err
			}
		}
		q += int64(n) - frameBytes + 1
	}
	return 0, false, nil
}

// verifies sums the frame at off piece by piece, without the window.
func (r *Reader) verifies(off int64, h head) (bool, error) {
	sum := seed(r.want.Number, off)
	left := frameBytes - 4 + h.length
	if r.piece == nil {
		r.piece = make([]byte, sumPieceBytes)
	}
	for at := off + 4; left > 0; {
		p := r.piece[:min(left, sumPieceBytes)]
		if err := readFull(r.f, p, at); err != nil {
			return false, err
		}
		sum = crc32.Update(sum, castagnoli, p)
		at += int64(len(p))
		left -= int64(len(p))
	}
	return sum == h.sum, nil
}
