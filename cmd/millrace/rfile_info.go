package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

const infoSchema = "millrace.rfile.info/1"

func newInfo(e *env) *cobra.Command {
	m := manual{
		use:   "info [flags] FILE...",
		short: "versions, codec, groups, counts, sizes and key bounds of files",
		long: `
Describes RFiles from their indexes alone, so that the largest file takes milliseconds: versions, codec, checksums,
groups with their families, entries, blocks and first and last keys, sizes raw and stored, histograms of the blocks,
sample groups and named blocks. Damage to data blocks is not noticed; "verify" looks for that.

Several files are a table, a line each and a last one of totals; --histogram describes each in full as it does one. A
file that cannot be read is reported, and the others are described all the same.`,
		memory: "of one file at a time the index root, the checksums (16 bytes a block), and one index block a level.",
		exits:  []int{3, 6},
		examples: `
$ millrace rfile info v8_none.rf
v8_none.rf
  format   RFile 8 in BCFile 3.0, codec none, no checksums of its own
  size     36,673 bytes
  content  800 entries in 1 group, 9 data blocks: 36,108 bytes raw, 36,108 stored, ratio 1.00
  named    BCFile.index (6 bytes), RFile.index (438 bytes)

  group default
    families  2: "a" 408, "b" 392
    entries   800 in 9 blocks: 36,108 bytes raw, 36,108 stored, ratio 1.00
    index     root of level 0, 0 blocks below it
    first     row_00000 a:q11/long/qualifier/605 [(A|B)&C] -1965861971687223536
    last      row_00160_98d503ca b:q45 [(A|B)&C] 1700000004583
    raw bytes of a block
            2K to below 4K                1 #####
            4K to below 8K                8 ########################################
    entries of a block
            64 to below 128               9 ########################################

$ millrace rfile info v8_none.rf v8_lgs_sample.rf
file              rfile  bcfile  codec  sums   groups  entries  blocks  raw_bytes  stored_bytes  ratio  file_bytes  first_row  last_row
v8_none.rf            8  3.0     none   false       1      800       9     36,108        36,108   1.00      36,673  row_00000  row_00160_98d503ca
v8_lgs_sample.rf      8  3.0     gz     false       4    3,100      50     95,828        55,475   1.73      70,536  row_00000  row_00300
2 files                                             5    3,900      59    131,936        91,583   1.44     107,209

$ millrace rfile info --format csv v8_none.rf v8_zstd.rf
file,rfile,bcfile,codec,sums,group,entries,data_blocks,index_levels,raw_bytes,stored_bytes,file_bytes
v8_none.rf,8,3.0,none,false,,800,9,0,36108,36108,36673
v8_zstd.rf,8,3.0,zstd,false,,2500,3,0,532027,59703,60013`[1:],
	}
	var f format
	o := infoOptions{families: 5}
	c := newCommand(m, args(1, -1, "at least one file"), func(cmd *cobra.Command, args []string) error {
		o.table = len(args) > 1 && !o.histogram
		return e.info(cmd.Context(), args, f, o)
	})
	f.register(c, formatText, formatJSON, formatNDJSON, formatCSV, formatMarkdown)
	completeRFiles(c)
	c.Flags().BoolVar(&o.histogram, "histogram", false, "as text, describe each of several files in full")
	c.Flags().IntVar(&o.families, "families", o.families, "how many families of a group to list as text, those with most entries; 0 lists all")
	return c
}

type infoOptions struct {
	families  int
	histogram bool
	table     bool // text is a table
}

func (e *env) info(ctx context.Context, paths []string, f format, o infoOptions) error {
	if o.families < 0 {
		return usagef("--families is %d, not at least 0", o.families)
	}
	var infos []*fileInfo
	var bad failures
	for i, path := range paths {
		info, err := e.inspect(ctx, path)
		if errors.Is(err, context.Canceled) {
			return err
		}
		if err != nil {
			bad.add(err)
			info = &fileInfo{File: path, failed: newErrorDocument(printable(path), err)}
		}
		infos = append(infos, info)
		switch {
		case f.is(formatText) && !o.table:
			err = e.printInfo(info, i > 0, o.families)
		case f.is(formatNDJSON):
			err = e.writeLine(info.document())
		default:
			err = nil
		}
		if err != nil {
			return bad.orElse(err)
		}
	}
	return bad.orElse(e.finishInfo(infos, f, o))
}

// finishInfo prints what can only be printed as a whole.
func (e *env) finishInfo(infos []*fileInfo, f format, o infoOptions) error {
	switch {
	case f.is(formatText) && o.table:
		return e.printInfoTable(infos, f)
	case f.is(formatText), f.is(formatNDJSON):
		return nil
	case f.is(formatJSON):
		var docs []any
		for _, i := range infos {
			docs = append(docs, i.document())
		}
		return e.writeFiles(infoSchema, docs)
	}
	g := grid{names: []string{"file", "rfile", "bcfile", "codec", "sums", "group", "entries", "data_blocks", "index_levels", "raw_bytes",
		"stored_bytes", "file_bytes"}, left: []int{0, 3, 5}}
	for _, i := range infos {
		for _, group := range i.Groups {
			name := ""
			if group.Name != nil {
				name = printable(*group.Name)
			}
			g.add(printable(i.File), i.RFileVersion, fmt.Sprintf("%d.%d", i.BCFileVersion[0], i.BCFileVersion[1]), i.Codec, i.Sums != nil, name,
				group.Entries, group.DataBlocks, group.IndexLevels, group.RawBytes, group.StoredBytes, i.Bytes)
		}
	}
	return e.writeGrid(&g, f)
}
