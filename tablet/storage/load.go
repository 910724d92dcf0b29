package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
	"millrace/tablet/wal"
)

// Loaded is what a store's directory holds.
type Loaded struct {
	State    *manifest.State
	Manifest *manifest.Found
	Segments []uint64 // of the log, ascending
	// NextNumber is above every number that the store ever used, as far as the manifest and all names of ours tell.
	NextNumber uint64
	// Orphans are data files of ours that the manifest does not name.
	Orphans []string
	// Foreign are names in the directories that are not ours.
	Foreign []string

	fs vfs.FS
}

// Load reads the manifest of a store and looks at what else is there, without changing anything. A directory without a
// store, or in which only a beginning was made, gives an empty State. That a data file which the manifest names is missing,
// or has another length, is a tablet.CorruptError; so is a store that has data or a log and no manifest.
func Load(ctx context.Context, fsys vfs.FS) (*Loaded, error) {
	l, err := survey(ctx, fsys)
	if err != nil {
		return nil, err
	}
	for f := range l.State.Files() {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("load store: %w", err)
		}
		if err := l.checkThere(f); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// survey is Load without a look at each file.
func survey(ctx context.Context, fsys vfs.FS) (*Loaded, error) {
	found, err := manifest.Read(ctx, fsys)
	if err != nil {
		return nil, err
	}
	l := &Loaded{State: found.State, Manifest: found, fs: fsys, Foreign: found.Foreign}
	l.see(found.State.NextNumber() - 1)
	l.see(found.Highest())
	if l.Segments, err = wal.List(fsys); err != nil {
		return nil, err
	}
	for _, n := range l.Segments {
		l.see(n)
	}
	if err := l.list(); err != nil {
		return nil, fmt.Errorf("load store: %w", err)
	}
	if found.Number == 0 && len(l.Orphans)+len(l.Segments) > 0 {
		return nil, tablet.Corruptf(manifest.Dir, 0, "no whole manifest, in a store with %d data files and %d log segments", len(l.Orphans), len(l.Segments))
	}
	return l, nil
}

// see notes that a number was used. One that no counter reaches was given by somebody else.
func (l *Loaded) see(number uint64) {
	const most = 1<<62 - 1
	if number < most {
		l.NextNumber = max(l.NextNumber, number+1)
	}
}

// list sorts the names in the directories.
func (l *Loaded) list() error {
	data, err := names(l.fs, manifest.DataDir)
	if err != nil {
		return err
	}
	for _, name := range data {
		number, ours := manifest.ParseFileName(name)
		if !ours {
			l.Foreign = append(l.Foreign, name)
			continue
		}
		l.see(number)
		if f := l.State.Named(number); f == nil || f.Name != name {
			l.Orphans = append(l.Orphans, name)
		}
	}
	segments, err := names(l.fs, wal.Dir)
	if err != nil {
		return err
	}
	for _, name := range segments {
		if _, ours := wal.ParseName(name[len(wal.Dir)+1:]); !ours {
			l.Foreign = append(l.Foreign, name)
		}
	}
	return nil
}

// names are the names in a directory, with it; none if it is not there.
func names(fsys vfs.FS, dir string) ([]string, error) {
	list, err := fsys.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for i := range list {
		list[i] = dir + "/" + list[i]
	}
	return list, nil
}

// checkThere looks for a file that the manifest names.
func (l *Loaded) checkThere(f *manifest.FileRef) error {
	info, err := l.fs.Stat(f.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return l.gone(f)
	case err != nil:
		return fmt.Errorf("load store: %w", err)
	case info.Dir:
		return tablet.Corruptf(f.Name, 0, "a directory, where %s names a file", manifest.Name(l.Manifest.Number))
	case info.Bytes != f.Bytes:
		return tablet.Corruptf(f.Name, min(info.Bytes, f.Bytes), "%d bytes long, %s says %d", info.Bytes, manifest.Name(l.Manifest.Number), f.Bytes)
	}
	return nil
}

func (l *Loaded) gone(f *manifest.FileRef) error {
	return tablet.Corruptf(f.Name, 0, "file is missing, and %s names it", manifest.Name(l.Manifest.Number))
}

// Session is the highest session of a tablet of which all entries are in files; ok is false when the store has no such
// tablet.
func (l *Loaded) Session(number uint64) (session uint64, ok bool) {
	t := l.State.Tablet(number)
	if t == nil {
		return 0, false
	}
	return t.Session, true
}

// Replay gives yield the entries of the log that are in no file, one by one and in the order in which they were logged, so
// that memory is bounded by what yield keeps. The entry belongs to yield, whose error ends the replay. A log that is damaged
// is refused, with a word about Repair.
func (l *Loaded) Replay(ctx context.Context, yield func(*wal.Entry) error) (wal.Report, error) {
	report, err := wal.Replay(ctx, l.fs, l.Segments, l.Session, yield)
	if errors.Is(err, tablet.ErrCorrupt) {
		err = repairable(err)
	}
	return report, err
}
