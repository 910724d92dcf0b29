package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"millrace/internal/nearest"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

func newCat(e *env) *cobra.Command {
	m := manual{
		use:   "cat [flags] FILE",
		short: "print a file's entries",
		long: `
Prints the entries of an RFile, delete markers included, nothing merged away. As text an entry is

  row family:qualifier [visibility] timestamp<TAB>value

with "delete" behind the timestamp of a delete marker; bytes that do not print appear as \xNN, a blank in a key too. As
ndjson it is one object a line, which "create" reads back: row, cf, cq, cv and val in hex, ts as a decimal string, del,
and g, the number of its group in the file.

Text comes in key order over all groups, ndjson group after group as in the file; --order changes that.`,
		memory: `the index root, the checksums (16 bytes a block), and of each group one data block, one index block a level and a
batch of keys.`,
		exits: []int{3, 6},
		examples: `
$ millrace rfile cat --limit 2 v8_none.rf
row_00000 a:q11/long/qualifier/605 [(A|B)&C] -1965861971687223536	\x98\x05\xfa\x8f\x85\x88,\x12\xea\xe7$\xce\xf0\xc6
row_00000 a:q27 [A&B] -5035416652758189523	\x8a\xef

$ millrace rfile cat --count -b row_00100 -c family1,fam v8_lgs_sample.rf
1013

$ millrace rfile cat --format ndjson --limit 1 v8_cf1000.rf
{"row":"72","cf":"663030303030","cq":"","cv":"","ts":"1","del":false,"val":"","g":0}`[1:],
	}
	var o catOptions
	c := newCommand(m, args(1, 1, "one file"), func(cmd *cobra.Command, args []string) error {
		o.oneGroup = cmd.Flags().Changed("group")
		return e.cat(cmd.Context(), args[0], o)
	})
	o.format.register(c, formatText, formatNDJSON)
	completeRFiles(c)
	o.order = choice{from: []string{"key", "file"}}
	flags := c.Flags()
	flags.VarP(&o.begin, "begin", "b", "first row, inclusive")
	flags.VarP(&o.end, "end", "e", "last row, inclusive")
	flags.VarP(&o.families, "columns", "c", "families, separated by commas; all others are left out")
	flags.StringVar(&o.group, "group", "", `name of the only group to print; "" is the default group`)
	flags.Int64Var(&o.limit, "limit", 0, "how many entries to print at most; 0 prints all")
	flags.BoolVar(&o.keys, "keys", false, "leave out the values")
	flags.BoolVarP(&o.count, "count", "n", false, "print the number of entries only")
	flags.BoolVar(&o.sample, "sample", false, "print the sample groups instead of the groups")
	flags.Var(&o.order, "order", "key: merged over groups; file: group after group (default key for text, file for ndjson)")
	o.order.complete(c, "order")
	completeFlag(c, "group", e.groupNames)
	completeFlag(c, "columns", e.familyNames)
	return c
}

// catOptions are the flags of cat.
type catOptions struct {
	format     format
	order      choice
	begin, end escaped
	families   familyList
	group      string
	limit      int64
	keys       bool
	count      bool
	sample     bool
	oneGroup   bool // --group was given
}

func (o *catOptions) byGroup() bool {
	return o.order.value == "file" || o.order.value == "" && o.format.is(formatNDJSON)
}

// wants is the range and the families asked for.
func (o *catOptions) wants() (tablet.Range, tablet.Families) {
	rng := tablet.RowRange(tablet.RowBounds{Start: o.begin, End: o.end})
	if len(o.families) == 0 {
		return rng, tablet.Families{}
	}
	return rng, tablet.OnlyFamilies(o.families...)
}

func (e *env) cat(ctx context.Context, path string, o catOptions) (err error) {
	if o.limit < 0 {
		return usagef("--limit is %d, not at least 0", o.limit)
	}
	r, err := e.openRFile(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	groups, err := o.choose(r)
	if err != nil {
		return err
	}
	p := newPrinter(e, o)
	p.progress = e.catProgress(path, r, groups)
	defer p.progress.end()
	if err := o.print(ctx, r, groups, p); err != nil && !errors.Is(err, errLimit) {
		return err
	}
	if o.count {
		_, err = fmt.Fprintln(e.out, p.entries)
	}
	return err
}

// catProgress draws only when the entries go elsewhere.
func (e *env) catProgress(path string, r *rfile.Reader, groups []*rfile.Group) *progress {
	if e.direct {
		return &progress{e: e}
	}
	total := int64(0)
	for _, g := range groups {
		if !g.Tracked {
			return e.progress("cat "+path, "entries", 0)
		}
		for _, f := range g.Families {
			total += f.Count
		}
	}
	return e.progress("cat "+path, "entries", total)
}

// choose picks the groups to read.
func (o *catOptions) choose(r *rfile.Reader) ([]*rfile.Group, error) {
	groups := r.Groups()
	if o.sample {
		if groups = r.Samples(); groups == nil {
			return nil, usagef("%s has no sample groups", r.Name())
		}
	}
	if !o.oneGroup {
		return groups, nil
	}
	name, err := unescape(o.group)
	if err != nil {
		return nil, usagef("--group %q: %v", o.group, err)
	}
	var names []string
	for _, g := range groups {
		if g.Default == (len(name) == 0) && g.Name == string(name) {
			return []*rfile.Group{g}, nil
		}
		if !g.Default {
			names = append(names, g.Name)
		}
	}
	if len(names) == 0 {
		return nil, usagef("%s has no group %q, nor any with a name", r.Name(), o.group)
	}
	return nil, usagef("%s has no group %q, nearest is %q", r.Name(), o.group, nearest.Name(o.group, names))
}

// print gives the entries to the printer in the order asked for.
func (o *catOptions) print(ctx context.Context, r *rfile.Reader, groups []*rfile.Group, p *printer) error {
	if !o.byGroup() {
		return o.printMerged(ctx, r, groups, p)
	}
	for _, g := range groups {
		if err := o.printMerged(ctx, r, []*rfile.Group{g}, p); err != nil {
			return err
		}
	}
	return nil
}

func (o *catOptions) printMerged(ctx context.Context, r *rfile.Reader, groups []*rfile.Group, p *printer) (err error) {
	rng, families := o.wants()
	s, err := openScan(ctx, r, groups, rng, families)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	numbers := groupNumbers(r, groups, o.sample)
	return s.each(ctx, func(b *tablet.Batch, run iter.Run) error {
		return p.print(b, numbers[run.Src], int(run.Lo), int(run.Hi))
	})
}

// groupNumbers are the numbers of groups in their file.
func groupNumbers(r *rfile.Reader, groups []*rfile.Group, sample bool) []int {
	all := r.Groups()
	if sample {
		all = r.Samples()
	}
	var numbers []int
	for _, g := range groups {
		for i := range all {
			if all[i] == g {
				numbers = append(numbers, i)
			}
		}
	}
	return numbers
}
