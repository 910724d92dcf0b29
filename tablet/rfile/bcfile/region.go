package bcfile

import (
	"fmt"

	"millrace/internal/wire"
)

// Region says where a block lies: file offset, stored bytes, and raw bytes once decompressed.
type Region struct{ Offset, Stored, Raw int64 }

// String says it for messages.
func (r Region) String() string {
	return fmt.Sprintf("%d bytes at %d (%d raw)", r.Stored, r.Offset, r.Raw)
}

// End is the offset behind the block's last stored byte.
func (r Region) End() int64 { return r.Offset + r.Stored }

// AppendRegion appends three TVLongs.
func AppendRegion(dst []byte, r Region) []byte {
	dst = wire.AppendTVLong(dst, r.Offset)
	dst = wire.AppendTVLong(dst, r.Stored)
	return wire.AppendTVLong(dst, r.Raw)
}

// ParseRegion decodes the region at the front of b. Its numbers are not negative and its end does not overflow, but
// whether it lies inside a file only the caller can say. Errors wrap those of package wire.
func ParseRegion(b []byte) (r Region, n int, err error) {
	for _, field := range []*int64{&r.Offset, &r.Stored, &r.Raw} {
		v, used, err := wire.TVLong(b[n:])
		if err != nil {
			return Region{}, 0, err
		}
		*field = v
		n += used
	}
	if r.Offset < 0 || r.Stored < 0 || r.Raw < 0 || r.End() < 0 {
		return Region{}, 0, fmt.Errorf("%w: region of %v", wire.ErrMalformed, r)
	}
	return r, n, nil
}

// within says whether the block lies in the area of blocks, which ends at limit.
func (r Region) within(limit int64) bool {
	return r.Offset >= firstBlock && r.Stored >= 0 && r.Raw >= 0 && r.Stored <= limit && r.Offset <= limit-r.Stored
}
