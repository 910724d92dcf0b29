package plan

import (
	"fmt"
	"math"

	"millrace/tablet"
)

// Options tunes the policies. A zero field means its default.
type Options struct {
	// Ratio is how many times its largest file a set must sum to, to be worth merging. Default 3, at least 1. Higher
	// merges later, and more at once. (table.compaction.major.ratio)
	Ratio float64
	// MaxOpen bounds the inputs of one job, and so its open blocks. Default 10, at least 2.
	MaxOpen int
	// FileMax is how many files a tablet should have at most; above it files are merged although the ratio is not met.
	// Default 15, at least 1. (table.file.max, whose 0 stands for 99)
	FileMax int
	// LowestRatio bounds how far 2.1 and 4.0 lower the ratio for a tablet above FileMax. Default 1.1, at least 1.
	LowestRatio float64
	// MaxSize bounds the bytes that one system job of 2.1 and 4.0 reads: the largest limit among the executors. Default
	// none.
	MaxSize int64
}

func (o Options) withDefaults() Options {
	if o.Ratio == 0 {
		o.Ratio = 3
	}
	if o.MaxOpen == 0 {
		o.MaxOpen = 10
	}
	if o.FileMax == 0 {
		o.FileMax = 15
	}
	if o.LowestRatio == 0 {
		o.LowestRatio = 1.1
	}
	if o.MaxSize == 0 {
		o.MaxSize = math.MaxInt64
	}
	return o
}

// Validate names the first bad field with its value, after defaults. The error is an ErrUsage.
func (o Options) Validate() error {
	o = o.withDefaults()
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("plan: %s is %v, must be %s: %w", field, value, want, tablet.ErrUsage)
	}
	switch {
	case !(o.Ratio >= 1): // also not a number
		return bad("Ratio", o.Ratio, "at least 1")
	case o.MaxOpen < 2:
		return bad("MaxOpen", o.MaxOpen, "at least 2")
	case o.FileMax < 1:
		return bad("FileMax", o.FileMax, "at least 1")
	case !(o.LowestRatio >= 1):
		return bad("LowestRatio", o.LowestRatio, "at least 1")
	case o.MaxSize < 1:
		return bad("MaxSize", o.MaxSize, "at least 1")
	}
	return nil
}
