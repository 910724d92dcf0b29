package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"millrace/tablet/storage"
)

func newStoreCheck(e *env) *cobra.Command {
	m := manual{
		use:   "check [flags] DIR",
		short: "say whether a store can be trusted",
		long: `
Holds a store that nobody has open against all that is known of it: the manifest's structure, every record of the log, and
of every data file its length, its identity and the sum of each block. With --deep every entry is decoded besides, and
order, counts, rows and indexes are compared.

Prints a line for each finding: what kind it is, the file, the offset in it, and what is wrong. Damage is exit code 3;
what a crash may leave behind, such as a file that nothing names, is told and is no failure. Nothing is changed.`,
		memory: "the manifest, a block, and a record of the log.",
		exits:  []int{3, 5, 6},
		examples: `
$ millrace store insert --create db notes row1 text title hello
notes: 1 entry inserted
$ millrace store check db
db: sound: 1 table, 1 tablet, 0 files, 1 entry in the log, … bytes read

$ millrace store check --deep --format json db
{
  "schema": "millrace.store.check/1",
  "store": "db",
  "sound": true,
…
}`[1:],
	}
	var f format
	var deep bool
	c := newCommand(m, args(1, 1, "one store's directory"), func(cmd *cobra.Command, args []string) error {
		return e.checkStore(cmd.Context(), args[0], deep, f)
	})
	f.register(c, formatText, formatJSON)
	c.Flags().BoolVar(&deep, "deep", false, "decode every entry too")
	completeStore(c)
	return c
}

// checkDocument is what "store check --format json" prints.
type checkDocument struct {
	Schema     string            `json:"schema"`
	Store      string            `json:"store"`
	Sound      bool              `json:"sound"`
	Closed     bool              `json:"closed"`
	Manifest   string            `json:"manifest"`
	Tables     int               `json:"tables"`
	Tablets    int               `json:"tablets"`
	Files      int               `json:"files"`
	Entries    int64             `json:"entries"`
	Decoded    int64             `json:"decoded"`
	Blocks     int64             `json:"blocks"`
	Segments   int               `json:"log_segments"`
	LogEntries int64             `json:"log_entries"`
	Bytes      int64             `json:"bytes"`
	Findings   []findingDocument `json:"findings"`
}

type findingDocument struct {
	Kind   string `json:"kind"`
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	What   string `json:"what"`
}

func (e *env) checkStore(ctx context.Context, path string, deep bool, f format) (err error) {
	dir, err := e.storeDir(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	p := e.progress("check "+dir.path, unitBytes, 0)
	defer p.end()
	r, err := storage.Check(ctx, dir.fs, storage.CheckOptions{Deep: deep, Progress: p.of})
	p.end()
	if err != nil {
		return err
	}
	if f.is(formatJSON) {
		err = e.writeJSON(newCheckDocument(dir.path, r))
	} else {
		err = e.printCheck(dir.path, r)
	}
	return errors.Join(err, r.Err())
}

func newCheckDocument(path string, r *storage.CheckReport) checkDocument {
	d := checkDocument{
		Schema: "millrace.store.check/1", Store: path, Sound: r.Err() == nil, Closed: r.Closed, Manifest: r.Manifest, Tables: r.Tables,
		Tablets: r.Tablets, Files: r.Files, Entries: r.Entries, Decoded: r.Decoded, Blocks: r.Blocks, Segments: r.Segments,
		LogEntries: r.LogEntries, Bytes: r.Bytes, Findings: []findingDocument{},
	}
	for _, f := range r.Findings {
		d.Findings = append(d.Findings, findingDocument{f.Kind.String(), printable(f.File), f.Offset, printable(f.What)})
	}
	return d
}

func (e *env) printCheck(path string, r *storage.CheckReport) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintln(e.out, printable(f.String())); err != nil {
			return err
		}
	}
	verdict := "sound"
	if r.Err() != nil {
		verdict = "NOT sound"
	}
	_, err := fmt.Fprintf(e.out, "%s: %s: %s, %s, %s, %s in the log, %s read\n", path, verdict,
		counted(int64(r.Tables), "table", "tables"), counted(int64(r.Tablets), "tablet", "tablets"),
		counted(int64(r.Files), "file", "files"), counted(r.LogEntries, "entry", "entries"), counted(r.Bytes, "byte", "bytes"))
	return err
}
