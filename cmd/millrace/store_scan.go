package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"millrace/actors"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/visibility"
)

func newStoreScan(e *env) *cobra.Command {
	m := manual{
		use:   "scan [flags] DIR TABLE",
		short: "print the entries of a table that some authorizations see",
		long: `
Prints a table's entries in order, a line each: row, family, qualifier, label, timestamp and value. Entries with a label
are seen with --auths alone; without it only those that have none. Rows are inclusive.`,
		memory: storeMemory,
		exits:  []int{3, 5, 6},
		examples: `
$ millrace store insert --create --ts 5 db notes row1 text title hello
notes: 1 entry inserted
$ millrace store insert --ts 5 --label secret db notes row2 text title 'plans'
notes: 1 entry inserted
$ millrace store scan db notes
row1 text:title [] 5	hello
$ millrace store scan --auths secret,other -b row2 -c text:title db notes
row2 text:title [secret] 5	plans
$ millrace store scan --auths secret --count db notes
2
$ millrace store scan --format ndjson db notes
{"row":"726f7731","cf":"74657874","cq":"7469746c65","cv":"","ts":"5","del":false,"val":"68656c6c6f"}`[1:],
	}
	var o storeScanOptions
	c := newCommand(m, args(2, 2, tableArgs), func(cmd *cobra.Command, args []string) error {
		opts, err := o.scan()
		if err != nil {
			return err
		}
		return e.withStore(cmd.Context(), args[0], func(s *openStore) error {
			sc, err := s.Scan(cmd.Context(), args[1], opts)
			if err != nil {
				return err
			}
			defer sc.Close()
			return e.printScan(args[1], sc, &o)
		})
	})
	o.format.register(c, formatText, formatNDJSON)
	flags := c.Flags()
	flags.VarP(&o.begin, "begin", "b", "first row, inclusive")
	flags.VarP(&o.end, "end", "e", "last row, inclusive")
	flags.VarP(&o.columns, "columns", "c", "families, or family:qualifier, separated by commas; all others are left out")
	flags.VarP(&o.auths, "auths", "s", "authorizations, separated by commas")
	flags.IntVar(&o.limit, "limit", 0, "how many entries to print at most; 0 prints all")
	flags.IntVar(&o.versions, "versions", 0, "how many entries of a cell to print, the newest; -1 all that are stored; default as the table says")
	flags.BoolVar(&o.keys, "keys", false, "leave out the values")
	flags.BoolVarP(&o.count, "count", "n", false, "print the number of entries only")
	completeStore(c)
	return c
}

// storeScanOptions are the flags of scan.
type storeScanOptions struct {
	format     format
	begin, end escaped
	columns    columnList
	auths      tokenList
	limit      int
	versions   int
	keys       bool
	count      bool
}

// columnList is a flag of columns: family or family:qualifier, with escapes, separated by commas.
type columnList struct{ columns []iter.Column }

func (l *columnList) Type() string   { return "columns" }
func (l *columnList) String() string { return "" }

func (l *columnList) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		family, qualifier, one := strings.Cut(part, ":")
		c := iter.Column{Whole: !one}
		var err error
		if c.Family, err = unescape(family); err != nil {
			return err
		}
		if c.Qualifier, err = unescape(qualifier); err != nil {
			return err
		}
		l.columns = append(l.columns, c)
	}
	return nil
}

// tokenList is a flag of authorizations, with escapes, separated by commas.
type tokenList struct{ familyList }

func (l *tokenList) Type() string { return "tokens" }

func (l *tokenList) authorizations() (visibility.Authorizations, error) {
	var tokens []string
	for _, t := range l.familyList {
		tokens = append(tokens, string(t))
	}
	a, err := visibility.NewAuthorizations(tokens...)
	if err != nil {
		return a, usagef("--auths: %v", err)
	}
	return a, nil
}

func (o *storeScanOptions) scan() (actors.ScanOptions, error) {
	if o.limit < 0 {
		return actors.ScanOptions{}, usagef("--limit is %d, not at least 0", o.limit)
	}
	if o.versions < -1 {
		return actors.ScanOptions{}, usagef("--versions is %d, not at least -1", o.versions)
	}
	auths, err := o.auths.authorizations()
	return actors.ScanOptions{
		Range:   tablet.RowRange(tablet.RowBounds{Start: o.begin, End: o.end}),
		Columns: iter.FetchColumns(o.columns.columns...), Authorizations: auths, Limit: o.limit, Versions: o.versions,
	}, err
}

// printScan prints what is left of a scan.
func (e *env) printScan(table string, sc *actors.Scanner, o *storeScanOptions) error {
	p := e.scanProgress(table)
	defer p.end()
	var line []byte
	n := int64(0)
	for ; sc.Next(); n++ {
		p.add(1)
		if o.count {
			continue
		}
		entry := sc.Entry()
		if o.format.is(formatNDJSON) {
			line = appendEntryJSON(line[:0], &entry.Key, entry.Value, noGroup, o.keys)
		} else {
			line = appendEntryText(line[:0], &entry.Key, entry.Value, o.keys)
		}
		if _, err := e.out.Write(line); err != nil {
			return err
		}
	}
	err := sc.Err()
	if err == nil && o.count {
		_, err = fmt.Fprintln(e.out, n)
	}
	return err
}

// scanProgress draws only when the entries go elsewhere.
func (e *env) scanProgress(table string) *progress {
	if e.direct {
		return &progress{e: e}
	}
	return e.progress("scan "+table, "entries", 0)
}
