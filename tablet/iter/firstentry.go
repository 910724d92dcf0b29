package iter

import (
	"bytes"
	"context"
	"strconv"

	"millrace/tablet"
)

func init() {
	Register("FirstEntryInRowIterator", func() Iterator { return &FirstEntryInRowIterator{} })
}

// FirstEntryInRowIterator keeps the first entry of each row. The entry must lie in the range: a row that the range starts
// in the middle of gives nothing. Delete markers, which compactions meet, pass and do not count.
//
// Option: scansBeforeSeek, how many entries of a row are stepped over before the rest is skipped by a seek.
type FirstEntryInRowIterator struct {
	source Iterator
	scope  Scope
	steps  int

	r     tablet.Range
	f     tablet.Families
	row   []byte // of the current entry
	given bool   // the row's first entry is the current one, or was before it
}

const scansOption = "scansBeforeSeek"

// Describe is as in Describer.
func (i *FirstEntryInRowIterator) Describe() Description {
	return Description{
		What:    "keeps the first entry of each row",
		Options: []Option{{Name: scansOption, Value: "N", Default: "10", What: "how many entries to step over before a seek"}},
	}
}

// Init is as in Iterator.
func (i *FirstEntryInRowIterator) Init(opts map[string]string, env Env) (err error) {
	if env.Source == nil {
		return errNoSource
	}
	i.source, i.scope, i.steps = env.Source, env.Scope, stepsBeforeSeek
	if err := i.Describe().refuseUnknown(opts); err != nil {
		return err
	}
	if text, ok := opts[scansOption]; ok {
		if i.steps, err = strconv.Atoi(text); err != nil || i.steps < 0 {
			return OptionError(scansOption, text, "want a number of at least 0")
		}
	}
	return nil
}

// Seek is as in Iterator. It reads from the start of the row that the range starts in.
func (i *FirstEntryInRowIterator) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	i.r, i.f = r, f
	if err := i.source.Seek(ctx, fromRowStart(r), f); err != nil {
		return err
	}
	i.enter()
	return skipTo(ctx, i, r)
}

// enter begins a row at the source's top.
func (i *FirstEntryInRowIterator) enter() {
	if top, ok := i.source.Top(); ok {
		i.row = append(i.row[:0], top.Key.Row()...)
		i.given = !top.Key.Deleted()
	}
}

// Next is as in Iterator.
func (i *FirstEntryInRowIterator) Next(ctx context.Context) error {
	for step := 0; ; step++ {
		if err := i.step(ctx, step); err != nil {
			return err
		}
		top, ok := i.source.Top()
		switch {
		case !ok:
			return nil
		case !bytes.Equal(top.Key.Row(), i.row):
			i.enter()
			return nil
		case top.Key.Deleted():
			return nil
		case !i.given:
			i.given = true
			return nil
		}
	}
}

// step moves the source on, out of the row at once where that has taken many steps. It never jumps over markers.
func (i *FirstEntryInRowIterator) step(ctx context.Context, steps int) error {
	if steps < i.steps || i.scope != Scan || !inRow(i.source, i.row) {
		return i.source.Next(ctx)
	}
	return i.source.Seek(ctx, i.r.WithStart(afterRow(i.row)), i.f) // where the range ends in this row, nothing is left
}

// Top is as in Iterator.
func (i *FirstEntryInRowIterator) Top() (tablet.Entry, bool) { return i.source.Top() }

// Clone is as in Iterator.
func (i *FirstEntryInRowIterator) Clone(env Env) (Iterator, error) {
	if env.Source == nil {
		return nil, errNoSource
	}
	return &FirstEntryInRowIterator{source: env.Source, scope: i.scope, steps: i.steps}, nil
}
