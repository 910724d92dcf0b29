package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"millrace/tablet/rfile"
)

const splitsSchema = "millrace.rfile.splits/1"

func newSplits(e *env) *cobra.Command {
	m := manual{
		use:   "splits [flags] FILE...",
		short: "propose split points",
		long: `
Takes files for one tablet and proposes rows at which to split it: --count of them, or so many that each part holds
--size bytes at most, about: the size of all files divided by --size. The rows go to standard output, one a line, in the
form that --splits of other commands and addsplits -sf of Accumulo's shell read; with --base64 that of addsplits -b64.

Only indexes are read, by the rules of Accumulo 4.0: the n+1 parts hold equally many data blocks, and a row is cut to
what tells it from the row before it in the index. So parts differ by as much as blocks do, and blocks of files with
another block size or codec count the same; versions and deleted entries count as well. Rows are never divided: where
one row fills several blocks, and where there are fewer blocks than parts, fewer points are found, which is said on
standard error. Rows of 10 K and more are passed over. The last row is no split point, as nothing lies behind it.`,
		memory: `of each file the index root, the checksums (16 bytes a block), and of each group one index block a level; all files
are open at the same time.`,
		exits: []int{3, 6},
		examples: `
$ millrace rfile splits --count 3 v8_multilevel.rf
row_0029
row_0059
row_0089

$ millrace rfile splits --size 60K --format csv v8_multilevel.rf v8_bloom.rf
row
row_0029
row_00597
row_0089`[1:],
	}
	var o splitsOptions
	c := newCommand(m, args(1, -1, "at least one file"), func(cmd *cobra.Command, args []string) error {
		o.counted, o.sized = cmd.Flags().Changed("count"), cmd.Flags().Changed("size")
		return e.splits(cmd.Context(), args, o)
	})
	o.format.register(c, formatText, formatJSON, formatCSV, formatMarkdown)
	completeRFiles(c)
	c.Flags().Int64VarP(&o.count, "count", "n", 0, "how many split points")
	c.Flags().Var(&o.size, "size", "bytes of a part, about, as table.split.threshold")
	c.Flags().BoolVar(&o.base64, "base64", false, "print rows in base64, as text and as table")
	return c
}

type splitsOptions struct {
	format         format
	count          int64
	size           size
	counted, sized bool
	base64         bool
}

func (o *splitsOptions) check() error {
	switch {
	case o.counted == o.sized:
		return usagef("want either --count or --size")
	case o.counted && o.count < 1:
		return usagef("--count is %d, not at least 1", o.count)
	case o.sized && o.size < 1:
		return usagef("--size is %v, not at least 1", &o.size)
	}
	return nil
}

// proposed is splits' JSON document.
type proposed struct {
	Schema     string   `json:"schema"`
	Files      []string `json:"files"`
	Bytes      int64    `json:"size"` // of all files
	Entries    int64    `json:"entries"`
	DataBlocks int64    `json:"data_blocks"`
	Wanted     int64    `json:"wanted"`
	Splits     []string `json:"splits"` // hex
}

func (e *env) splits(ctx context.Context, paths []string, o splitsOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	c := compaction{inputs: paths}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.openInputs(e); err != nil {
		return err
	}
	doc := proposed{Schema: splitsSchema, Files: paths, Bytes: bytesOf(c.readers), Wanted: o.count, Splits: []string{}}
	if o.sized {
		doc.Wanted = desiredSplits(doc.Bytes, int64(o.size))
	}
	found, err := propose(ctx, c.readers, doc.Wanted)
	if err != nil {
		return err
	}
	doc.Entries, doc.DataBlocks = found.entries, found.blocks
	for _, row := range found.rows {
		doc.Splits = append(doc.Splits, hex.EncodeToString(row))
	}
	if err := e.printSplits(&doc, found.rows, o); err != nil {
		return err
	}
	if n := int64(len(found.rows)); n < doc.Wanted {
		fmt.Fprintf(e.err, "found %s of %s split points in %s; %d were too long\n", humanize.Comma(n), humanize.Comma(doc.Wanted),
			counted(found.blocks, "data block", "data blocks"), found.tooLong)
	}
	return nil
}

func bytesOf(readers []*rfile.Reader) int64 {
	total := int64(0)
	for _, r := range readers {
		total += r.Container().Size()
	}
	return total
}

func (e *env) printSplits(doc *proposed, rows [][]byte, o splitsOptions) error {
	if o.format.is(formatJSON) {
		return e.writeJSON(doc)
	}
	show := func(row []byte) string {
		if o.base64 {
			return base64.StdEncoding.EncodeToString(row)
		}
		return string(appendText(nil, row, escapeBlank))
	}
	if !o.format.is(formatText) {
		g := grid{names: []string{"row"}, left: []int{0}}
		for _, row := range rows {
			g.add(show(row))
		}
		return e.writeGrid(&g, o.format)
	}
	var b bytes.Buffer
	for _, row := range rows {
		b.WriteString(show(row))
		b.WriteByte('\n')
	}
	_, err := e.out.Write(b.Bytes())
	return err
}
