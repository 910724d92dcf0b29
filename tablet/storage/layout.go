package storage

import (
	"errors"
	"fmt"

	"millrace/internal/vfs"
	"millrace/tablet/manifest"
	"millrace/tablet/wal"
)

// The files of a store beside its directories.
const (
	LockName   = "LOCK"
	HolderName = "HOLDER"
)

// dirs are the directories of a store.
var dirs = []string{manifest.DataDir, wal.Dir, manifest.Dir}

// Make makes the directories of a store that are not there, durably.
func Make(fsys vfs.FS) error {
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, fsys.MkdirAll(dir))
	}
	if err := errors.Join(append(errs, fsys.SyncDir("."))...); err != nil {
		return fmt.Errorf("make store: %w", err)
	}
	return nil
}
