package bcfile

import (
	"context"
	"fmt"
)

// Coverage notes which of the blocks that a file's checksums list have been read by somebody, so that a check which
// follows indexes can end with those that no index leads to. It takes a bit a block, and is not safe for concurrent use.
type Coverage struct {
	r    *Reader
	seen []uint64 // a bit a row of the sums
	row  int      // where the next block is looked for first
}

// Coverage is a new one, with the named blocks noted. Without checksums it notes nothing and finds nothing.
func (r *Reader) Coverage() *Coverage {
	c := &Coverage{r: r}
	if r.sums == nil {
		return c
	}
	c.seen = make([]uint64, (r.sums.Len()+63)/64)
	for _, m := range r.metas {
		c.Note(m.Region)
	}
	return c
}

// Note says that a block has been read, or is going to be. What the sums do not list is passed over: reading it is an
// error.
func (c *Coverage) Note(reg Region) {
	if c.r.sums == nil || reg.Stored == 0 {
		return
	}
	if row, _, ok := c.r.sums.find(reg.Offset, reg.Stored, c.row); ok {
		c.seen[row/64] |= 1 << (row % 64)
		c.row = row + 1
	}
}

// CheckRest compares the checksums of all blocks that were not noted. progress, if not nil, is told how many of their
// bytes have been read.
func (c *Coverage) CheckRest(ctx context.Context, progress func(bytes int64)) error {
	if c.r.sums == nil {
		return nil
	}
	read := int64(0)
	for row := range c.r.sums.Len() {
		if c.seen[row/64]&(1<<(row%64)) != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("verify %s: %w", c.r.src.name, err)
		}
		sum := c.r.sums.At(row)
		got, err := c.r.src.checksum(0, sum.Offset, sum.Offset+sum.Stored)
		if err != nil {
			return err
		}
		if got != sum.CRC {
			return c.r.src.corrupt(sum.Offset, "block of %d bytes has CRC32C %08x, %s says %08x", sum.Stored, got, SumsName, sum.CRC)
		}
		if read += sum.Stored; progress != nil {
			progress(read)
		}
	}
	return nil
}
