package main

import (
	"errors"
	"fmt"

	"millrace/tablet"
)

// failures gathers what went wrong with some of several files, when a command goes on with the others.
type failures struct {
	errs []error
}

func (f *failures) add(err error) { f.errs = append(f.errs, err) }

// orElse is the command's error: that of the files if there is one, else the other. What the files had to say weighs
// more than output that nobody reads any more.
func (f *failures) orElse(err error) error {
	if len(f.errs) == 0 {
		return err
	}
	worst := f.errs[0]
	for _, e := range f.errs[1:] {
		if severity(e) > severity(worst) {
			worst = e
		}
	}
	if len(f.errs) > 1 {
		return fmt.Errorf("%d files failed, such as %w", len(f.errs), worst)
	}
	return worst
}

// severity orders errors by what a command's exit code should tell: damage before anything else, and what is merely not
// supported last.
func severity(err error) int {
	switch {
	case errors.Is(err, tablet.ErrCorrupt):
		return 2
	case errors.Is(err, tablet.ErrUnsupported):
		return 0
	}
	return 1
}
