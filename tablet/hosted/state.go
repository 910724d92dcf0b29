package hosted

import (
	"fmt"
	"slices"

	"millrace/tablet"
)

// State is what a tablet is loaded from, and what is left of it when it is unloaded with nothing in memory.
type State struct {
	Extent tablet.Extent
	Files  []tablet.FileMeta // in any order
	Time   int64             // the largest timestamp handed out so far; see Tablet.Time
	// Session is the first memtable's number in the log. Zero means 1.
	Session uint64
	// NextAge is the least age that the next memtable or file may get; what the files say is taken into account anyway.
	NextAge uint64
}

// Options are a table's settings, alike for all its tablets.
type Options struct {
	// Time says how updates without a timestamp get one. Default Millis.
	Time TimeType
	// MaxKeyBytes bounds row, family, qualifier and visibility together. Default 1 MiB.
	MaxKeyBytes int
	// Constraints are checked beside those that always hold: key size, visibility, at least one update.
	Constraints []Constraint
	// Planner decides what is compacted. Default: nothing ever is.
	Planner Planner
	// OnObsolete, if not nil, is called when Obsolete has something to give, by whichever goroutine releases a file's last
	// view. It must not block.
	OnObsolete func()
}

func (o Options) withDefaults() Options {
	if o.MaxKeyBytes == 0 {
		o.MaxKeyBytes = 1 << 20
	}
	if o.Planner == nil {
		o.Planner = noPlan{}
	}
	return o
}

// Validate names the first bad field with its value. The error is an ErrUsage.
func (o Options) Validate() error {
	o = o.withDefaults()
	if o.MaxKeyBytes < 0 {
		return fmt.Errorf("hosted: MaxKeyBytes is %d, must be at least 1: %w", o.MaxKeyBytes, tablet.ErrUsage)
	}
	if o.Time > Logical {
		return fmt.Errorf("hosted: Time is %d, must be Millis or Logical: %w", o.Time, tablet.ErrUsage)
	}
	return o.Planner.Validate()
}

// checkFiles says what is wrong with a list of files.
func checkFiles(files []tablet.FileMeta) error {
	var numbers []uint64
	for i := range files {
		f := &files[i]
		if slices.Contains(numbers, f.Number) {
			return fmt.Errorf("hosted: file %d is listed twice: %w", f.Number, ErrDuplicate)
		}
		if f.Ages.Oldest > f.Ages.Newest {
			return fmt.Errorf("hosted: file %d has ages %d to %d: %w", f.Number, f.Ages.Oldest, f.Ages.Newest, ErrAges)
		}
		numbers = append(numbers, f.Number)
	}
	return nil
}
