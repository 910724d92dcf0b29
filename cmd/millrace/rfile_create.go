package main

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"millrace/internal/clock"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

const createSchema = "millrace.rfile.create/1"

// minSortMemory is room for one line, the writer's own buffers, and a merge of a few temporary files.
const minSortMemory = 16 << 20

func newCreate(e *env) *cobra.Command {
	m := manual{
		use:   "create [flags] OUT",
		short: "make a file of entries in ndjson",
		long: `
Makes an RFile of entries that come in any order as ndjson, one object a line, from standard input or --input FILE;
gzip is recognised:

  {"row":"72","cf":"66","cq":"71","cv":"","ts":"5","del":false,"val":"76"}

row, cf, cq, cv and val are hex, ts is a decimal number in a string. row and ts must be there; what else is missing is
empty, or false. "cat --format ndjson" prints this form; the field g that it adds is passed over, --groups or
--groups-like say which families go into which locality group. Equal keys stay in the order in which they come.

A line that is no entry counts as damaged data: it is reported with its number, and nothing is written. Entries beyond
the memory go to temporary files in a hidden directory beside OUT, which is removed.`,
		memory: `--memory and some 12M for the program itself, whatever the number of entries; with --sampler 10 MB, with --bloom
the bits of the filter. A line may take an eighth of --memory. With --verify what
"verify --deep" takes.`,
		exits:   []int{3, 6},
		meaning: map[int]string{3: "data is damaged, or a line is no entry"},
		examples: `
$ millrace rfile cat --format ndjson v8_none.rf | millrace rfile create --codec zstd out.rf
out.rf: 800 entries, including 98 delete markers, in 29,524 bytes, codec zstd, …

$ millrace rfile create --input v8_lgs_sample.jsonl.gz --groups 'left=fam,family1;right=zother' out2.rf
out2.rf: 3,100 entries, including 379 delete markers, in 46,573 bytes, codec gz, …`[1:],
	}
	o := createOptions{memory: 256 << 20, input: "-"}
	c := newCommand(m, args(1, 1, "one output"), func(cmd *cobra.Command, args []string) error {
		return e.createFile(cmd.Context(), args[0], o)
	})
	o.format.register(c, formatText, formatJSON)
	completeRFiles(c)
	o.writer.register(c, "gz", "")
	o.writer.registerForce(c)
	c.Flags().StringVarP(&o.input, "input", "i", o.input, "`FILE` to read entries from; - is standard input")
	c.Flags().Var(&o.memory, "memory", "memory to sort in")
	return c
}

type createOptions struct {
	format format
	writer writerFlags
	input  string
	memory size
}

func (e *env) createFile(ctx context.Context, path string, o createOptions) (err error) {
	if err := o.writer.check(); err != nil {
		return err
	}
	if o.memory < minSortMemory {
		return usagef("--memory is %v, not at least %dM", &o.memory, minSortMemory>>20)
	}
	layout, writerOptions, err := o.writer.layout(e, nil)
	if err != nil {
		return err
	}
	started := e.clock.Now()
	meta, err := e.createSorted(ctx, path, o, layout, writerOptions)
	if err != nil {
		return err
	}
	return e.printWritten(newWritten(createSchema, path, meta, writerOptions, clock.Since(e.clock, started)), o.format)
}

// createSorted makes the output, or leaves nothing behind.
func (e *env) createSorted(ctx context.Context, path string, o createOptions, layout grouping, w rfile.WriterOptions) (m tablet.FileMeta, err error) {
	in, err := e.entriesFrom(ctx, o.input, int(o.memory/8))
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	inputs := []string{o.writer.groupsLike}
	if o.input != "-" {
		inputs = append(inputs, o.input)
	}
	out, err := e.create(path, o.writer.force, inputs...)
	if err != nil {
		return m, err
	}
	defer limitMemory(int64(o.memory))()
	s := newSorter(out.dir, out.temp+"-sort", layout, sortBudget(int64(o.memory)))
	defer func() { err = out.end(errors.Join(err, s.close())) }()
	if m, err = e.sortInto(ctx, out, s, in, w); err != nil {
		return m, err
	}
	if o.writer.verify {
		p := e.progress("read "+out.path+" back", "entries", 0)
		defer p.end()
		if err := readBack(ctx, out, m, p); err != nil {
			return m, err
		}
	}
	return m, out.publishSynced()
}

// sortBudget is how much of the memory entries may take: most of it; the rest is for the line, the writer, and what the
// collector has not yet seen. Tests make it small.
var sortBudget = func(memory int64) int { return int(memory / 4 * 3) }

// limitMemory makes the collector work harder when the process nears a number of bytes. The function returned ends that.
func limitMemory(bytes int64) func() {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, bytes))
	return func() { debug.SetMemoryLimit(before) }
}

// sortInto reads all entries and completes the output.
func (e *env) sortInto(ctx context.Context, out *output, s *sorter, in *entryInput, o rfile.WriterOptions) (m tablet.FileMeta, err error) {
	if err := in.each(func(k *tablet.Key, value []byte) error { return s.add(ctx, k, value) }); err != nil {
		return m, err
	}
	w, err := rfile.NewWriter(out.file, o)
	if err != nil {
		return m, err
	}
	p := e.progress("write "+out.path, "entries", s.entries)
	defer p.end()
	if err := s.writeTo(ctx, w, p); err != nil {
		return m, err
	}
	if m, err = w.Finish(); err != nil {
		return m, err
	}
	return m, out.complete()
}

// entryInput is where create reads entries.
type entryInput struct {
	lines *lineReader
	entry jsonEntry
	p     *progress
	file  io.Closer // nil for standard input
}

// entriesFrom opens an input; - is standard input.
func (e *env) entriesFrom(ctx context.Context, path string, longestLine int) (in *entryInput, err error) {
	if path == "-" {
		in = &entryInput{p: e.progress("read standard input", unitBytes, 0)}
		source := &countingReader{r: newPump(ctx, e.in), read: in.p.set}
		if in.lines, err = newLineReader("standard input", source, longestLine); err != nil {
			in.p.end()
			return nil, err
		}
		return in, nil
	}
	f, err := e.openLines(path)
	if err != nil {
		return nil, err
	}
	bytes, err := f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	in = &entryInput{p: e.progress("read "+path, unitBytes, bytes), file: f}
	if in.lines, err = newLineReader(f.Name(), fileReader(f, in.p.set), longestLine); err != nil {
		in.p.end()
		return nil, errors.Join(err, f.Close())
	}
	return in, nil
}

// each calls back with every entry.
func (in *entryInput) each(take func(k *tablet.Key, value []byte) error) error {
	defer in.p.end()
	for {
		line, err := in.lines.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := in.entry.parse(line); err != nil {
			return in.lines.wrong(err)
		}
		if err := take(&in.entry.key, in.entry.value); err != nil {
			return err
		}
	}
}

func (in *entryInput) close() error {
	in.p.end()
	if in.file == nil {
		return nil
	}
	return in.file.Close()
}
