package iter

import (
	"context"

	"millrace/tablet"
)

// Filter keeps the entries that a Test accepts, or with the option negate=true the others. Delete markers pass it either
// way: in a compaction they have older data to hide yet.
type Filter struct {
	source Iterator
	test   Test
	negate bool
}

// Test decides entry by entry. It holds nothing that counts between two entries, so that clones of a filter share it and
// a scan may go on from any key.
type Test interface {
	// Init reads the options, which may hold negate too. Unknown ones were refused.
	Init(opts map[string]string, env Env) error
	// Describe tells what Init reads.
	Describe() Description
	// Accept must not keep the entry, which is no delete marker.
	Accept(e tablet.Entry) bool
}

// NewFilter returns an iterator over what a Test accepts.
func NewFilter(t Test) *Filter { return &Filter{test: t} }

const negateOption = "negate"

// Describe adds the Filter's option to those of the Test.
func (f *Filter) Describe() Description {
	d := f.test.Describe()
	d.Options = append(d.Options, Option{Name: negateOption, Value: "true|false", Default: "false", What: "keep the others"})
	return d
}

// Init is as in Iterator.
func (f *Filter) Init(opts map[string]string, env Env) (err error) {
	if env.Source == nil {
		return errNoSource
	}
	f.source = env.Source
	if err := f.Describe().refuseUnknown(opts); err != nil {
		return err
	}
	if f.negate, err = parseBool(opts, negateOption, false); err != nil {
		return err
	}
	return f.test.Init(opts, env)
}

// Seek is as in Iterator.
func (f *Filter) Seek(ctx context.Context, r tablet.Range, families tablet.Families) error {
	if err := f.source.Seek(ctx, r, families); err != nil {
		return err
	}
	return f.settle(ctx)
}

// Next is as in Iterator.
func (f *Filter) Next(ctx context.Context) error {
	if err := f.source.Next(ctx); err != nil {
		return err
	}
	return f.settle(ctx)
}

// settle goes on to an entry to keep, unless the source stands at one.
func (f *Filter) settle(ctx context.Context) error {
	for {
		top, ok := f.source.Top()
		if !ok || top.Key.Deleted() || f.test.Accept(top) != f.negate {
			return nil
		}
		if err := f.source.Next(ctx); err != nil {
			return err
		}
	}
}

// Top is as in Iterator.
func (f *Filter) Top() (tablet.Entry, bool) { return f.source.Top() }

// Clone is as in Iterator.
func (f *Filter) Clone(env Env) (Iterator, error) {
	if env.Source == nil {
		return nil, errNoSource
	}
	return &Filter{source: env.Source, test: f.test, negate: f.negate}, nil
}
