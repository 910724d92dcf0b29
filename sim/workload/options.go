package workload

import (
	"fmt"
	"math"

	"millrace/tablet"
)

// Options shapes a stream. A zero field means its default.
type Options struct {
	// Seed decides every random choice, the instance id included.
	Seed uint64
	// MinRow and MaxRow bound the rows drawn, MinRow included. Default 0 and 2^63-1.
	MinRow, MaxRow int64
	// Families and Qualifiers are how many different ones there are. Default 32767, at most 65536.
	Families, Qualifiers int
	// Labels are the visibilities; each cycle of linked lists takes one of them. Default none: the empty visibility.
	Labels []string
	// NoChecksums leaves the checksum off the values.
	NoChecksums bool
	// FlushEntries is F, the entries written between two flushes, and the number of linked lists. Default 1,000,000.
	FlushEntries int
	// Depth is D, the steps of a cycle: the length of a list before its loop is closed. Default 25.
	Depth int
	// Limit ends the stream at the first flush by which this many entries are written. Zero: no end.
	Limit int64
}

// most families or qualifiers that four hexadecimal digits can tell apart.
const mostColumns = 1 << 16

func (o Options) withDefaults() Options {
	if o.MaxRow == 0 {
		o.MaxRow = math.MaxInt64
	}
	if o.Families == 0 {
		o.Families = 32767
	}
	if o.Qualifiers == 0 {
		o.Qualifiers = 32767
	}
	if o.FlushEntries == 0 {
		o.FlushEntries = 1_000_000
	}
	if o.Depth == 0 {
		o.Depth = 25
	}
	return o
}

// Validate names the first bad field with its value, after defaults. The error is an ErrUsage.
func (o Options) Validate() error {
	o = o.withDefaults()
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("workload: %s is %v, must be %s: %w", field, value, want, tablet.ErrUsage)
	}
	switch {
	case o.MinRow < 0:
		return bad("MinRow", o.MinRow, "at least 0")
	case o.MaxRow <= o.MinRow:
		return bad("MaxRow", o.MaxRow, fmt.Sprintf("above MinRow, %d", o.MinRow))
	case o.Families < 1 || o.Families > mostColumns:
		return bad("Families", o.Families, "within 1 and 65536")
	case o.Qualifiers < 1 || o.Qualifiers > mostColumns:
		return bad("Qualifiers", o.Qualifiers, "within 1 and 65536")
	case o.FlushEntries < 1:
		return bad("FlushEntries", o.FlushEntries, "at least 1")
	case o.Depth < 1:
		return bad("Depth", o.Depth, "at least 1")
	case o.Limit < 0:
		return bad("Limit", o.Limit, "at least 0")
	}
	return nil
}

// Splits are the points that cut the rows [MinRow, MaxRow) into n tablets of equal width: n-1 rows, ascending, as 16
// hexadecimal digits without trailing zeros.
func (o Options) Splits(n int) [][]byte {
	o = o.withDefaults()
	if n < 2 {
		return nil
	}
	width := (uint64(o.MaxRow)-uint64(o.MinRow))/uint64(n) + 1
	splits := make([][]byte, 0, n-1)
	for i := 1; i < n; i++ {
		row := appendHex(nil, uint64(o.MinRow)+uint64(i)*width, rowBytes)
		for len(row) > 1 && row[len(row)-1] == '0' {
			row = row[:len(row)-1]
		}
		splits = append(splits, row)
	}
	return splits
}

// Splits are the split points of the default range of rows; see Options.Splits.
func Splits(n int) [][]byte { return Options{}.Splits(n) }

// Counts says how much of a stream was made.
type Counts struct {
	Writes  int64 // entries, updates included
	Updates int64 // writes that gave an existing cell a new value: they close the loops
	Flushes int64 // flushes due so far
	Cycles  int64 // cycles of linked lists that were closed
}

// Cells is how many different cells were written, up to random collisions.
func (c Counts) Cells() int64 { return c.Writes - c.Updates }

// Cycle is how many entries a cycle of linked lists has.
func (o Options) Cycle() int64 {
	o = o.withDefaults()
	return int64(o.Depth)*int64(o.FlushEntries) + int64(o.FlushEntries) - 1
}

// UpdatedBy is the number in the stream, from 0, of the entry that gives the cell of the n-th its new value; ok is false if
// none does.
func (o Options) UpdatedBy(n uint64) (by uint64, ok bool) {
	o = o.withDefaults()
	if n%uint64(o.Cycle()) >= uint64(o.FlushEntries)-1 {
		return 0, false
	}
	return n + uint64(o.Depth)*uint64(o.FlushEntries), true
}

// CountsAt is what a stream with these options will have written when it stops at its limit, by arithmetic. The limit
// is looked at only after a flush: F, 2F … D·F entries into a cycle, and once more after the F-1 updates that close it.
func (o Options) CountsAt(limit int64) Counts {
	o = o.withDefaults()
	if limit <= 0 {
		return Counts{}
	}
	f, d := int64(o.FlushEntries), int64(o.Depth)
	closing := f - 1
	cycle, cycleFlushes := o.Cycle(), d
	if closing > 0 {
		cycleFlushes++
	}
	c := Counts{Cycles: limit / cycle}
	c.Writes, c.Updates, c.Flushes = c.Cycles*cycle, c.Cycles*closing, c.Cycles*cycleFlushes
	switch rest := limit - c.Writes; {
	case rest == 0:
	case rest <= d*f:
		steps := (rest + f - 1) / f
		c.Writes, c.Flushes = c.Writes+steps*f, c.Flushes+steps
		if steps == d && closing == 0 {
			c.Cycles++
		}
	default:
		c.Writes, c.Updates, c.Flushes = c.Writes+cycle, c.Updates+closing, c.Flushes+cycleFlushes
		c.Cycles++
	}
	return c
}
