package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"millrace/internal/vfs"
)

// outputDir is a directory that a command fills with files that belong together. They are written under temporary names
// and get theirs when all of them are complete and durable; when anything fails, none stays.
type outputDir struct {
	path   string
	dir    vfs.FS
	parent vfs.FS // of a directory that was made for this; else nil
	name   string // in the parent
	files  []*output
	done   bool
}

// createDir begins one. The directory must not exist, or be empty.
func (e *env) createDir(path string) (*outputDir, error) {
	switch path {
	case "":
		return nil, usagef("the output directory has no name")
	case "-":
		return nil, usagef("RFiles are not written to standard output: give OUTDIR a name, ./- if it has to be this one")
	}
	d := &outputDir{path: path}
	err := d.open(e)
	if errors.Is(err, fs.ErrNotExist) {
		err = d.make(e)
	}
	if err != nil {
		return nil, d.end(err)
	}
	names, err := d.dir.List(".")
	if err == nil && len(names) > 0 {
		err = usagef("output directory %s is not empty", printable(path))
	}
	if err != nil {
		return nil, d.end(err)
	}
	return d, nil
}

// open opens the directory, through a link if need be.
func (d *outputDir) open(e *env) (err error) {
	if d.dir, _, err = e.files.split(filepath.Join(d.path, "file")); err != nil {
		return d.inside(err)
	}
	return nil
}

// inside makes an error about a file in the directory one about the directory.
func (d *outputDir) inside(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return &fs.PathError{Op: p.Op, Path: printable(d.path), Err: p.Err}
	}
	return err
}

// make makes the directory in its parent, which must exist.
func (d *outputDir) make(e *env) (err error) {
	parent, name, err := e.files.split(strings.TrimRight(d.path, "/"))
	if err != nil {
		return printablePath(err)
	}
	if err := parent.MkdirAll(name); err != nil {
		return errors.Join(err, vfs.Close(parent))
	}
	d.parent, d.name = parent, name
	return d.open(e)
}

// create begins a file of the directory.
func (d *outputDir) create(name string) (*output, error) {
	o := &output{dir: d.dir, path: printable(filepath.Join(d.path, name)), name: name, temp: tempName(name), shared: true}
	f, err := d.dir.Create(o.temp)
	if err != nil {
		return nil, err
	}
	o.file = f
	d.files = append(d.files, o)
	return o, nil
}

// add takes an output made elsewhere into the number of those that appear together.
func (d *outputDir) add(o *output) { d.files = append(d.files, o) }

// commit gives all files, which are complete, their names.
func (d *outputDir) commit() error {
	for _, o := range d.files {
		if err := o.publish(); err != nil {
			return err
		}
	}
	d.done = true
	var errs []error
	for _, o := range d.files {
		if !o.shared {
			errs = append(errs, o.dir.SyncDir("."))
		}
	}
	errs = append(errs, d.dir.SyncDir("."))
	if d.parent != nil {
		errs = append(errs, d.parent.SyncDir("."))
	}
	return errors.Join(errs...)
}

// end closes what is open and, unless all files were published, removes them and a directory that was made for them. err
// is how the command ended; it comes back with what else went wrong.
func (d *outputDir) end(err error) error {
	errs := []error{err}
	for _, o := range d.files {
		if o.published && !d.done {
			errs = append(errs, o.withdraw())
		}
		errs = append(errs, o.end(nil))
	}
	if d.dir != nil {
		errs = append(errs, vfs.Close(d.dir))
	}
	if d.parent != nil {
		if !d.done {
			errs = append(errs, d.parent.Remove(d.name))
		}
		errs = append(errs, vfs.Close(d.parent))
	}
	err = errors.Join(errs...)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("nothing is written to %s: %w", printable(d.path), err)
	}
	return err
}
