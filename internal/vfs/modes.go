package vfs

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// Mode is a name below a directory of the machine, and what it is.
type Mode struct {
	// Name is relative to the directory; "." is the directory itself.
	Name string
	Mode fs.FileMode
}

// Modes lists a user's directory and all that is below it, in order of the names. It follows no link below the directory.
func Modes(path string) ([]Mode, error) {
	var modes []Mode
	err := filepath.WalkDir(path, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(path, at)
		modes = append(modes, Mode{name, info.Mode()})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list modes of %s: %w", path, err)
	}
	return modes, nil
}

// WrongModes lists what is below a user's directory, and itself, that others could read or write, or that is neither a
// directory of mode 0700 nor a file of mode 0600.
func WrongModes(path string) ([]Mode, error) {
	modes, err := Modes(path)
	var wrong []Mode
	for _, m := range modes {
		if m.Mode != fs.ModeDir|dirMode && m.Mode != fileMode {
			wrong = append(wrong, m)
		}
	}
	return wrong, err
}

func (m Mode) String() string { return fmt.Sprintf("%s %s", m.Mode, m.Name) }
