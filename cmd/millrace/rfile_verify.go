package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

const verifySchema = "millrace.rfile.verify/1"

func newVerify(e *env) *cobra.Command {
	m := manual{
		use:   "verify [flags] FILE...",
		short: "look for damage",
		long: `
Reads whole files and says whether they can be trusted.

Files that this program wrote carry checksums of every byte: any damage to them is found. Files from elsewhere have at
most what their codec offers. In all files the container, the named blocks and the whole index are checked. --deep
decodes every entry besides, samples included, holds order, counts, first keys and index against each other, and prints
the SHA-256 of the entries, which is the same for the same entries in any codec, block size and grouping.

A damaged file is reported with the place, and the others are checked all the same. Nothing is changed.`,
		memory: `of one file at a time the index root, the checksums (16 bytes a block), and of each group one data block, one
index block a level and a batch of keys.`,
		exits: []int{3, 6},
		examples: `
$ millrace rfile verify v8_none.rf v8_zstd.rf
v8_none.rf: ok, 800 entries in 1 group, no checksums: only container and index were checked, --deep decodes the data
v8_zstd.rf: ok, 2,500 entries in 1 group, no checksums: only container and index were checked, --deep decodes the data

$ millrace rfile verify --deep v8_edge.rf
v8_edge.rf: ok, 127 entries in 1 group, no checksums, every entry decoded
  sha256 a9fa1cbccb69dadfa58de5046cef6802a330d88667dddeaff1286cb6e46f9533`[1:],
	}
	var f format
	deep := false
	c := newCommand(m, args(1, -1, "at least one file"), func(cmd *cobra.Command, args []string) error {
		return e.verify(cmd.Context(), args, f, deep)
	})
	f.register(c, formatText, formatJSON, formatNDJSON, formatCSV, formatMarkdown)
	c.Flags().BoolVar(&deep, "deep", false, "decode every entry and hold it against index and counts")
	return c
}

func (e *env) verify(ctx context.Context, paths []string, f format, deep bool) error {
	var verdicts []*verdict
	var bad failures
	for _, path := range paths {
		v, err := e.judge(ctx, path, deep)
		if errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil {
			bad.add(err)
			v.OK, v.Error = false, newErrorDocument(printable(path), err)
		}
		verdicts = append(verdicts, v)
		switch {
		case f.is(formatText):
			err = e.printVerdict(v)
		case f.is(formatNDJSON):
			err = e.writeLine(v)
		default:
			err = nil
		}
		if err != nil {
			return bad.orElse(err)
		}
	}
	return bad.orElse(e.finishVerdicts(verdicts, f))
}

// finishVerdicts prints what can only be printed as a whole.
func (e *env) finishVerdicts(verdicts []*verdict, f format) error {
	switch {
	case f.is(formatText), f.is(formatNDJSON):
		return nil
	case f.is(formatJSON):
		var docs []any
		for _, v := range verdicts {
			docs = append(docs, v)
		}
		return e.writeFiles(verifySchema, docs)
	}
	g := grid{names: []string{"file", "ok", "rfile", "bcfile", "codec", "groups", "data_blocks", "entries", "file_bytes", "sha256", "offset", "what"},
		left: []int{0, 4, 9, 11}}
	for _, v := range verdicts {
		g.add(v.cells()...)
	}
	return e.writeGrid(&g, f)
}
