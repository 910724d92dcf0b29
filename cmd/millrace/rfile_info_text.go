package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"millrace/tablet/rfile"
)

// printInfo prints a file's description for the eye.
func (e *env) printInfo(i *fileInfo, another bool, families int) error {
	var b bytes.Buffer
	if another {
		b.WriteByte('\n')
	}
	fmt.Fprintln(&b, printable(i.File))
	if i.failed != nil {
		fmt.Fprintf(&b, "  cannot be read: %s\n", i.failed.What)
	} else {
		i.print(&b, families)
	}
	_, err := e.out.Write(b.Bytes())
	return err
}

func (i *fileInfo) print(b *bytes.Buffer, families int) {
	sums := "no checksums of its own"
	if i.Sums != nil {
		sums = fmt.Sprintf("checksums of %s blocks, file id %s", humanize.Comma(int64(i.Sums.Blocks)), i.Sums.FileID)
	}
	fmt.Fprintf(b, "  format   RFile %d in BCFile %d.%d, codec %s, %s\n", i.RFileVersion, i.BCFileVersion[0], i.BCFileVersion[1], i.Codec, sums)
	fmt.Fprintf(b, "  size     %s bytes\n", humanize.Comma(i.Bytes))
	fmt.Fprintf(b, "  content  %s in %s, %s: %s bytes raw, %s stored%s\n", counted(i.Entries, "entry", "entries"),
		counted(int64(len(i.Groups)), "group", "groups"), counted(i.DataBlocks, "data block", "data blocks"),
		humanize.Comma(i.RawBytes), humanize.Comma(i.StoredBytes), ratio(i.RawBytes, i.StoredBytes))
	var named []string
	for _, m := range i.MetaBlocks {
		named = append(named, fmt.Sprintf("%s (%s bytes)", printable(m.Name), humanize.Comma(m.Stored)))
	}
	fmt.Fprintf(b, "  named    %s\n", strings.Join(named, ", "))
	if i.Sampler != nil {
		fmt.Fprintf(b, "  sampler  %s\n", i.Sampler.text())
	}
	for _, g := range i.Groups {
		g.print(b, "group", families)
	}
	for _, g := range i.SampleGroups {
		g.print(b, "sample of group", families)
	}
}

func (s *samplerInfo) text() string {
	var options []string
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		options = append(options, printable(name+"="+s.Options[name]))
	}
	return strings.Join(append([]string{printable(s.Class)}, options...), " ")
}

func (g *groupInfo) print(b *bytes.Buffer, what string, families int) {
	fmt.Fprintf(b, "\n  %s %s\n", what, showGroup(g.Name))
	fmt.Fprintf(b, "    families  %s\n", g.familiesText(families))
	fmt.Fprintf(b, "    entries   %s in %s: %s bytes raw, %s stored%s\n", humanize.Comma(g.Entries), counted(g.DataBlocks, "block", "blocks"),
		humanize.Comma(g.RawBytes), humanize.Comma(g.StoredBytes), ratio(g.RawBytes, g.StoredBytes))
	fmt.Fprintf(b, "    index     root of level %d, %s below it\n", g.IndexLevels, counted(g.IndexBlocks, "block", "blocks"))
	if g.FirstKey == nil {
		return
	}
	fmt.Fprintf(b, "    first     %s\n", shortKey(&g.group.FirstKey))
	fmt.Fprintf(b, "    last      %s\n", shortKey(&g.last))
	g.BlockBytes.print(b, "raw bytes of a block", true)
	g.BlockCounts.print(b, "entries of a block", false)
}

// familiesText lists the families with most entries.
func (g *groupInfo) familiesText(most int) string {
	if !g.group.Tracked {
		return "not listed, there are more than 1,000"
	}
	sorted := slices.Clone(g.group.Families)
	slices.SortFunc(sorted, func(a, b rfile.FamilyCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), bytes.Compare(a.Family, b.Family))
	})
	text := humanize.Comma(int64(len(sorted)))
	for n, f := range sorted {
		sep := ", "
		if n == 0 {
			sep = ": "
		}
		if most > 0 && n == most {
			return text + fmt.Sprintf(" and %s more", humanize.Comma(int64(len(sorted)-n)))
		}
		text += sep + `"` + shortText(f.Family) + `" ` + humanize.Comma(f.Count)
	}
	return text
}

// print draws the histogram.
func (h histogram) print(b *bytes.Buffer, what string, asBytes bool) {
	most := int64(1)
	for _, k := range h {
		most = max(most, k.Blocks)
	}
	show := func(n int64) string {
		if asBytes {
			s := size(n)
			return s.String()
		}
		return humanize.Comma(n)
	}
	fmt.Fprintf(b, "    %s\n", what)
	for _, k := range h {
		const width = 40
		bar := strings.Repeat("#", int(max(k.Blocks*width/most, 1)))
		fmt.Fprintf(b, "      %8s to below %-8s %10s %s\n", show(k.From), show(k.Below), humanize.Comma(k.Blocks), bar)
	}
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(n) + " " + many
}

func ratio(raw, stored int64) string {
	if stored == 0 {
		return ""
	}
	return fmt.Sprintf(", ratio %.2f", float64(raw)/float64(stored))
}
