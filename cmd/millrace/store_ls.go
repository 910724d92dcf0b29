package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/spf13/cobra"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
	"millrace/tablet/storage"
)

func newStoreLs(e *env) *cobra.Command {
	m := manual{
		use:   "ls [flags] DIR [TABLE]",
		short: "tables, tablets and files of a store",
		long: `
Lists what a store's manifest names: the tables; of one table the tablets; with --files the files. What is in the log and
in no file is not counted. JSON has all of it, with the properties that were set. Nothing is changed.`,
		memory: "the manifest.",
		exits:  []int{3, 5, 6},
		examples: `
$ millrace store insert --create db notes row1 text title hello
notes: 1 entry inserted
$ millrace store ls db
table  tablets  files  entries  bytes
notes        1      0        0      0

$ millrace store flush db notes
notes: 1 file in 1 tablet, 1 entry, … bytes
$ millrace store ls --files db notes
file              bytes  entries  deletes  first row  last row  ages  tablets
data/F…        1        0  row1       row1      1-1         1

$ millrace store ls --format csv db notes
tablet,files,entries,bytes
"(-inf,+inf]",1,1,…`[1:],
	}
	var f format
	var files bool
	c := newCommand(m, args(1, 2, "a store's directory, and a table or none"), func(cmd *cobra.Command, args []string) error {
		return e.listStore(cmd.Context(), args, files, f)
	})
	f.register(c, formatText, formatJSON, formatCSV, formatMarkdown)
	c.Flags().BoolVar(&files, "files", false, "list files")
	completeStore(c)
	return c
}

// storeDocument is what "store ls --format json" prints. Rows are in hex.
type storeDocument struct {
	Schema   string          `json:"schema"`
	Store    string          `json:"store"`
	Segments int             `json:"log_segments"`
	Tables   []tableDocument `json:"tables"`
}

type tableDocument struct {
	Table      string            `json:"table"`
	Properties map[string]string `json:"properties"`
	Tablets    []tabletDocument  `json:"tablets"`
	Files      []fileDocument    `json:"files"`
}

type tabletDocument struct {
	Number uint64         `json:"number"`
	Extent extentDocument `json:"extent"`
	Files  []uint64       `json:"files"` // numbers, the newest first
}

// extentDocument is a tablet's rows; a bound that is null is infinite.
type extentDocument struct {
	PrevEndRow *string `json:"prev_end_row"`
	EndRow     *string `json:"end_row"`
}

type fileDocument struct {
	Number   uint64  `json:"number"`
	Name     string  `json:"name"`
	Bytes    int64   `json:"bytes"`
	Entries  int64   `json:"entries"`
	Deletes  int64   `json:"deletes"`
	FirstRow *string `json:"first_row"`
	LastRow  *string `json:"last_row"`
	MinTS    *string `json:"min_ts,omitempty"`
	MaxTS    *string `json:"max_ts,omitempty"`
	Oldest   uint64  `json:"oldest_age"`
	Newest   uint64  `json:"newest_age"`

	tablets int
	file    *manifest.FileRef
}

func newExtentDocument(e tablet.Extent) extentDocument {
	return extentDocument{hexRow(e.PrevEndRow), hexRow(e.EndRow)}
}

func (e *env) listStore(ctx context.Context, args []string, files bool, f format) error {
	loaded, err := e.loadStore(ctx, args[0])
	if err != nil {
		return err
	}
	d := storeDocument{Schema: "millrace.store.ls/1", Store: printable(args[0]), Segments: len(loaded.Segments), Tables: []tableDocument{}}
	for t := range loaded.State.Tables() {
		if len(args) == 1 || t.Name == args[1] {
			d.Tables = append(d.Tables, newTableDocument(loaded.State, t))
		}
	}
	if len(args) > 1 && len(d.Tables) == 0 {
		return usagef("%s has no table %q", d.Store, args[1])
	}
	switch {
	case f.is(formatJSON):
		return e.writeJSON(d)
	case files:
		return e.writeGrid(d.files(len(args) == 1), f)
	case len(args) > 1:
		return e.writeGrid(d.Tables[0].grid(), f)
	}
	return e.writeGrid(d.grid(), f)
}

// loadStore reads a manifest while nobody has the store open.
func (e *env) loadStore(ctx context.Context, path string) (loaded *storage.Loaded, err error) {
	dir, err := e.storeDir(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	held, err := vfs.Hold(dir.fs, storage.LockName)
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, held.Close()) }()
	case !errors.Is(err, fs.ErrNotExist): // without the file nobody has the store
		return nil, lockedError(err)
	}
	return storage.Load(ctx, dir.fs)
}

func newTableDocument(s *manifest.State, t *manifest.Table) tableDocument {
	d := tableDocument{Table: t.Name, Properties: t.Properties, Tablets: []tabletDocument{}, Files: []fileDocument{}}
	if d.Properties == nil {
		d.Properties = map[string]string{}
	}
	at := map[uint64]int{}
	for tab := range s.Tablets(t) {
		one := tabletDocument{Number: tab.Number, Extent: newExtentDocument(tab.Extent), Files: []uint64{}}
		for i := range tab.Files {
			f := &tab.Files[i]
			one.Files = append(one.Files, f.Number)
			if _, ok := at[f.Number]; !ok {
				at[f.Number] = len(d.Files)
				d.Files = append(d.Files, newFileDocument(f))
			}
			d.Files[at[f.Number]].tablets++
		}
		d.Tablets = append(d.Tablets, one)
	}
	slices.SortFunc(d.Files, func(a, b fileDocument) int { return int(a.Number) - int(b.Number) })
	return d
}

func newFileDocument(f *manifest.FileRef) fileDocument {
	d := fileDocument{
		Number: f.Number, Name: f.Name, Bytes: f.Bytes, Entries: f.Entries, Deletes: f.Deletes,
		FirstRow: hexRow(f.FirstRow), LastRow: hexRow(f.LastRow), Oldest: f.Ages.Oldest, Newest: f.Ages.Newest, file: f,
	}
	if f.TimestampsKnown {
		low, high := fmt.Sprint(f.MinTimestamp), fmt.Sprint(f.MaxTimestamp)
		d.MinTS, d.MaxTS = &low, &high
	}
	return d
}

// sums are over a table's files.
func (d *tableDocument) sums() (entries, bytes int64) {
	for i := range d.Files {
		entries += d.Files[i].Entries
		bytes += d.Files[i].Bytes
	}
	return entries, bytes
}

func (d *storeDocument) grid() *grid {
	g := &grid{names: []string{"table", "tablets", "files", "entries", "bytes"}, left: []int{0}}
	for i := range d.Tables {
		t := &d.Tables[i]
		entries, bytes := t.sums()
		g.add(printable(t.Table), len(t.Tablets), len(t.Files), entries, bytes)
	}
	return g
}

func (d *tableDocument) grid() *grid {
	g := &grid{names: []string{"tablet", "files", "entries", "bytes"}, left: []int{0}}
	files := map[uint64]*fileDocument{}
	for i := range d.Files {
		files[d.Files[i].Number] = &d.Files[i]
	}
	for _, t := range d.Tablets {
		entries, bytes := int64(0), int64(0)
		for _, n := range t.Files {
			entries += files[n].Entries
			bytes += files[n].Bytes
		}
		g.add(t.Extent.show(), len(t.Files), entries, bytes)
	}
	return g
}

// show is the extent for the eye.
func (d *extentDocument) show() string {
	row := func(s *string) []byte {
		if s == nil {
			return nil
		}
		b, err := hex.DecodeString(*s)
		if err != nil {
			panic(err) // it was encoded here
		}
		return b
	}
	return showExtent(tablet.Extent{PrevEndRow: row(d.PrevEndRow), EndRow: row(d.EndRow)})
}

// files lists files, with their tables when there may be several.
func (d *storeDocument) files(tables bool) *grid {
	g := &grid{names: []string{"file", "bytes", "entries", "deletes", "first row", "last row", "ages", "tablets"}, left: []int{0, 4, 5, 6}}
	if tables {
		g.names, g.left = append([]string{"table"}, g.names...), []int{0, 1, 5, 6, 7}
	}
	for i := range d.Tables {
		t := &d.Tables[i]
		for k := range t.Files {
			f := &t.Files[k]
			row := []any{f.Name, f.Bytes, f.Entries, f.Deletes, showRow(f.file.FirstRow), showRow(f.file.LastRow),
				fmt.Sprintf("%d-%d", f.Oldest, f.Newest), f.tablets}
			if tables {
				row = append([]any{printable(t.Table)}, row...)
			}
			g.add(row...)
		}
	}
	return g
}

func showRow(row []byte) string {
	if row == nil {
		return "-"
	}
	return shortText(row)
}
