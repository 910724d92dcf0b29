package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"millrace/tablet"
)

// Kind is what a Finding means.
type Kind uint8

// The kinds of findings, the worst first.
const (
	// Damage: bytes are not what they were, or something is missing.
	Damage Kind = iota
	// Unsupported: a later version wrote it; it may be sound.
	Unsupported
	// Unreadable: the file system gave an error, or there is something else in place of a file.
	Unreadable
	// Torn: a file that was not closed ends in bytes that are no record. A crash leaves this behind the last record that
	// was acknowledged; damage to the last record of a file that was not closed looks the same.
	Torn
	// Unfinished: a manifest file that a crash left before it counted, or one that no longer does.
	Unfinished
	// Orphan: a data file of ours that nothing names. Opening the store removes it.
	Orphan
	// Foreign: a name that is not ours. It is left alone.
	Foreign
)

var kindNames = [...]string{"damage", "unsupported", "unreadable", "torn", "unfinished", "orphan", "foreign"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Serious says that the store cannot be trusted as it is; the other kinds are what a crash may leave.
func (k Kind) Serious() bool { return k <= Unreadable }

// Finding is one thing that Check found.
type Finding struct {
	Kind   Kind
	File   string
	Offset int64 // bytes from the start of the file, 0 if it is about the file as a whole
	What   string
	Err    error // what reading gave, if it gave an error
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: %s at offset %d: %s", f.Kind, f.File, f.Offset, f.What)
}

// tornFinding is about what follows the last record of a file.
func tornFinding(name string, end, size int64, marred bool) Finding {
	if marred {
		return Finding{Kind: Damage, File: name, Offset: end, What: "the mark of a closed file has a byte wrong; no record is lost"}
	}
	return Finding{Kind: Torn, File: name, Offset: end, What: fmt.Sprintf("%d bytes are no record", size-end)}
}

// findingOf sorts an error about a file, or about one of those in a directory, which the error then names.
func findingOf(file string, err error) Finding {
	f := Finding{File: file, What: err.Error(), Err: err}
	var c *tablet.CorruptError
	switch {
	case errors.As(err, &c):
		f.Kind, f.Offset, f.What = Damage, c.Offset, c.What
		if i := strings.LastIndex(c.File, file+"/"); i >= 0 {
			f.File = c.File[i:] // without the path of the store
		}
	case errors.Is(err, tablet.ErrCorrupt), errors.Is(err, fs.ErrNotExist):
		f.Kind = Damage
	case errors.Is(err, tablet.ErrUnsupported):
		f.Kind = Unsupported
	default:
		f.Kind = Unreadable
	}
	return f
}

// cancelled says that an error is the context's and tells nothing of a file.
func cancelled(ctx context.Context, err error) bool {
	return ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// CheckReport is what Check saw.
type CheckReport struct {
	Tables, Tablets int
	Files           int   // data files that the manifest names
	Bytes           int64 // read, of all files
	Blocks          int64 // of data files, whose sums were compared
	Entries         int64 // of data files, by the manifest
	Decoded         int64 // of them decoded
	Segments        int   // of the log
	LogEntries      int64 // that are in no file
	Manifest        string
	Closed          bool // the store was closed properly: the manifest has its end
	Findings        []Finding
}

// Err is nil if nothing serious was found. Else it is about the first serious finding, and wraps tablet.ErrCorrupt if any
// is damage.
func (r *CheckReport) Err() error {
	var first *Finding
	serious := 0
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.Kind.Serious() {
			continue
		}
		serious++
		if first == nil || f.Kind < first.Kind {
			first = f
		}
	}
	if first == nil {
		return nil
	}
	err := first.Err
	if first.Kind == Damage {
		err = &tablet.CorruptError{File: first.File, Offset: first.Offset, What: first.What}
	}
	if serious > 1 {
		return fmt.Errorf("%w (and %d more findings)", err, serious-1)
	}
	return err
}
