package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
)

func newStoreInsert(e *env) *cobra.Command {
	m := manual{
		use:   "insert [flags] DIR TABLE [ROW FAMILY QUALIFIER VALUE]",
		short: "write an entry, or all entries of an ndjson stream",
		long: `
Writes one entry, given as arguments; or with no more than DIR and TABLE, all entries that come as ndjson from standard
input or --input FILE, gzip recognised:

  {"row":"72","cf":"66","cq":"71","cv":"","ts":"5","del":false,"val":"76"}

row, cf, cq, cv and val are hex. row must be there; an entry without ts gets the table's time. With --delete a delete
marker is written, and there is no VALUE. --create makes the store and the table if they are not there.

--durability says how a write gets to the disk: none, not by the log, but the table is flushed at the end; log, the log
writes it at its leisure; flush, it is handed to the operating system at once; sync, the disk has it before it counts.
Default is the table's, which is sync unless it was set otherwise. After an error or an interruption, what was written
before stays.`,
		memory:  `the store's, and the entries on their way: 1/20 of 1 GiB at most. A line may take 16M.`,
		exits:   []int{3, 5, 6},
		meaning: map[int]string{3: "data is damaged, or a line is no entry"},
		examples: `
$ millrace store insert --create --set table.time.type=logical db notes row1 text title hello
notes: 1 entry inserted
$ millrace rfile cat --format ndjson --limit 100 v8_none.rf | millrace store insert --durability flush db notes
notes: 100 entries inserted, 12 of them delete markers, … entries/s
$ millrace store insert --delete db notes row1 text title
notes: 1 delete marker inserted`[1:],
	}
	o := insertOptions{input: "-"}
	c := newCommand(m, args(2, 6, "a store's directory, a table, and nothing or a row, a family, a qualifier and a value"),
		func(cmd *cobra.Command, args []string) error {
			o.hasTS = cmd.Flags().Changed("ts")
			o.fromFile = cmd.Flags().Changed("input")
			return e.insert(cmd.Context(), args, &o)
		})
	o.format.register(c, formatText, formatJSON)
	o.durability = choice{from: []string{"none", "log", "flush", "sync"}}
	flags := c.Flags()
	flags.Var(&o.durability, "durability", "how a write gets to the disk: none, log, flush, sync (default as the table says)")
	o.durability.complete(c, "durability")
	flags.StringVarP(&o.input, "input", "i", o.input, "`FILE` to read entries from; - is standard input")
	flags.VarP(&o.label, "label", "l", "visibility of the entry")
	flags.Int64Var(&o.ts, "ts", 0, "timestamp of the entry (default given by the table)")
	flags.BoolVar(&o.delete, "delete", false, "write a delete marker")
	flags.BoolVar(&o.create, "create", false, "make the store and the table if they are not there")
	flags.StringArrayVar(&o.set, "set", nil, "`PROPERTY=VALUE` of a table that --create makes; may be given several times")
	completeStore(c)
	return c
}

type insertOptions struct {
	format     format
	durability choice
	input      string
	fromFile   bool
	label      escaped
	ts         int64
	hasTS      bool
	delete     bool
	create     bool
	set        []string
}

// insertedDocument is what "store insert --format json" prints.
type insertedDocument struct {
	Schema  string `json:"schema"`
	Table   string `json:"table"`
	Entries int64  `json:"entries"`
	Deletes int64  `json:"deletes"`
	TookNS  int64  `json:"took_ns"`
}

func (e *env) insert(ctx context.Context, args []string, o *insertOptions) error {
	one, err := o.mutation(args[2:])
	if err != nil {
		return err
	}
	properties, err := setProperties(o.set)
	if err != nil {
		return err
	}
	if properties != nil && !o.create {
		return usagef("--set is for a table that --create makes")
	}
	s, err := e.storeToWrite(ctx, args[0], o.create)
	if err != nil {
		return err
	}
	started := e.clock.Now()
	w := &inserter{store: s, table: args[1]}
	if o.durability.value != "" {
		d, err := tablet.ParseDurability(o.durability.value)
		if err != nil {
			return s.end(ctx, err)
		}
		w.options = append(w.options, actors.WithDurability(d))
	}
	err = s.makeTable(ctx, args[1], o.create, properties)
	if err == nil {
		err = e.insertAll(ctx, w, one, o.input)
		err = errors.Join(err, w.keep(ctx, o.durability.value))
	}
	if err = s.end(ctx, err); err != nil {
		return err
	}
	return e.printInserted(w, clock.Since(e.clock, started), o.format)
}

// mutation is the entry that arguments give, nil when they give none.
func (o *insertOptions) mutation(args []string) (*tablet.Mutation, error) {
	want, names := 4, "a row, a family, a qualifier and a value"
	if o.delete {
		want, names = 3, "a row, a family and a qualifier: a delete marker has no value"
	}
	if len(args) == 0 {
		if o.delete || o.hasTS || o.label != nil {
			return nil, usagef("--delete, --ts and --label are for an entry that is given as arguments, want %s", names)
		}
		return nil, nil
	}
	if len(args) != want {
		return nil, usagef("%d arguments behind the table, want %s", len(args), names)
	}
	if o.fromFile {
		return nil, usagef("an entry is given, and --input too")
	}
	var fields [4][]byte
	for i, text := range args {
		var err error
		if fields[i], err = unescape(text); err != nil {
			return nil, usagef("argument %s: %v", printable(text), err)
		}
	}
	m := tablet.NewMutation(fields[0])
	m.Add(tablet.Update{
		Family: fields[1], Qualifier: fields[2], Visibility: o.label, Value: fields[3], Timestamp: o.ts, HasTimestamp: o.hasTS,
		Deleted: o.delete,
	})
	return m, nil
}

// setProperties takes --set apart; nil without any.
func setProperties(set []string) (map[string]string, error) {
	var all map[string]string
	for _, s := range set {
		name, value, ok := strings.Cut(s, "=")
		if !ok || name == "" {
			return nil, usagef("--set %s is not PROPERTY=VALUE", printable(s))
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = value
	}
	return all, nil
}

// storeToWrite opens a store, with create also one that is not there: in a directory that is missing or empty.
func (e *env) storeToWrite(ctx context.Context, path string, create bool) (*openStore, error) {
	if !create {
		return e.openStore(ctx, path)
	}
	_, err := e.files.stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, printablePath(err)
	}
	if err != nil {
		made, err := vfs.MakeDir(path)
		if err = errors.Join(err, vfs.Close(made)); err != nil {
			return nil, printablePath(err)
		}
	}
	dir, _, err := e.files.split(filepath.Join(path, "file"))
	if err != nil {
		return nil, printablePath(err)
	}
	d := &storeDir{path: printable(path), fs: dir}
	names, err := dir.List(".")
	if err == nil && len(names) > 0 && !slices.ContainsFunc(names, isStoreName) {
		err = usagef("%s holds %s and no store: give a directory that is empty or not there", d.path, printable(names[0]))
	}
	if err != nil {
		return nil, errors.Join(printablePath(err), d.close())
	}
	return d.open(ctx)
}

// makeTable makes a table that is not there, if that is wanted.
func (s *openStore) makeTable(ctx context.Context, table string, create bool, properties map[string]string) error {
	tables, err := s.Tables(ctx)
	if err != nil {
		return err
	}
	there := slices.Contains(tables, table)
	switch {
	case !there && !create:
		return usagef("%s has no table %q, --create makes it", s.dir.path, table)
	case there && properties != nil:
		return usagef("--set is for a new table, and %s has a table %q", s.dir.path, table)
	case there:
		return nil
	}
	return s.CreateTable(ctx, table, nil, properties)
}

// insertAll writes the one entry, or all of an input.
func (e *env) insertAll(ctx context.Context, w *inserter, one *tablet.Mutation, input string) (err error) {
	if one != nil {
		if err := w.add(ctx, one, 0); err != nil {
			return err
		}
		return w.finish(ctx)
	}
	const longestLine = 16 << 20
	in, err := e.entriesFrom(ctx, input, longestLine)
	if err != nil {
		return err
	}
	w.in = in.lines
	in.entry.anyTime = true
	err = in.each(func(k *tablet.Key, value []byte) error {
		m := tablet.NewMutation(k.Row())
		m.Add(tablet.Update{
			Family: k.Family(), Qualifier: k.Qualifier(), Visibility: k.Visibility(), Value: value,
			Timestamp: k.Timestamp(), HasTimestamp: in.entry.has(entryTimestamp), Deleted: k.Deleted(),
		})
		return w.add(ctx, m, in.lines.number)
	})
	// What was sent is waited for in any case, so that the count is true.
	finished := w.finish(ctx)
	if err == nil {
		err = finished
	}
	return errors.Join(w.after(err), in.close())
}

func (e *env) printInserted(w *inserter, took time.Duration, f format) error {
	d := &w.counts
	d.Schema, d.Table, d.TookNS = "millrace.store.insert/1", w.table, int64(took)
	if f.is(formatJSON) {
		return e.writeJSON(d)
	}
	text := printable(w.table) + ": " + counted(d.Entries, "entry", "entries") + " inserted"
	switch {
	case d.Deletes == d.Entries && d.Entries > 0:
		text = printable(w.table) + ": " + counted(d.Deletes, "delete marker", "delete markers") + " inserted"
	case d.Deletes > 0:
		text += ", " + counted(d.Deletes, "of them a delete marker", "of them delete markers")
	}
	if w.in != nil {
		text += fmt.Sprintf(", %s entries/s", humanize.Comma(perSecond(d.Entries, took)))
	}
	_, err := fmt.Fprintln(e.out, text)
	return err
}
