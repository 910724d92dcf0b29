package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
	"millrace/tablet/storage"
	"millrace/tablet/wal"
)

func newStore(e *env) *cobra.Command {
	return newGroup("store", "read, write, compact, check and repair a store's directory", `
Commands on a data directory: the tables of one store, as tablets, with their log and their list of files. One process
has a store open at a time; who finds it taken is told by whom, exit code 5.

Rows, families, qualifiers, labels and values are given and printed as text: printable ASCII as it is, other bytes as
\xNN, a backslash as \\.`[1:],
		newStoreLs(e), newStoreScan(e), newStoreInsert(e), newStoreFlush(e), newStoreCompact(e), newStoreCheck(e), newStoreRepair(e))
}

// storeMemory is what bounds the memory of a command that opens a store.
const storeMemory = "the store's: what its log holds beyond its files, and a block of each file that is read."

// storeDir is the directory of a store.
type storeDir struct {
	path string // fit to print
	fs   vfs.FS
}

// storeDir opens a directory that holds a store.
func (e *env) storeDir(path string) (*storeDir, error) {
	info, err := e.files.stat(path)
	if err != nil {
		return nil, printablePath(err)
	}
	if !info.Dir {
		return nil, usagef("%s is a file, not a store's directory", printable(path))
	}
	fs, _, err := e.files.split(filepath.Join(path, "file"))
	if err != nil {
		return nil, printablePath(err)
	}
	d := &storeDir{path: printable(path), fs: fs}
	names, err := fs.List(".")
	if err == nil && !slices.ContainsFunc(names, isStoreName) {
		err = usagef("%s is no store: it has neither %s nor %s", d.path, manifest.Dir, wal.Dir)
	}
	if err != nil {
		return nil, errors.Join(printablePath(err), d.close())
	}
	return d, nil
}

// isStoreName says whether a name in a directory makes it a store's.
func isStoreName(name string) bool { return name == manifest.Dir || name == wal.Dir }

func (d *storeDir) close() error { return vfs.Close(d.fs) }

// openStore opens the store in a directory.
func (e *env) openStore(ctx context.Context, path string) (*openStore, error) {
	d, err := e.storeDir(path)
	if err != nil {
		return nil, err
	}
	return d.open(ctx)
}

// openStore is a store that a command has open.
type openStore struct {
	*actors.Store
	dir *storeDir
}

// open takes the directory over: closing the store closes it.
func (d *storeDir) open(ctx context.Context) (*openStore, error) {
	s, err := actors.Open(ctx, d.path, actors.WithFS(d.fs))
	if err != nil {
		return nil, errors.Join(lockedError(err), d.close())
	}
	return &openStore{s, d}, nil
}

// lockedError makes the error of a lock that another has a tablet.ErrLocked, if it is none yet.
func lockedError(err error) error {
	if errors.Is(err, vfs.ErrLocked) && !errors.Is(err, tablet.ErrLocked) {
		return &storage.LockedError{Err: err}
	}
	return err
}

// end closes the store, also when the command was interrupted. err is how the command ended.
func (s *openStore) end(ctx context.Context, err error) error {
	return errors.Join(err, s.Close(context.WithoutCancel(ctx)), s.dir.close())
}

// with runs a part of a command on the store in a directory.
func (e *env) withStore(ctx context.Context, path string, do func(s *openStore) error) error {
	s, err := e.openStore(ctx, path)
	if err != nil {
		return err
	}
	return s.end(ctx, do(s))
}

// tableArgs are the arguments of most commands.
const tableArgs = "a store's directory and a table"

func newStoreFlush(e *env) *cobra.Command {
	m := manual{
		use:    "flush [flags] DIR TABLE",
		short:  "write what a table has in memory to files",
		long:   `Writes everything that is in a table's log and in no file to files: the next open has less to read back.`,
		memory: storeMemory,
		exits:  []int{3, 5, 6},
		examples: `
$ millrace store insert --create db notes row1 text title hello
notes: 1 entry inserted
$ millrace store flush db notes
notes: 1 file in 1 tablet, 1 entry, … bytes
$ millrace store flush --format json db notes
{
  "schema": "millrace.store.flush/1",
  "table": "notes",
  "tablets": 1,
  "files": 1,
  "entries": 1,
  "bytes": …
}`[1:],
	}
	var f format
	c := newCommand(m, args(2, 2, tableArgs), func(cmd *cobra.Command, args []string) error {
		return e.withStore(cmd.Context(), args[0], func(s *openStore) error { return e.flushTable(cmd.Context(), s, args[1], f) })
	})
	f.register(c, formatText, formatJSON)
	completeStore(c)
	return c
}

// sizesDocument is what a table holds in files.
type sizesDocument struct {
	Schema  string `json:"schema"`
	Table   string `json:"table"`
	Tablets int    `json:"tablets"`
	Files   int    `json:"files"`
	Entries int64  `json:"entries"`
	Bytes   int64  `json:"bytes"`
}

func (e *env) flushTable(ctx context.Context, s *openStore, table string, f format) error {
	if err := s.Flush(ctx, table); err != nil {
		return err
	}
	stats, err := s.Stats(ctx, table)
	if err != nil {
		return err
	}
	d := sizesDocument{Schema: "millrace.store.flush/1", Table: table, Tablets: len(stats)}
	seen := map[uint64]bool{} // after a split two tablets may have one file
	for _, t := range stats {
		for _, file := range t.Files {
			if !seen[file.Number] {
				seen[file.Number] = true
				d.Files++
				d.Entries += file.Entries
				d.Bytes += file.Bytes
			}
		}
	}
	if f.is(formatJSON) {
		return e.writeJSON(d)
	}
	_, err = fmt.Fprintf(e.out, "%s: %s in %s, %s, %s\n", printable(table), counted(int64(d.Files), "file", "files"),
		counted(int64(d.Tablets), "tablet", "tablets"), counted(d.Entries, "entry", "entries"), counted(d.Bytes, "byte", "bytes"))
	return err
}

// completeStore makes the first argument complete to directories.
func completeStore(c *cobra.Command) {
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}
