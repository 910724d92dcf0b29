package iter

import (
	"context"
	"strconv"

	"millrace/tablet"
)

const versioningClass = "VersioningIterator"

// stepsBeforeSeek is how many entries of a cell are stepped over before the rest is skipped by a seek.
const stepsBeforeSeek = 10

const maxVersionsOption = "maxVersions"

func init() { Register(versioningClass, func() Iterator { return &VersioningIterator{} }) }

var describeVersioning = Description{
	What:    "keeps the newest entries of each cell, delete markers counted",
	Options: []Option{{Name: maxVersionsOption, Value: "N", Default: "1", What: "how many"}},
}

// VersioningIterator keeps the newest entries of each cell, as many as the option maxVersions says, 1 if missing. A
// delete marker counts as one. It is only needed above other iterators: lowest, StackOptions.MaxVersions does the same.
type VersioningIterator struct {
	source Iterator
	max    int

	r    tablet.Range
	f    tablet.Families
	cell tablet.Key // of the current entry; owns its bytes
	kept int        // entries of the cell up to the current one
}

// Describe is as in Describer.
func (v *VersioningIterator) Describe() Description { return describeVersioning }

// Init is as in Iterator.
func (v *VersioningIterator) Init(opts map[string]string, env Env) (err error) {
	if env.Source == nil {
		return errNoSource
	}
	v.source = env.Source
	v.max, err = parseMaxVersions(opts)
	return err
}

func parseMaxVersions(opts map[string]string) (int, error) {
	const option = maxVersionsOption
	if err := describeVersioning.refuseUnknown(opts); err != nil {
		return 0, err
	}
	text, ok := opts[option]
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, OptionError(option, text, "want a number above 0")
	}
	return n, nil
}

// Seek is as in Iterator. It counts from the start of the cell that the range starts in.
func (v *VersioningIterator) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	v.r, v.f = r, f
	if err := v.source.Seek(ctx, fromCellStart(r), f); err != nil {
		return err
	}
	v.enterCell()
	return skipTo(ctx, v, r)
}

// fromCellStart widens a range to the start of the cell that it starts in.
func fromCellStart(r tablet.Range) tablet.Range {
	start, ok := r.Start()
	if !ok || r.Empty() {
		return r
	}
	return r.WithStart(cellStart(&start.Key))
}

// Next is as in Iterator.
func (v *VersioningIterator) Next(ctx context.Context) error {
	if v.kept < v.max {
		if err := v.source.Next(ctx); err != nil {
			return err
		}
		if top, ok := v.source.Top(); ok && tablet.SameCell(&v.cell, &top.Key) {
			v.kept++
			return nil
		}
	} else if err := leaveCell(ctx, v.source, &v.cell, v.r, v.f); err != nil {
		return err
	}
	v.enterCell()
	return nil
}

// enterCell starts to count at the source's current entry.
func (v *VersioningIterator) enterCell() {
	if top, ok := v.source.Top(); ok {
		v.cell.Assign(&top.Key)
		v.kept = 1
	}
}

// Top is as in Iterator.
func (v *VersioningIterator) Top() (tablet.Entry, bool) { return v.source.Top() }

// Clone is as in Iterator.
func (v *VersioningIterator) Clone(env Env) (Iterator, error) {
	if env.Source == nil {
		return nil, errNoSource
	}
	return &VersioningIterator{source: env.Source, max: v.max}, nil
}

// leaveCell moves a source from an entry of a cell to the first entry behind the cell: by steps, and by a seek where there
// are many.
func leaveCell(ctx context.Context, source Iterator, cell *tablet.Key, r tablet.Range, f tablet.Families) error {
	for range stepsBeforeSeek {
		if err := source.Next(ctx); err != nil {
			return err
		}
		if top, ok := source.Top(); !ok || !tablet.SameCell(cell, &top.Key) {
			return nil
		}
	}
	// Where the range ends in this cell, what is left of it is empty.
	return source.Seek(ctx, r.WithStart(afterCell(cell)), f)
}

// afterCell is the smallest key behind all keys of a cell: its visibility, followed by a zero byte.
func afterCell(cell *tablet.Key) tablet.Key {
	data := make([]byte, cell.Size()+1)
	copy(data, cell.Data())
	return tablet.KeyView(data, cell.Ends(), tablet.MaxTimestamp, true)
}
