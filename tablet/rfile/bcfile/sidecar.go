package bcfile

import (
	"context"
	"fmt"
	"slices"

	"millrace/internal/vfs"
)

// Sidecar computes the checksums of a file that has none of its own, for keeping beside it; give them to Open as
// ReaderOptions.Sidecar. regions are the unnamed blocks, in any order; the container knows only the named ones. Bytes
// between blocks are covered, too.
func Sidecar(ctx context.Context, f vfs.File, id [16]byte, regions []Region) (*Sums, error) {
	src, err := newSource(f)
	if err != nil {
		return nil, err
	}
	r, err := open(src, ReaderOptions{SkipSums: true}.withDefaults())
	if err != nil {
		return nil, explain(src, err)
	}
	src.tail = nil
	all := slices.Concat(regions, r.regions)
	for _, m := range r.metas {
		all = append(all, m.Region)
	}
	var b sumsBuilder
	if err := b.addRegions(ctx, src, all, r.footer.metaIndex); err != nil {
		return nil, err
	}
	outside, err := outsideChecksum(src, r.footer.metaIndex)
	if err != nil {
		return nil, err
	}
	return ParseSums(src.name, b.encode(id, outside))
}

// addRegions adds the blocks in order, and what lies between them as blocks of its own.
func (b *sumsBuilder) addRegions(ctx context.Context, src *source, regions []Region, end int64) error {
	slices.SortFunc(regions, func(x, y Region) int {
		if x.Offset != y.Offset {
			return int(min(max(x.Offset-y.Offset, -1), 1))
		}
		return int(min(max(x.Stored-y.Stored, -1), 1))
	})
	next := int64(firstBlock)
	for i, r := range append(regions, Region{Offset: end}) {
		if !r.within(end) || r.Offset < next && r.Stored > 0 && (i == 0 || r.Offset != regions[i-1].Offset || r.Stored != regions[i-1].Stored) {
			return src.corrupt(r.Offset, "block of %d bytes overlaps another or leaves the blocks' area, 16 to %d", r.Stored, end)
		}
		if r.Offset < next {
			continue // named twice, or empty
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("checksums of %s: %w", src.name, err)
		}
		if err := b.addRange(src, next, r.Offset); err != nil {
			return err
		}
		if err := b.addRange(src, r.Offset, r.End()); err != nil {
			return err
		}
		next = r.End()
	}
	return nil
}

func (b *sumsBuilder) addRange(src *source, from, to int64) error {
	crc, err := src.checksum(0, from, to)
	if err != nil {
		return err
	}
	return b.add(Sum{from, to - from, crc})
}
