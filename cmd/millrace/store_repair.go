package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"millrace/tablet"
	"millrace/tablet/storage"
)

func newStoreRepair(e *env) *cobra.Command {
	m := manual{
		use:   "repair [flags] DIR",
		short: "drop the damaged parts of a store's log, and keep all else",
		long: `
A store is not opened when its log is damaged in front of good records: going on would drop entries that were acknowledged.
This says what is damaged and, with --yes, writes all good entries to a new segment of the log. The old segments are not
changed; they get names that end in .replaced, and can be removed when nobody wants to look into them any more.

Without --yes nothing is changed; damage is exit code 3 then. An entry that is dropped is gone, unless a copy of the file
has it: try that first. The manifest and data files are not repaired. A torn end, as a crash leaves it, is no damage.`,
		memory: "the manifest, and 40 bytes for each entry of the log.",
		exits:  []int{3, 5, 6},
		examples: `
$ millrace store insert --create db notes row1 text title hello
notes: 1 entry inserted
$ millrace store repair db
db: the log is sound, nothing to repair
$ millrace store repair --yes --format json db
{
  "schema": "millrace.store.repair/1",
  "store": "db",
  "repaired": false,
…
}`[1:],
	}
	var f format
	var yes bool
	c := newCommand(m, args(1, 1, "one store's directory"), func(cmd *cobra.Command, args []string) error {
		return e.repairStore(cmd.Context(), args[0], yes, f)
	})
	f.register(c, formatText, formatJSON)
	c.Flags().BoolVar(&yes, "yes", false, "do it")
	completeStore(c)
	return c
}

// repairDocument is what "store repair --format json" prints.
type repairDocument struct {
	Schema   string         `json:"schema"`
	Store    string         `json:"store"`
	Repaired bool           `json:"repaired"`
	Kept     int64          `json:"kept"`
	Lost     int64          `json:"lost"`
	Losses   []lossDocument `json:"losses"`
	Segment  string         `json:"segment,omitempty"`
	Replaced []string       `json:"replaced,omitempty"`
}

type lossDocument struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	What   string `json:"what"`
	After  uint64 `json:"after_entry,omitempty"`
	Before uint64 `json:"before_entry,omitempty"`
}

func (e *env) repairStore(ctx context.Context, path string, yes bool, f format) (err error) {
	dir, err := e.storeDir(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	r, err := storage.Repair(ctx, dir.fs, storage.RepairOptions{Self: storage.Self(e.clock.Now()), Do: yes})
	if err != nil {
		return lockedError(err)
	}
	if f.is(formatJSON) {
		err = e.writeJSON(newRepairDocument(dir.path, r))
	} else {
		err = e.printRepair(dir.path, r)
	}
	if err == nil && len(r.Losses) > 0 && !yes {
		first := r.Losses[0]
		return fmt.Errorf("nothing was changed, --yes repairs: %w", &tablet.CorruptError{File: first.File, Offset: first.Offset, What: first.What})
	}
	return err
}

func newRepairDocument(path string, r *storage.RepairReport) repairDocument {
	d := repairDocument{Schema: "millrace.store.repair/1", Store: path, Repaired: r.Segment != "", Kept: r.Kept, Lost: r.Lost,
		Losses: []lossDocument{}, Segment: r.Segment, Replaced: r.Replaced}
	for _, l := range r.Losses {
		d.Losses = append(d.Losses, lossDocument{l.File, l.Offset, l.Bytes, printable(l.What), l.After, l.Before})
	}
	return d
}

func (e *env) printRepair(path string, r *storage.RepairReport) error {
	if len(r.Losses) == 0 {
		_, err := fmt.Fprintf(e.out, "%s: the log is sound, nothing to repair\n", path)
		return err
	}
	would := "would be "
	if r.Segment != "" {
		would = ""
	}
	for _, l := range r.Losses {
		if _, err := fmt.Fprintf(e.out, "%s at offset %d: %s %sdropped, %s: %s\n", l.File, l.Offset, counted(l.Bytes, "byte", "bytes"),
			would, between(l.After, l.Before), printable(l.What)); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s: %s %skept, %s lost at most", path, counted(r.Kept, "entry", "entries"), would, counted(r.Lost, "entry", "entries"))
	if r.Segment != "" {
		text += fmt.Sprintf("; %s stands in for %s, now named …%s", r.Segment, counted(int64(len(r.Replaced)), "segment", "segments"), storage.ReplacedSuffix)
	}
	_, err := fmt.Fprintln(e.out, text)
	return err
}

// between says where in the log something was.
func between(after, before uint64) string {
	switch {
	case after == 0 && before == 0:
		return "in a segment without good entries"
	case after == 0:
		return fmt.Sprintf("before entry %d", before)
	case before == 0:
		return fmt.Sprintf("behind entry %d", after)
	}
	return fmt.Sprintf("between entries %d and %d", after, before)
}
