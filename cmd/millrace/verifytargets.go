package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"millrace/internal/vfs"
)

// target is a file to verify.
type target struct {
	path  string
	bytes int64 // 0 if that cannot be known
	err   error // what is wrong with an argument that leads to no file
}

// targetsOf are the files that arguments name: themselves, and of directories all RFiles below them, sorted.
func (e *env) targetsOf(paths []string) []target {
	var targets []target
	for _, p := range paths {
		info, err := e.files.stat(p)
		if err != nil || !info.Dir {
			targets = append(targets, target{path: p, bytes: info.Bytes}) // opening it will say what is wrong
			continue
		}
		below, err := e.filesBelow(p)
		if err == nil && len(below) == 0 {
			err = fmt.Errorf("%s is a directory without *.rf files", printable(p))
		}
		if err != nil {
			below = []target{{path: p, err: err}}
		}
		targets = append(targets, below...)
	}
	return targets
}

// filesBelow finds the RFiles below a directory. Hidden names are passed over, and links, which could lead in a circle.
func (e *env) filesBelow(root string) (found []target, err error) {
	dir, _, err := e.files.split(filepath.Join(root, "file"))
	if err != nil {
		return nil, printablePath(err)
	}
	defer func() { err = errors.Join(err, vfs.Close(dir)) }()
	var visit func(name string) error
	visit = func(at string) error {
		names, err := dir.List(at)
		if err != nil {
			return printablePath(err)
		}
		for _, name := range names {
			if strings.HasPrefix(name, ".") {
				continue
			}
			name = path.Join(at, name)
			info, err := dir.Stat(name)
			switch {
			case errors.Is(err, fs.ErrInvalid), errors.Is(err, fs.ErrNotExist):
			case err != nil:
				return printablePath(err)
			case info.Dir:
				if err := visit(name); err != nil {
					return err
				}
			case strings.HasSuffix(name, ".rf"):
				found = append(found, target{path: filepath.Join(root, name), bytes: info.Bytes})
			}
		}
		return nil
	}
	err = visit(".")
	slices.SortFunc(found, func(a, b target) int { return strings.Compare(a.path, b.path) })
	return found, err
}
