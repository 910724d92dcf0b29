package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"millrace/tablet"
)

// rowList is a flag of rows with escapes, given once for each.
type rowList [][]byte

func (l *rowList) Type() string { return "row" }

func (l *rowList) String() string {
	var rows []string
	for _, r := range *l {
		rows = append(rows, string(appendText(nil, r, 0)))
	}
	return strings.Join(rows, " ")
}

func (l *rowList) Set(text string) error {
	row, err := unescape(text)
	if err == nil && len(row) == 0 {
		err = errors.New("a split row is not empty")
	}
	*l = append(*l, row)
	return err
}

// splitFlags name the split rows of a table.
type splitFlags struct {
	at     rowList
	file   string
	base64 bool
}

func (s *splitFlags) register(c *cobra.Command) {
	c.Flags().Var(&s.at, "at", "split row, the last of its tablet; may be given several times")
	c.Flags().StringVar(&s.file, "splits", "", "`FILE` of split rows, one a line, as \"rfile splits\" or Accumulo's getsplits prints them; - is standard input")
	c.Flags().BoolVar(&s.base64, "base64", false, "the lines of --splits are base64, as of getsplits -b64")
}

// given says whether any flag was.
func (s *splitFlags) given() bool { return len(s.at) > 0 || s.file != "" }

// rows are the split rows, in the order in which they come.
func (s *splitFlags) rows(ctx context.Context, e *env) ([][]byte, error) {
	rows := [][]byte(s.at)
	if s.base64 && s.file == "" {
		return nil, usagef("--base64 says how --splits is to be read, which is not given")
	}
	if s.file == "" {
		return rows, nil
	}
	more, err := e.splitRows(ctx, s.file, s.base64)
	return append(rows, more...), err
}

// longestSplitLine bounds a line of a file of splits; Accumulo's longest split row has 10 K.
const longestSplitLine = 1 << 20

// splitRows reads a file of split rows. Lines that are blank are passed over.
func (e *env) splitRows(ctx context.Context, path string, encoded bool) (rows [][]byte, err error) {
	name, source := "standard input", io.Reader(nil)
	if path == "-" {
		source = newPump(ctx, e.in)
	} else {
		f, err := e.openLines(path)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		name, source = f.Name(), fileReader(f, func(int64) {})
	}
	lines, err := newLineReader(name, source, longestSplitLine)
	if err != nil {
		return nil, err
	}
	for {
		line, err := lines.next()
		if err == io.EOF {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		row, err := splitRow(strings.TrimSuffix(string(line), "\r"), encoded)
		if err != nil {
			return nil, lines.wrong(err)
		}
		rows = append(rows, row)
	}
}

func splitRow(line string, encoded bool) ([]byte, error) {
	if encoded {
		row, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return nil, errors.New("not base64")
		}
		return row, nil
	}
	return unescape(line)
}

// extentList is a flag of extents, PREV,END: the rows behind PREV up to END, either of which may be left out.
type extentList []tablet.Extent

func (l *extentList) Type() string { return "PREV,END" }

func (l *extentList) String() string {
	var parts []string
	for _, e := range *l {
		parts = append(parts, string(appendText(nil, e.PrevEndRow, escapeList))+","+string(appendText(nil, e.EndRow, escapeList)))
	}
	return strings.Join(parts, " ")
}

func (l *extentList) Set(text string) error {
	parts, err := splitFamilies(text)
	if err != nil {
		return err
	}
	if len(parts) != 2 {
		return errors.New(`want PREV,END, with \x2c for a comma in a row`)
	}
	var e tablet.Extent
	if len(parts[0]) > 0 {
		e.PrevEndRow = parts[0]
	}
	if len(parts[1]) > 0 {
		e.EndRow = parts[1]
	}
	if e.PrevEndRow != nil && e.EndRow != nil && string(e.PrevEndRow) >= string(e.EndRow) {
		return errors.New("PREV is not below END")
	}
	*l = append(*l, e)
	return nil
}
