package manifest

import (
	"errors"
	"fmt"
	"io/fs"

	"millrace/internal/invariant"
	"millrace/internal/record"
)

// writeBytes is about how much of a snapshot is handed over at a time.
const writeBytes = 1 << 20

// begin goes on in a new file. The order is what makes it safe:
//
//  1. the snapshot is written and synced, so that a whole one is the truth;
//  2. the file's name is synced;
//  3. a mark is synced that says so: from here on damage to the snapshot is told from a start that a crash cut short;
//  4. the files before are removed.
//
// After an error there is no current file, not even the one before: the new one may be whole, and then Read takes it for
// the current one.
func (w *Writer) begin(number uint64) error {
	invariant.Check(number > w.number, "manifest: number %d after %d", number, w.number)
	if w.current != nil {
		w.abandon()
	}
	w.number = number
	f, err := w.create(number)
	if err != nil {
		w.discard(number)
		return err
	}
	w.current, w.doubt = f, nil
	w.removeStale()
	w.stale = append(w.stale, number) // once there is a next
	return nil
}

func (w *Writer) create(number uint64) (*file, error) {
	f, err := w.fs.Create(Name(number))
	if err != nil {
		return nil, err
	}
	n := &file{f: f, w: record.NewWriter(f, header(number))}
	if err := w.fill(n); err != nil {
		f.Close()
		return nil, err
	}
	return n, nil
}

func (w *Writer) fill(n *file) error {
	err := snapshot(w.state, func(payload []byte) error {
		if _, err := n.w.Append(payload); err != nil {
			return err
		}
		if n.w.Buffered() < writeBytes {
			return nil
		}
		return n.w.Write()
	})
	if err != nil {
		return err
	}
	n.snapshot = n.w.Size()
	if err := n.w.Sync(); err != nil {
		return err
	}
	if err := w.fs.SyncDir(Dir); err != nil {
		return fmt.Errorf("%s: %w", Name(w.number), err)
	}
	if _, err := n.w.Append([]byte{kindReady, formatVersion}); err != nil {
		return err
	}
	return n.w.Sync()
}

// abandon leaves the current file as it is, for good.
func (w *Writer) abandon() {
	w.current.f.Close() // what counts in it was synced
	w.current = nil
}

// discard removes a file that could not be begun, so that tries do not fill a disk. Whether it was whole or not, without
// it Read gives what it would have given before.
func (w *Writer) discard(number uint64) {
	if err := w.fs.Remove(Name(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.stale = append(w.stale, number)
	}
}

// removeStale removes what files it can; the rest is tried again with the next file. Nothing depends on it: Read passes
// over them.
func (w *Writer) removeStale() {
	kept := w.stale[:0]
	for _, n := range w.stale {
		if err := w.fs.Remove(Name(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			kept = append(kept, n)
		}
	}
	w.stale = kept
}
