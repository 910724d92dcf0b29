package iter

import (
	"context"
	"fmt"
	"math"

	"millrace/tablet"
)

// SummingCombiner replaces the entries of a cell by one, with the newest key and the sum of the values; the sum stops at
// the limits of 64 bits. Delete markers pass, and end a sum.
//
// Options: all=true, or columns, a list of family and family:qualifier with %xx for odd bytes; type, STRING, FIXEDLEN or
// VARLEN; lossy=true leaves out values that are not of that type, instead of failing; reduceOnFullCompactionOnly=true
// does nothing in major compactions that are not full.
type SummingCombiner struct {
	source  Iterator
	columns Columns // zero: all
	numbers numberType
	lossy   bool
	off     bool // this compaction is not full, and the sum waits for one that is

	key    tablet.Key // of the sum; owns its bytes
	value  []byte
	summed bool // the current entry is key and value, else the source's top
	failed bool // no entry until the next seek
}

// Init is as in Iterator.
func (s *SummingCombiner) Init(opts map[string]string, env Env) (err error) {
	if env.Source == nil {
		return errNoSource
	}
	s.source = env.Source
	if err := refuseUnknown(opts, "all", "columns", "type", "lossy", "reduceOnFullCompactionOnly"); err != nil {
		return err
	}
	if s.numbers, err = parseNumberType(opts["type"]); err != nil {
		return err
	}
	if s.lossy, err = parseBool(opts, "lossy"); err != nil {
		return err
	}
	onlyFull, err := parseBool(opts, "reduceOnFullCompactionOnly")
	if err != nil {
		return err
	}
	s.off = onlyFull && env.Scope == Major && !env.FullMajor
	return s.initColumns(opts)
}

func (s *SummingCombiner) initColumns(opts map[string]string) error {
	all, err := parseBool(opts, "all")
	if err != nil {
		return err
	}
	list, given := opts["columns"]
	switch {
	case all && given:
		return OptionError("columns", list, "all=true is given too")
	case all:
		return nil
	case list == "":
		return OptionError("columns", list, "want columns, or all=true")
	}
	columns, err := parseColumns(list)
	if err != nil {
		return OptionError("columns", list, err.Error())
	}
	s.columns = FetchColumns(columns...)
	return nil
}

// Seek is as in Iterator. It sums from the start of the cell that the range starts in.
func (s *SummingCombiner) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	s.summed, s.failed = false, false
	if err := s.source.Seek(ctx, fromCellStart(r), f); err != nil {
		return err
	}
	if err := s.combine(ctx); err != nil {
		return err
	}
	for {
		top, ok := s.Top()
		if !ok || !r.BeforeStart(&top.Key) {
			return nil
		}
		if err := s.Next(ctx); err != nil {
			return err
		}
	}
}

// Next is as in Iterator.
func (s *SummingCombiner) Next(ctx context.Context) error {
	if s.failed {
		return errNoTop
	}
	if s.summed {
		s.summed = false // the source stands behind the sum already
	} else if err := s.source.Next(ctx); err != nil {
		return err
	}
	return s.combine(ctx)
}

// Top is as in Iterator.
func (s *SummingCombiner) Top() (tablet.Entry, bool) {
	if s.failed {
		return tablet.Entry{}, false
	}
	if s.summed {
		return tablet.Entry{Key: s.key, Value: s.value}, true
	}
	return s.source.Top()
}

// Clone is as in Iterator.
func (s *SummingCombiner) Clone(env Env) (Iterator, error) {
	if env.Source == nil {
		return nil, errNoSource
	}
	return &SummingCombiner{source: env.Source, columns: s.columns, numbers: s.numbers, lossy: s.lossy, off: s.off}, nil
}

// combine makes the sum that starts at the source's top, if it is one to be summed.
func (s *SummingCombiner) combine(ctx context.Context) error {
	top, ok := s.source.Top()
	if !ok || s.off || top.Key.Deleted() || !s.sums(&top.Key) {
		return nil
	}
	s.key.Assign(&top.Key)
	var sum int64
	for {
		n, err := s.numbers.decode(top.Value)
		switch {
		case err == nil:
			sum = addSaturating(sum, n)
		case !s.lossy:
			s.failed = true
			return fmt.Errorf("sum %v: %w", top.Key, err)
		}
		if err := s.source.Next(ctx); err != nil {
			return err
		}
		top, ok = s.source.Top()
		if !ok || top.Key.Deleted() || !tablet.SameCell(&s.key, &top.Key) {
			break
		}
	}
	s.value = s.numbers.encode(s.value[:0], sum)
	s.summed = true
	return nil
}

// sums says whether a column is to be summed.
func (s *SummingCombiner) sums(k *tablet.Key) bool {
	return s.columns.everything() || s.columns.accepts(k.Family(), k.Qualifier())
}

func addSaturating(a, b int64) int64 {
	sum := a + b
	switch {
	case a > 0 && b > 0 && sum < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && sum >= 0:
		return math.MinInt64
	}
	return sum
}
