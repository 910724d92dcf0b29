package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"millrace/tablet"
)

const extentsSchema = "millrace.rfile.extents/1"

func newExtents(e *env) *cobra.Command {
	m := manual{
		use:   "extents [flags] FILE...",
		short: "which tablets files have rows of",
		long: `
Says for each file of which tablets it has rows, and what is the first row of each. The tablets are those between the
split rows of --at or --splits; or --extent gives some of them, PREV,END for the rows behind PREV up to and with END,
either left out where there is no bound: then rows outside are listed too.

Of the data only the blocks at the beginning of each tablet's rows are read. So the tablets and their first rows are
exact; how many entries a file has of a tablet comes from the index, which tells bounds of it, and the bytes are those of
the blocks, shared among the tablets that a block meets.

--expect-within fails if a file has rows outside of all --extent, --expect-tablets N if a file has rows of more than N
tablets (Accumulo's table.bulk.max.tablets), --expect-files N if a tablet gets more than N files
(table.bulk.max.tablet.files), --expect-entries if a file is empty.

--load-plan writes a plan for Accumulo's bulk import of the files, as "rfile split" does. The import refuses a directory
in which there is any other RFile, an empty one also, which no plan can name; that is said on standard error. No plan is
written if an expectation is not met, nor one of type TABLE if a file has rows outside of all --extent.`,
		memory: `of one file at a time the index root, the checksums (16 bytes a block), and of each group one data block, one index
block a level and a batch of keys; the split rows, and for each file the tablets that it has rows of.`,
		exits:   []int{3, 4, 6},
		meaning: map[int]string{3: "data is damaged, or a line of --splits is no row"},
		examples: `
$ millrace rfile extents --at row_00050 --at row_00100 v8_none.rf v8_empty_default.rf
file                 extent                 first_row           entries   bytes
v8_none.rf           (-inf,row_00050]       row_00000           180-271  10,282
v8_none.rf           (row_00050,row_00100]  row_00050_56120bcd  178-361  12,347
v8_none.rf           (row_00100,+inf]       row_00100_13f72511  259-351  13,478
v8_empty_default.rf  none                                             0       0

$ millrace rfile extents --extent ,row_00100 --expect-within v8_none.rf
file        extent                    first_row           entries   bytes
v8_none.rf  (-inf,row_00100]          row_00000           449-541  22,630
v8_none.rf  OUTSIDE (row_00100,+inf]  row_00100_13f72511  259-351  13,478
millrace rfile extents: v8_none.rf has rows outside of all extents, the first row_00100_13f72511`[1:],
	}
	o := extentsOptions{planType: choice{value: planTable, from: []string{planTable, planFile}}}
	c := newCommand(m, args(1, -1, "at least one file"), func(cmd *cobra.Command, args []string) error {
		return e.extents(cmd.Context(), args, o)
	})
	o.format.register(c, formatText, formatJSON, formatNDJSON, formatCSV, formatMarkdown)
	completeRFiles(c)
	o.splits.register(c)
	f := c.Flags()
	f.Var(&o.extents, "extent", "one extent, in place of split rows; may be given several times")
	f.BoolVar(&o.within, "expect-within", false, "fail if a file has rows outside of all --extent")
	f.BoolVar(&o.entries, "expect-entries", false, "fail if a file is empty")
	f.IntVar(&o.tablets, "expect-tablets", 0, "fail if a file has rows of more than so many tablets; 0 does not")
	f.IntVar(&o.files, "expect-files", 0, "fail if a tablet gets more than so many of the files; 0 does not")
	f.StringVar(&o.plan, "load-plan", "", "write a plan for bulk import to this `FILE`")
	f.Var(&o.planType, "plan-type", "ranges of the plan: TABLE or FILE")
	o.planType.complete(c, "plan-type")
	f.BoolVar(&o.force, "force", false, "replace the file of --load-plan if it exists")
	return c
}

type extentsOptions struct {
	format          format
	splits          splitFlags
	extents         extentList
	within, entries bool
	tablets, files  int
	plan            string
	planType        choice
	force           bool
}

func (o *extentsOptions) check() error {
	switch {
	case o.splits.given() && len(o.extents) > 0:
		return usagef("--extent excludes --at and --splits")
	case o.within && len(o.extents) == 0:
		return usagef("--expect-within wants --extent: between split rows there is no outside; --expect-tablets 1 asks for one tablet")
	case o.tablets < 0 || o.files < 0:
		return usagef("--expect-tablets and --expect-files are at least 0")
	}
	if o.plan == "" {
		return nil
	}
	return checkPlanPath(o.plan)
}

// tiling is what the flags say of tablets. Without any there is one, of all rows.
func (o *extentsOptions) tiling(ctx context.Context, e *env) (tiling, error) {
	if len(o.extents) > 0 {
		return tilingOfExtents(o.extents)
	}
	rows, err := o.splits.rows(ctx, e)
	if err != nil {
		return nil, err
	}
	return tilingOf(rows), nil
}

func (e *env) extents(ctx context.Context, paths []string, o extentsOptions) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	tiles, err := o.tiling(ctx, e)
	if err != nil {
		return err
	}
	s := survey{o: o, tiles: tiles, perTile: map[int]int{}}
	if o.plan != "" {
		s.plan, s.names = newLoadPlan(), map[string]bool{}
		if s.out, err = e.createPlan(o.plan, o.force, paths...); err != nil {
			return err
		}
		defer func() { err = s.out.end(err) }()
	}
	return e.survey(ctx, &s, paths)
}

// survey looks at all files and tells what it found.
func (e *env) survey(ctx context.Context, s *survey, paths []string) error {
	var bad failures
	p := e.progress("extents", "files", int64(len(paths)))
	for _, path := range paths {
		err := s.add(ctx, e, path)
		if errors.Is(err, context.Canceled) || errors.Is(err, tablet.ErrUsage) {
			p.end()
			return err
		}
		if err != nil {
			bad.add(err)
			s.files = append(s.files, &placement{File: path, failed: newErrorDocument(printable(path), err)})
		}
		p.add(1)
	}
	p.end()
	if err := bad.orElse(e.printSurvey(s)); err != nil {
		return err
	}
	if err := s.expectation(); err != nil {
		return err
	}
	return e.writeSurveyPlan(s)
}

// openPlaced opens a file and finds its place.
func (e *env) openPlaced(ctx context.Context, path string, tiles tiling) (s spread, err error) {
	r, err := e.openRFile(path)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return spreadOf(ctx, r, tiles)
}

// writeSurveyPlan writes the plan, if one is wanted.
func (e *env) writeSurveyPlan(s *survey) error {
	if s.plan == nil {
		return nil
	}
	if err := writePlan(s.out, s.plan); err != nil {
		return err
	}
	if err := s.out.publishSynced(); err != nil {
		return err
	}
	for _, f := range s.files {
		if f.Entries == 0 {
			fmt.Fprintf(e.err, "%s is empty and not in the plan: it must not be in the directory that is imported\n", printable(f.File))
		}
	}
	return nil
}
