package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"millrace/compactor/job"
	"millrace/internal/clock"
	"millrace/tablet/iter"
)

const splitSchema = "millrace.rfile.split/1"

func newSplit(e *env) *cobra.Command {
	m := manual{
		use:   "split [flags] OUTDIR IN",
		short: "write one file for each tablet",
		long: `
Divides a file at split rows into one RFile for each tablet: the rows up to and with a split row, as tablets of Accumulo.
Every entry goes into exactly one of them, delete markers and all versions included. The rows come from --at, from
--splits, or with --size from the index of IN, as "rfile splits --size" proposes them: each output then has that many
bytes at most, about, unless one row has more; a Bloom filter is as large in each of them as in IN.

The files are named after the number of their tablet: 0001.rf, 0002.rf and so on. A tablet of which IN has no rows gets
no file; the output says which. OUTDIR must be empty, or is made. All files appear in it at once when all are complete:
a command that fails or is interrupted leaves none, though a process that is killed can leave hidden ones.

--load-plan writes the plan for Accumulo's bulk import beside the files, so that the import need not open them: the JSON of
Accumulo 2.1.4 and later (LoadPlan.fromJson), with ranges of type TABLE, whose rows must be split rows of the table when
it is imported, or with --plan-type FILE the first and last row of each file.`,
		memory: `of IN the index root, the checksums (16 bytes a block), and of each group one data block, one index block a level
and a batch of keys; of one output at a time a block and at most 10 MiB of index, with a sampler 10 MB, with a Bloom
filter its bits; and the split rows. With --verify what "verify --deep" takes.`,
		exits:   []int{3, 6},
		meaning: map[int]string{3: "data is damaged, or a line of --splits is no row"},
		examples: `
$ millrace rfile split --at row_00050 --at row_00100 --load-plan out/plan.json out v8_none.rf
out/0001.rf: rows (-inf,row_00050], 240 entries in 11,316 bytes
out/0002.rf: rows (row_00050,row_00100], 252 entries in 11,965 bytes
out/0003.rf: rows (row_00100,+inf], 308 entries in 13,956 bytes
800 entries in 3 files for 3 tablets, 37,237 bytes, codec none, …

$ millrace rfile split --size 100K --codec zstd out2 v8_multilevel.rf
out2/0001.rf: rows (-inf,row_0059], 3,000 entries in 85,668 bytes
out2/0002.rf: rows (row_0059,+inf], 3,000 entries in 85,487 bytes
6,000 entries in 2 files for 2 tablets, 171,155 bytes, codec zstd, …`[1:],
	}
	o := splitOptions{planType: choice{value: planTable, from: []string{planTable, planFile}}}
	c := newCommand(m, args(2, 2, "an output directory and an input"), func(cmd *cobra.Command, args []string) error {
		o.sized = cmd.Flags().Changed("size")
		return e.split(cmd.Context(), args[0], args[1], o)
	})
	o.format.register(c, formatText, formatJSON)
	c.ValidArgsFunction = completeDirThenRFiles
	o.splits.register(c)
	c.Flags().Var(&o.size, "size", "bytes of an output, about")
	c.Flags().StringVar(&o.plan, "load-plan", "", "write a plan for bulk import to this new `FILE`")
	c.Flags().Var(&o.planType, "plan-type", "ranges of the plan: TABLE or FILE")
	o.planType.complete(c, "plan-type")
	o.writer.register(c, "", "IN")
	return c
}

type splitOptions struct {
	format   format
	writer   writerFlags
	splits   splitFlags
	size     size
	sized    bool
	plan     string
	planType choice
}

func (o *splitOptions) check() error {
	switch {
	case !o.sized && !o.splits.given():
		return usagef("want --at, --splits or --size")
	case o.sized && o.splits.given():
		return usagef("--size excludes --at and --splits")
	case o.sized && o.size < 1:
		return usagef("--size is %v, not at least 1", &o.size)
	}
	if o.plan != "" {
		if err := checkPlanPath(o.plan); err != nil {
			return err
		}
	}
	return o.writer.check()
}

// divided is split's JSON document.
type divided struct {
	Schema     string     `json:"schema"`
	Input      string     `json:"input"`
	InputBytes int64      `json:"input_size"`
	Codec      string     `json:"codec"`
	Tablets    int        `json:"tablets"`
	Entries    int64      `json:"entries"`
	Bytes      int64      `json:"size"` // of all files
	Files      []*portion `json:"files"`
	Empty      []int      `json:"empty"` // numbers of the tablets without rows
	LoadPlan   string     `json:"load_plan,omitempty"`
	NotCarried []string   `json:"not_carried"`
	TookNS     int64      `json:"took_ns"`
}

// portion is one file of it.
type portion struct {
	File     string  `json:"file"`
	Tablet   int     `json:"tablet"` // from 1
	PrevRow  *string `json:"prev_end_row"`
	EndRow   *string `json:"end_row"` // hex, null where there is none
	FirstRow string  `json:"first_row"`
	LastRow  string  `json:"last_row"`
	Bytes    int64   `json:"size"`
	Entries  int64   `json:"entries"`
	Deletes  int64   `json:"deletes"`
	CRC32C   uint32  `json:"crc32c"`
	FileID   string  `json:"file_id,omitempty"`

	rows string // for the eye
}

func (e *env) split(ctx context.Context, path, input string, o splitOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	rows, err := o.splits.rows(ctx, e)
	if err != nil {
		return err
	}
	c := compaction{label: "split " + input, inputs: []string{input}, verify: o.writer.verify}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.openInputs(e); err != nil {
		return err
	}
	if err := c.adopt(&o.writer); err != nil {
		return err
	}
	layout, w, err := o.writer.layout(e, c.newest())
	if err != nil {
		return err
	}
	if o.sized {
		found, err := propose(ctx, c.readers, desiredSplits(bytesOf(c.readers), int64(o.size)))
		if err != nil {
			return err
		}
		rows = found.rows
	}
	d := division{compaction: &c, o: o, tiles: tilingOf(rows), started: e.clock.Now(),
		spec: job.Spec{Groups: groupSpecs(layout), KeepAll: true, User: true, Mode: iter.Tree, Writer: w}}
	d.doc = divided{Schema: splitSchema, Input: input, InputBytes: bytesOf(c.readers), Codec: w.Codec, Tablets: len(d.tiles),
		Files: []*portion{}, Empty: []int{}, LoadPlan: o.plan, NotCarried: notCarried(c.readers, w)}
	if err := d.run(ctx, e, path); err != nil {
		return err
	}
	d.doc.TookNS = int64(clock.Since(e.clock, d.started))
	if o.format.is(formatJSON) {
		return e.writeJSON(&d.doc)
	}
	return e.printDivided(&d.doc)
}

func (e *env) printDivided(d *divided) error {
	for _, p := range d.Files {
		_, err := fmt.Fprintf(e.out, "%s: rows %s, %s in %s bytes\n", printable(p.File), p.rows, counted(p.Entries, "entry", "entries"), humanize.Comma(p.Bytes))
		if err != nil {
			return err
		}
	}
	took := time.Duration(d.TookNS)
	_, err := fmt.Fprintf(e.out, "%s in %s for %s, %s bytes, codec %s, %v, %s entries/s\n%s%s", counted(d.Entries, "entry", "entries"),
		counted(int64(len(d.Files)), "file", "files"), counted(int64(d.Tablets), "tablet", "tablets"), humanize.Comma(d.Bytes), d.Codec,
		took.Round(time.Millisecond), humanize.Comma(perSecond(d.Entries, took)), emptyText(d.Empty), notCarriedText(d.NotCarried))
	return err
}

// emptyText lists tablets without rows, runs of them as one; it is a line or nothing.
func emptyText(empty []int) string {
	if len(empty) == 0 {
		return ""
	}
	const most = 20
	text, runs := "", 0
	for i := 0; i < len(empty); runs++ {
		end := i + 1
		for end < len(empty) && empty[end] == empty[end-1]+1 {
			end++
		}
		if runs == most {
			text += " and more"
			break
		}
		text += fmt.Sprintf(" %04d", empty[i])
		if end > i+1 {
			text += fmt.Sprintf("-%04d", empty[end-1])
		}
		i = end
	}
	return fmt.Sprintf("  no rows for %s:%s\n", counted(int64(len(empty)), "tablet", "tablets"), text)
}

// fileOfTablet is the name of a tablet's file. Names have the same length, so that they sort by number.
func fileOfTablet(dir string, number, tablets int) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d.rf", max(4, len(fmt.Sprint(tablets))), number))
}
