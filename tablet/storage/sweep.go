package storage

import (
	"errors"
	"fmt"
	"io/fs"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/manifest"
)

// Sweep removes the data files of ours that nothing named when the store was loaded, and returns those removed. It needs
// the writer that goes on from what was loaded, since only once that state is durable is it certain that a power cut does
// not bring an earlier one back, which named them. Files of a running store are never among them: they have numbers of
// their own. On an error some may be left; they do no harm, and are found again at the next opening.
func Sweep(fsys vfs.FS, l *Loaded, w *manifest.Writer) (removed []string, err error) {
	if err := w.InDoubt(); err != nil {
		return nil, fmt.Errorf("sweep store: %w: %w", tablet.ErrBusy, err)
	}
	var errs []error
	for _, name := range l.Orphans {
		if n, ok := manifest.ParseFileName(name); !ok || n >= l.NextNumber || nameOf(w.State(), n) == name {
			continue
		}
		switch err := fsys.Remove(name); {
		case err == nil:
			removed = append(removed, name)
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return removed, fmt.Errorf("sweep store: %w", err)
	}
	return removed, nil
}

// nameOf is the name of the file that a state has under a number.
func nameOf(s *manifest.State, number uint64) string {
	if f := s.Named(number); f != nil {
		return f.Name
	}
	return ""
}
