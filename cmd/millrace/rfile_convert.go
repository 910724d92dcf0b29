package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"millrace/compactor/job"
	"millrace/internal/clock"
	"millrace/tablet/iter"
)

const convertSchema = "millrace.rfile.convert/1"

func newConvert(e *env) *cobra.Command {
	m := manual{
		use:   "convert [flags] OUT IN",
		short: "write a file anew with another codec, block size or grouping",
		long: `
Writes the entries of IN to OUT, all of them: delete markers, what they hide, all versions, and equal keys in their
order. Codec, block sizes, container, checksums and locality groups are those that the flags say; without a flag, codec
and groups are those of IN, and everything else has its default. Files of any RFile version become version 8.

Samples and Bloom filter are made anew, by the configuration that IN has them by, or another with --sampler and --bloom.
What cannot be made, as of a sampler of one's own, and other named blocks are not carried over; the output says which.`,
		memory: `of IN the index root, the checksums (16 bytes a block), and of each group three data blocks, one index block a
level twice and a batch of keys; of OUT three blocks, as they are and compressed, and at most 10 MiB of index,
with a sampler 10 MB, with a Bloom filter its bits; with --verify what "verify --deep" takes.`,
		exits: []int{3, 6},
		examples: `
$ millrace rfile convert --codec zstd --sampler none out.rf v8_lgs_sample.rf
out.rf: 3,100 entries, including 379 delete markers, in 47,429 bytes, codec zstd, …
  not carried over: sample groups

$ millrace rfile convert --codec none --block-size 4K --bcfile 3 --no-sums out2.rf v8_none.rf
out2.rf: 800 entries, including 98 delete markers, in 36,673 bytes, codec none, …`[1:],
	}
	var o convertOptions
	c := newCommand(m, args(2, 2, "an output and an input"), func(cmd *cobra.Command, args []string) error {
		return e.convert(cmd.Context(), args[0], args[1], o)
	})
	o.format.register(c, formatText, formatJSON)
	completeRFiles(c)
	o.writer.register(c, "", "IN")
	o.writer.registerForce(c)
	return c
}

type convertOptions struct {
	format format
	writer writerFlags
}

// conversion is convert's JSON document.
type conversion struct {
	*written
	Input      string   `json:"input"`
	InputBytes int64    `json:"input_size"`
	NotCarried []string `json:"not_carried"`
}

func (e *env) convert(ctx context.Context, path, input string, o convertOptions) (err error) {
	if err := o.writer.check(); err != nil {
		return err
	}
	c := compaction{label: "convert " + input, path: path, inputs: []string{input}, like: o.writer.groupsLike, force: o.writer.force, verify: o.writer.verify}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.openInputs(e); err != nil {
		return err
	}
	if err := c.adopt(&o.writer); err != nil {
		return err
	}
	layout, writerOptions, err := o.writer.layout(e, c.newest())
	if err != nil {
		return err
	}
	started := e.clock.Now()
	done, err := c.run(ctx, e, job.Spec{Groups: groupSpecs(layout), KeepAll: true, User: true, Mode: iter.Tree, Writer: writerOptions})
	if err != nil {
		return err
	}
	doc := conversion{newWritten(convertSchema, path, done.meta, writerOptions, clock.Since(e.clock, started)), input, done.readBytes, done.notCarried}
	if o.format.is(formatJSON) {
		return e.writeJSON(doc)
	}
	_, err = fmt.Fprintf(e.out, "%s\n%s", doc.text(), notCarriedText(doc.NotCarried))
	return err
}
