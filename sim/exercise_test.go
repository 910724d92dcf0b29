package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
	"millrace/tablet/storage"
	"millrace/tablet/wal"
)

// exercise does everything that a store can do with files, on a live store, and calls after when an operation is done. It
// leaves a closed store with data files and a log.
func exercise(dir string, fs vfs.FS, after func(what string)) error {
	ctx := context.Background()
	open := func() (*actors.Store, error) {
		return actors.Open(ctx, dir, actors.WithFS(fs), actors.WithSeed(1), actors.WithProperties(map[string]string{"tserver.wal.max.size": "2K"}))
	}
	s, err := open()
	if err != nil {
		return err
	}
	step := func(what string, do func() error) {
		if err == nil {
			if err = do(); err != nil {
				err = fmt.Errorf("%s: %w", what, err)
			}
			after(what)
		}
	}
	number := 0
	write := func(table string, d tablet.Durability) func() error {
		return func() error {
			var all []*tablet.Mutation
			for range 40 {
				number++
				m := tablet.NewMutation(fmt.Appendf(nil, "row %04d", number*37%1000))
				m.Put([]byte("f"), []byte("q"), nil, fmt.Appendf(nil, "value %d", number))
				all = append(all, m)
			}
			return s.Apply(ctx, table, all, actors.WithDurability(d))
		}
	}
	quiet := QuietTable
	step("create table", func() error { return s.CreateTable(ctx, "t", nil, quiet) })
	step("create another", func() error { return s.CreateTable(ctx, "gone", [][]byte{[]byte("row 05")}, nil) })
	for d := tablet.DurabilityNone; d <= tablet.DurabilitySync; d++ {
		step("write at "+d.String(), write("t", d))
	}
	step("write elsewhere", write("gone", tablet.DurabilitySync))
	step("flush", func() error { return s.Flush(ctx, "t") })
	step("write", write("t", tablet.DurabilitySync))
	step("second flush", func() error { return s.Flush(ctx, "t") })
	step("split", func() error { return s.AddSplits(ctx, "t", [][]byte{[]byte("row 03"), []byte("row 07")}) })
	step("properties", func() error {
		return s.SetProperties(ctx, "t", map[string]string{"table.file.compress.type": "snappy"})
	})
	step("compact", func() error { _, err := s.Compact(ctx, "t", actors.CompactOptions{}); return err })
	step("scratch", func() error {
		_, err := s.Compact(ctx, "t", actors.CompactOptions{Scratch: true, NoFlush: true})
		return err
	})
	step("flush elsewhere", func() error { return s.Flush(ctx, "gone") })
	step("delete table", func() error { return s.DeleteTable(ctx, "gone") })
	step("scan", func() error {
		sc, err := s.Scan(ctx, "t", actors.ScanOptions{})
		if err != nil {
			return err
		}
		_, err = ReadAll(sc)
		return err
	})
	step("write into the log", write("t", tablet.DurabilitySync))
	step("close", func() error { return s.Close(ctx) })
	if err != nil {
		return errors.Join(err, s.Close(ctx))
	}
	step("check", func() error {
		report, err := storage.Check(ctx, fs, storage.CheckOptions{Deep: true})
		if err == nil {
			err = report.Err()
		}
		return err
	})
	if s, err = open(); err != nil {
		return err
	}
	after("open again")
	step("write again", write("t", tablet.DurabilityFlush))
	step("close again", func() error { return s.Close(ctx) })
	step("repair", func() error { _, err := storage.Repair(ctx, fs, storage.RepairOptions{Do: true}); return err })
	return err
}

// storeFiles are the files of a closed store on a directory.
func storeFiles(t *testing.T, fs vfs.FS) (files []string) {
	t.Helper()
	for _, dir := range []string{manifest.DataDir, wal.Dir, manifest.Dir} {
		names, err := fs.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			files = append(files, dir+"/"+name)
		}
	}
	return files
}

// hasPrefixes says whether there is a file below each of the directories.
func hasPrefixes(files []string, dirs ...string) bool {
	for _, dir := range dirs {
		if !slices.ContainsFunc(files, func(f string) bool { return strings.HasPrefix(f, dir+"/") }) {
			return false
		}
	}
	return true
}
