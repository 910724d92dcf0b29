package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"millrace/internal/record"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// Found is what Read found in a store.
type Found struct {
	// State is that of the current file, Empty if there is none.
	State *State
	// Number is the current file's, 0 if there is none.
	Number uint64
	// End is how the current file ended. Bytes behind its end are an edit that was never acknowledged.
	End record.End
	// Edits is how many records follow the snapshot.
	Edits int
	// Unfinished are the numbers of the files above the current one that a crash left before their snapshot was whole.
	Unfinished []uint64
	// Older are the numbers of the files below the current one. They mean nothing any more.
	Older []uint64
	// Foreign are the other names in the directory.
	Foreign []string
}

// Highest is the highest number of a manifest file there is, 0 if there is none.
func (f *Found) Highest() uint64 {
	return slices.Max(slices.Concat([]uint64{f.Number}, f.Unfinished, f.Older))
}

// Read finds the current manifest file of a store, the highest of which the snapshot is whole, and its State. It changes
// nothing. What was synced once and cannot be read is a tablet.CorruptError, and what a later version wrote wraps
// tablet.ErrUnsupported.
func Read(ctx context.Context, fsys vfs.FS) (*Found, error) {
	found := &Found{State: Empty()}
	numbers, foreign, err := list(fsys)
	if err != nil {
		return nil, err
	}
	found.Foreign = foreign
	for i, n := range slices.Backward(numbers) {
		l, end, err := readFile(ctx, fsys, n)
		if err != nil {
			return nil, err
		}
		if l.stage != whole {
			found.Unfinished = append(found.Unfinished, n)
			continue
		}
		state := l.state
		found.State, found.Number, found.End, found.Edits, found.Older = &state, n, end, l.edits, numbers[:i]
		break
	}
	return found, nil
}

// list returns the numbers of the manifest files, ascending, and the other names in their directory.
func list(fsys vfs.FS) (numbers []uint64, foreign []string, err error) {
	names, err := fsys.List(Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read manifest: %w", err)
	}
	for _, base := range names {
		name := Dir + "/" + base
		n, ok := ParseName(name)
		if !ok {
			foreign = append(foreign, name)
			continue
		}
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers, foreign, nil
}

// readFile loads what verifies of one file.
func readFile(ctx context.Context, fsys vfs.FS, number uint64) (*loader, record.End, error) {
	f, err := fsys.Open(Name(number))
	if err != nil {
		return nil, record.End{}, fmt.Errorf("read manifest: %w", err)
	}
	l, end, err := readOpen(ctx, f, number)
	if err == nil {
		err = f.Close()
	} else {
		f.Close()
	}
	if err != nil {
		return nil, end, fmt.Errorf("read manifest: %w", err)
	}
	return l, end, nil
}

func readOpen(ctx context.Context, f vfs.File, number uint64) (*loader, record.End, error) {
	r, err := record.NewReader(f, header(number), record.Outside{})
	if err != nil {
		return nil, record.End{}, err
	}
	l := &loader{}
	for {
		if err := ctx.Err(); err != nil {
			return nil, record.End{}, err
		}
		payload, offset, err := r.Next()
		if err == io.EOF {
			return l, r.End(), nil
		}
		if err != nil {
			return nil, record.End{}, err
		}
		if err := l.take(payload); err != nil {
			return nil, record.End{}, locate(f.Name(), offset, err)
		}
	}
}

// locate says where a payload stands that cannot be taken.
func locate(file string, offset int64, err error) error {
	if isUnsupported(err) {
		return fmt.Errorf("%s: at offset %d: %w", file, offset, err)
	}
	return tablet.Corruptf(file, offset, "%v", err)
}

func header(number uint64) record.Header {
	return record.Header{Kind: record.Manifest, Version: formatVersion, Number: number}
}
