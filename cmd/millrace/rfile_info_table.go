package main

import (
	"bytes"
	"fmt"

	"github.com/dustin/go-humanize"

	"millrace/tablet"
)

// printInfoTable prints a line for each file and one of totals; below, what is wrong with those that cannot be read.
func (e *env) printInfoTable(infos []*fileInfo, f format) error {
	g := grid{names: []string{"file", "rfile", "bcfile", "codec", "sums", "groups", "entries", "blocks", "raw_bytes", "stored_bytes", "ratio",
		"file_bytes", "first_row", "last_row"}, left: []int{0, 2, 3, 4, 12, 13}}
	var unread bytes.Buffer
	var t fileInfo // totals
	groups := 0
	for _, i := range infos {
		if i.failed != nil {
			fmt.Fprintf(&unread, "%s cannot be read: %s\n", printable(i.File), i.failed.What)
			continue
		}
		first, last := i.rows()
		g.add(printable(i.File), i.RFileVersion, fmt.Sprintf("%d.%d", i.BCFileVersion[0], i.BCFileVersion[1]), i.Codec, i.Sums != nil,
			len(i.Groups), humanize.Comma(i.Entries), humanize.Comma(i.DataBlocks), humanize.Comma(i.RawBytes), humanize.Comma(i.StoredBytes),
			ratioCell(i), humanize.Comma(i.Bytes), first, last)
		groups += len(i.Groups)
		t.Entries += i.Entries
		t.DataBlocks += i.DataBlocks
		t.RawBytes += i.RawBytes
		t.StoredBytes += i.StoredBytes
		t.Bytes += i.Bytes
	}
	if read := len(g.rows); read > 0 {
		g.add(counted(int64(read), "file", "files"), "", "", "", "", groups, humanize.Comma(t.Entries), humanize.Comma(t.DataBlocks),
			humanize.Comma(t.RawBytes), humanize.Comma(t.StoredBytes), ratioCell(&t), humanize.Comma(t.Bytes), "", "")
		if err := e.writeGrid(&g, f); err != nil {
			return err
		}
	}
	_, err := e.out.Write(unread.Bytes())
	return err
}

func ratioCell(i *fileInfo) string {
	if i.StoredBytes == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", float64(i.RawBytes)/float64(i.StoredBytes))
}

// rows are a file's first and last row for the eye, empty in a file without entries.
func (i *fileInfo) rows() (first, last string) {
	var low, high *tablet.Key
	for _, g := range i.Groups {
		if g.FirstKey == nil {
			continue
		}
		if k := &g.group.FirstKey; low == nil || bytes.Compare(k.Row(), low.Row()) < 0 {
			low = k
		}
		if high == nil || bytes.Compare(g.last.Row(), high.Row()) > 0 {
			high = &g.last
		}
	}
	if low == nil {
		return "", ""
	}
	return rowCell(low.Row()), rowCell(high.Row())
}

// rowCell is a row in a column of a table: short, with blanks escaped.
func rowCell(row []byte) string {
	const longest = 24
	if len(row) <= longest {
		return shortRow(row)
	}
	return shortRow(row[:longest]) + "…"
}
