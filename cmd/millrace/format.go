package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"millrace/internal/nearest"
)

// The formats of --format. Each command takes those that make sense for it.
const (
	formatText     = "text"
	formatJSON     = "json"     // one document
	formatNDJSON   = "ndjson"   // one object a line, for each file or entry
	formatCSV      = "csv"      // a table with a line of names
	formatMarkdown = "markdown" // the same as Markdown
)

// format is the flag --format.
type format struct{ choice }

// register adds the flag to a command. The first of the formats is the default.
func (f *format) register(c *cobra.Command, formats ...string) {
	f.choice = choice{value: formats[0], from: formats}
	c.Flags().Var(&f.choice, "format", strings.Join(formats, ", "))
	f.complete(c, "format")
}

func (f *format) is(name string) bool { return f.value == name }

// choice is a flag with a fixed set of values.
type choice struct {
	value string
	from  []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "name" }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.from, s) {
		return fmt.Errorf("want one of %s; nearest is %q", strings.Join(c.from, ", "), nearest.Name(s, c.from))
	}
	c.value = s
	return nil
}

// complete tells shells the values.
func (c *choice) complete(cmd *cobra.Command, flag string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(c.from, cobra.ShellCompDirectiveNoFileComp))
}

// grid is a table to print.
type grid struct {
	names []string
	rows  [][]any
	left  []int // numbers of the columns that are text, from 0
}

func (g *grid) add(cells ...any) { g.rows = append(g.rows, cells) }

func (g *grid) table() table.Writer {
	t := table.NewWriter()
	header := table.Row{}
	for _, n := range g.names {
		header = append(header, n)
	}
	t.AppendHeader(header)
	for _, r := range g.rows {
		t.AppendRow(r)
	}
	return t
}

// writeGrid prints a table as CSV, Markdown or for the eye.
func (e *env) writeGrid(g *grid, f format) error {
	t := g.table()
	var out string
	switch {
	case f.is(formatCSV):
		out = t.RenderCSV()
	case f.is(formatMarkdown):
		out = t.RenderMarkdown()
	default:
		out = g.render(t)
	}
	if len(g.rows) == 0 && out == "" {
		return nil
	}
	_, err := fmt.Fprintln(e.out, out)
	return err
}

// render draws the table for the eye: no frame, numbers to the right.
func (g *grid) render(t table.Writer) string {
	style := table.StyleDefault
	style.Options = table.OptionsNoBordersAndSeparators
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Format.Header = text.FormatDefault
	t.SetStyle(style)
	var columns []table.ColumnConfig
	for i := range g.names {
		align := text.AlignRight
		if slices.Contains(g.left, i) {
			align = text.AlignLeft
		}
		columns = append(columns, table.ColumnConfig{Number: i + 1, Align: align, AlignHeader: align})
	}
	t.SetColumnConfigs(columns)
	lines := strings.Split(t.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
