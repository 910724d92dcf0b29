package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

const diffSchema = "millrace.rfile.diff/1"

func newDiff(e *env) *cobra.Command {
	m := manual{
		use:   "diff [flags] A B",
		short: "compare the entries of two files",
		long: `
Compares two RFiles entry by entry in key order over all groups. Codec, block size, grouping and container do not
count, only keys, delete markers and values do. Entries with fully equal keys are compared in their order.

The first differences are printed as lines that begin with "-" for what only A has and "+" for what only B has; an entry
whose value differs appears as both. Then the counts. Damage ends the comparison.`,
		memory: `of both files the index root, the checksums (16 bytes a block), and of each group one data block, one index block
a level and a batch of keys.`,
		exits:   []int{3, 4, 6},
		meaning: map[int]string{0: "the files hold the same entries", 4: "they do not"},
		examples: `
$ millrace rfile diff v8_lz4.rf v8_zstd.rf
2,500 entries equal, 0 only in v8_lz4.rf, 0 only in v8_zstd.rf, 0 with another value

$ millrace rfile diff --limit 1 v8_cf1000.rf v8_cf1002.rf
+ r f01000: [] 1	
... and 1 more
1,000 entries equal, 0 only in v8_cf1000.rf, 2 only in v8_cf1002.rf, 0 with another value
millrace rfile diff: v8_cf1000.rf and v8_cf1002.rf do not hold the same entries`[1:],
	}
	o := diffOptions{limit: 10}
	c := newCommand(m, args(2, 2, "two files"), func(cmd *cobra.Command, args []string) error {
		return e.diff(cmd.Context(), args[0], args[1], o)
	})
	o.format.register(c, formatText, formatJSON)
	completeRFiles(c)
	c.Flags().Int64Var(&o.limit, "limit", o.limit, "how many differences to print at most; all are counted")
	c.Flags().BoolVarP(&o.brief, "brief", "q", false, "stop at the first difference")
	c.Flags().BoolVar(&o.keys, "keys", false, "compare and print keys only, not values")
	return c
}

type diffOptions struct {
	format format
	limit  int64
	brief  bool
	keys   bool
}

// differences is the outcome of a comparison, and its JSON document.
type differences struct {
	Schema    string       `json:"schema"`
	A         string       `json:"a"`
	B         string       `json:"b"`
	Same      bool         `json:"same"`
	Complete  bool         `json:"complete"` // false when the comparison stopped at the first difference
	Equal     int64        `json:"equal"`
	OnlyA     int64        `json:"only_a"`
	OnlyB     int64        `json:"only_b"`
	Values    int64        `json:"values_differ"`
	Shown     []difference `json:"differences"` // the first of them
	truncated bool
}

// difference is one of them. A value is absent where the entry is, and for keys only.
type difference struct {
	Kind string `json:"kind"` // only_a, only_b, value
	keyDocument
	A *string `json:"val_a,omitempty"`
	B *string `json:"val_b,omitempty"`
}

func (d *differences) count() int64 { return d.OnlyA + d.OnlyB + d.Values }

func (e *env) diff(ctx context.Context, a, b string, o diffOptions) (err error) {
	if o.limit < 0 {
		return usagef("--limit is %d, not at least 0", o.limit)
	}
	left, err := e.openSide(ctx, a)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, left.close()) }()
	right, err := e.openSide(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, right.close()) }()
	c := comparison{e: e, o: o, a: left, b: right, progress: e.progress("diff "+a+" "+b, "entries", entriesOf([]*rfile.Reader{left.r, right.r})),
		d: differences{Schema: diffSchema, A: a, B: b, Shown: []difference{}}}
	err = c.run(ctx)
	c.progress.end()
	if err != nil {
		return err
	}
	if err := c.report(); err != nil {
		return err
	}
	if c.d.Same {
		return nil
	}
	return &differError{printable(a), printable(b)}
}

// differError says that two files are not the same, which whoever compares them hopes. It is tablet.ErrExpectation.
type differError struct{ a, b string }

func (e *differError) Error() string        { return e.a + " and " + e.b + " do not hold the same entries" }
func (e *differError) Is(target error) bool { return target == tablet.ErrExpectation }

// side is one of the files, read entry by entry.
type side struct {
	r    *rfile.Reader
	scan *scan
	it   entryReader
}

func (e *env) openSide(ctx context.Context, path string) (*side, error) {
	r, err := e.openRFile(path)
	if err != nil {
		return nil, err
	}
	s, err := openScan(ctx, r, r.Groups(), tablet.Range{}, tablet.Families{})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &side{r: r, scan: s, it: entryReader{scan: s}}, nil
}

func (s *side) close() error { return errors.Join(s.scan.close(), s.r.Close()) }

// report prints the counts, and as JSON everything.
func (c *comparison) report() error {
	d := &c.d
	d.Same, d.Complete = d.count() == 0, !c.o.brief || d.count() == 0
	if c.o.format.is(formatJSON) {
		return c.e.writeJSON(d)
	}
	if d.truncated {
		if _, err := fmt.Fprintf(c.e.out, "... and %s more\n", humanize.Comma(d.count()-int64(len(d.Shown)))); err != nil {
			return err
		}
	}
	if c.o.brief && !d.Same {
		return nil
	}
	_, err := fmt.Fprintf(c.e.out, "%s equal, %s only in %s, %s only in %s, %s with another value\n", counted(d.Equal, "entry", "entries"),
		humanize.Comma(d.OnlyA), printable(d.A), humanize.Comma(d.OnlyB), printable(d.B), humanize.Comma(d.Values))
	return err
}
