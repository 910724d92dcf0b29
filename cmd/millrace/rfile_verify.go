package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

const verifySchema = "millrace.rfile.verify/1"

func newVerify(e *env) *cobra.Command {
	m := manual{
		use:   "verify [flags] FILE|DIR...",
		short: "look for damage",
		long: `
Reads whole files and says whether they can be trusted.

Files that this program wrote carry checksums of every byte: any damage to them is found. Files from elsewhere have at
most what their codec offers, unless "sums" has put a sidecar beside them: NAME.sums for NAME.rf. In all files the
container, the named blocks and the whole index are checked. --deep decodes every entry besides, samples included, and
holds order, counts, first keys and index against each other. --hash does that, too, and prints the SHA-256 of the
entries, which is the same for the same entries in any codec, block size and grouping; it takes longer, since entries
are hashed one after another.

Of a directory all files *.rf below it are verified, sorted by name; hidden names and links are passed over. A damaged
file is reported with the place, and the others are checked all the same; of several files a summary comes last. Nothing
is changed.`,
		memory: `of one file at a time the index root, the checksums (16 bytes a block) and one index block a level; with --deep
for each processor, at most 16, a data block and 256 KiB or the largest block as it is stored; with --hash for each group
three data blocks, one index block a level and a batch of keys.`,
		exits: []int{3, 6},
		examples: `
$ millrace rfile verify v8_none.rf v8_zstd.rf
v8_none.rf: ok, 800 entries in 1 group, no checksums: only container and index were checked, --deep decodes the data
v8_zstd.rf: ok, 2,500 entries in 1 group, no checksums: only container and index were checked, --deep decodes the data
2 files: 2 ok, 0 damaged, 0 not verified; 3,300 entries in 96,686 bytes

$ millrace rfile verify --deep v8_edge.rf
v8_edge.rf: ok, 127 entries in 1 group, no checksums, every entry decoded

$ millrace rfile verify --hash v8_edge.rf
v8_edge.rf: ok, 127 entries in 1 group, no checksums, every entry decoded
  sha256 a9fa1cbccb69dadfa58de5046cef6802a330d88667dddeaff1286cb6e46f9533`[1:],
	}
	var f format
	deep, hash := false, false
	c := newCommand(m, args(1, -1, "at least one file"), func(cmd *cobra.Command, args []string) error {
		return e.verify(cmd.Context(), args, f, depthOf(deep, hash))
	})
	f.register(c, formatText, formatJSON, formatNDJSON, formatCSV, formatMarkdown)
	completeRFiles(c)
	c.Flags().BoolVar(&deep, "deep", false, "decode every entry and hold it against index and counts")
	c.Flags().BoolVar(&hash, "hash", false, "do so, and print the SHA-256 of all entries")
	return c
}

// depth is how far a check goes.
type depth int

const (
	shallow depth = iota
	deep          // all entries
	hashed        // all entries, and the SHA-256 of them
)

func depthOf(decode, hash bool) depth {
	switch {
	case hash:
		return hashed
	case decode:
		return deep
	}
	return shallow
}

func (e *env) verify(ctx context.Context, paths []string, f format, depth depth) error {
	targets := e.targetsOf(paths)
	var m meter
	total := int64(0)
	for _, t := range targets {
		total += t.bytes
	}
	m.p = e.progress("verify "+counted(int64(len(targets)), "file", "files"), unitBytes, total)
	defer m.p.end()
	var verdicts []*verdict
	var bad failures
	for _, t := range targets {
		m.bytes = t.bytes
		v, err := e.judge(ctx, t, depth, m)
		if errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil {
			bad.add(err)
			v.OK, v.Error = false, newErrorDocument(printable(t.path), err)
		}
		m.base += t.bytes
		m.p.set(m.base)
		verdicts = append(verdicts, v)
		if err := e.tellVerdict(v, f); err != nil {
			return bad.orElse(err)
		}
	}
	m.p.end()
	return bad.orElse(e.finishVerdicts(verdicts, f))
}

// tellVerdict prints a verdict at once where it can stand alone.
func (e *env) tellVerdict(v *verdict, f format) (err error) {
	switch {
	case f.is(formatText):
		err = e.printVerdict(v)
	case f.is(formatNDJSON):
		err = e.writeLine(v)
	default:
		return nil
	}
	if err != nil {
		return err
	}
	return e.out.Flush()
}

// meter turns what is done of one file into a progress over all.
type meter struct {
	p     *progress
	base  int64 // bytes of the files before
	bytes int64 // of the file
}

// read says how many bytes of the file were read.
func (m meter) read(n int64) { m.p.set(m.base + min(n, m.bytes)) }

// decoded says how many of its entries were.
func (m meter) decoded(n, of int64) {
	m.p.set(m.base + int64(float64(m.bytes)*min(float64(n)/float64(max(of, 1)), 1)))
}

// finishVerdicts prints what can only be printed as a whole.
func (e *env) finishVerdicts(verdicts []*verdict, f format) error {
	switch {
	case f.is(formatText):
		return e.printTally(verdicts)
	case f.is(formatNDJSON):
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
