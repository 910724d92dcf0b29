package iter

import (
	"context"
	"fmt"

	"millrace/tablet"
)

// Combiner replaces the entries of a cell by one, with the newest key and a value made of all values. What it is made of
// is a Reducer's. Delete markers pass, and end a stretch of entries that are combined.
//
// Options, beside those of the Reducer:
//
//   - all=true, or columns, a list of family and family:qualifier with %xx for odd bytes; nothing behind the colon means
//     the whole family;
//   - lossy=true leaves out values that do not decode, instead of failing;
//   - reduceOnFullCompactionOnly=true does nothing in major compactions that are not full. Without it, a compaction that
//     is not full may combine what a marker in another file hides.
type Combiner struct {
	source  Iterator
	reducer Reducer
	columns Columns // zero: all
	lossy   bool
	off     bool // this compaction is not full, and combining waits for one that is

	key      tablet.Key // of the combined entry; owns its bytes
	value    []byte
	combined bool // the current entry is key and value, else the source's top
	failed   bool // no entry until the next seek
}

// Reducer makes one value of the values of a cell. It holds nothing that counts between Append and Reset, so that clones
// of a combiner share it.
type Reducer interface {
	// Init reads the options, which may hold those of Combiner too. Unknown ones were refused.
	Init(opts map[string]string, env Env) error
	// Describe tells what Init reads.
	Describe() Description
	// Reset begins a new value.
	Reset()
	// Add takes one value, the newest first, which it must not keep. After an error it has not counted.
	Add(value []byte) error
	// Append appends the value made of those added, of which there may be none if values can be left out.
	Append(dst []byte) []byte
}

// NewCombiner returns an iterator over what a Reducer makes of each cell.
func NewCombiner(r Reducer) *Combiner { return &Combiner{reducer: r} }

const (
	allOption      = "all"
	columnsOption  = "columns"
	lossyOption    = "lossy"
	onlyFullOption = "reduceOnFullCompactionOnly"
)

// Describe adds the Combiner's options to those of the Reducer.
func (c *Combiner) Describe() Description {
	d := c.reducer.Describe()
	d.Options = append(d.Options,
		Option{Name: allOption, Value: "true|false", Default: "false", What: "combine every column"},
		Option{Name: columnsOption, Value: "FAMILY[:QUALIFIER],…", What: "the columns to combine, %xx for odd bytes"},
		Option{Name: lossyOption, Value: "true|false", Default: "false", What: "leave out values that do not decode"},
		Option{Name: onlyFullOption, Value: "true|false", Default: "false", What: "do nothing in partial major compactions"},
	)
	return d
}

// Init is as in Iterator.
func (c *Combiner) Init(opts map[string]string, env Env) (err error) {
	if env.Source == nil {
		return errNoSource
	}
	c.source = env.Source
	if err := c.Describe().refuseUnknown(opts); err != nil {
		return err
	}
	if err := c.reducer.Init(opts, env); err != nil {
		return err
	}
	if c.lossy, err = parseBool(opts, lossyOption, false); err != nil {
		return err
	}
	onlyFull, err := parseBool(opts, onlyFullOption, false)
	if err != nil {
		return err
	}
	c.off = onlyFull && env.Scope == Major && !env.FullMajor
	return c.initColumns(opts)
}

func (c *Combiner) initColumns(opts map[string]string) error {
	all, err := parseBool(opts, allOption, false)
	if err != nil {
		return err
	}
	list, given := opts[columnsOption]
	switch {
	case all && given:
		return OptionError(columnsOption, list, "all=true is given too")
	case all:
		return nil
	case list == "":
		return OptionError(columnsOption, list, "want columns, or all=true")
	}
	columns, err := parseColumns(list)
	if err != nil {
		return OptionError(columnsOption, list, err.Error())
	}
	c.columns = FetchColumns(columns...)
	return nil
}

// Seek is as in Iterator. It combines from the start of the cell that the range starts in.
func (c *Combiner) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	c.combined, c.failed = false, false
	if err := c.source.Seek(ctx, fromCellStart(r), f); err != nil {
		return err
	}
	if err := c.combine(ctx); err != nil {
		return err
	}
	return skipTo(ctx, c, r)
}

// Next is as in Iterator.
func (c *Combiner) Next(ctx context.Context) error {
	if c.failed {
		return errNoTop
	}
	if c.combined {
		c.combined = false // the source stands behind the cell already
	} else if err := c.source.Next(ctx); err != nil {
		return err
	}
	return c.combine(ctx)
}

// Top is as in Iterator.
func (c *Combiner) Top() (tablet.Entry, bool) {
	if c.failed {
		return tablet.Entry{}, false
	}
	if c.combined {
		return tablet.Entry{Key: c.key, Value: c.value}, true
	}
	return c.source.Top()
}

// Clone is as in Iterator.
func (c *Combiner) Clone(env Env) (Iterator, error) {
	if env.Source == nil {
		return nil, errNoSource
	}
	return &Combiner{source: env.Source, reducer: c.reducer, columns: c.columns, lossy: c.lossy, off: c.off}, nil
}

// combine makes the entry that starts at the source's top, if it is one to be combined.
func (c *Combiner) combine(ctx context.Context) error {
	top, ok := c.source.Top()
	if !ok || c.off || top.Key.Deleted() || !c.combines(&top.Key) {
		return nil
	}
	c.key.Assign(&top.Key)
	c.reducer.Reset()
	for {
		if err := c.reducer.Add(top.Value); err != nil && !c.lossy {
			c.failed = true
			return fmt.Errorf("combine %v: %w", top.Key, err)
		}
		if err := c.source.Next(ctx); err != nil {
			return err
		}
		top, ok = c.source.Top()
		if !ok || top.Key.Deleted() || !tablet.SameCell(&c.key, &top.Key) {
			break
		}
	}
	c.value = c.reducer.Append(c.value[:0])
	c.combined = true
	return nil
}

// combines says whether a column is to be combined.
func (c *Combiner) combines(k *tablet.Key) bool {
	return c.columns.everything() || c.columns.accepts(k.Family(), k.Qualifier())
}

// skipTo moves an iterator that was sought to before a range to the first entry in it.
func skipTo(ctx context.Context, it Iterator, r tablet.Range) error {
	for {
		top, ok := it.Top()
		if !ok || !r.BeforeStart(&top.Key) {
			return nil
		}
		if err := it.Next(ctx); err != nil {
			return err
		}
	}
}
