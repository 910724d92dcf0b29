package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"millrace/internal/vfs"
)

// output is a file that a command makes. It is written under a temporary name beside its own and gets that when it is
// complete and durable; until then, and when anything fails, there is no file of that name, or the one that was.
type output struct {
	dir       vfs.FS
	path      string // fit to print
	name      string
	temp      string
	force     bool
	shared    bool // dir is somebody else's to close
	file      vfs.File
	published bool
}

// create begins an output. Inputs are the paths that the command reads, empty ones passed over: the output may not be
// one of them.
func (e *env) create(path string, force bool, inputs ...string) (*output, error) {
	for _, in := range inputs {
		if in != "" && (in == path || vfs.SamePath(in, path)) {
			return nil, usagef("output %s is also an input", printable(path))
		}
	}
	switch path {
	case "":
		return nil, usagef("the output has no name")
	case "-":
		return nil, usagef("an RFile is not written to standard output: give OUT a name, ./- if it has to be this one")
	}
	if err := e.checkKind(path); err != nil {
		return nil, err
	}
	dir, name, err := e.files.split(path)
	if err != nil {
		return nil, printablePath(err)
	}
	o := &output{dir: dir, path: printable(path), name: name, temp: tempName(name), force: force}
	if err = o.checkFree(); err == nil {
		o.file, err = dir.Create(o.temp)
	}
	if err != nil {
		return nil, errors.Join(err, vfs.Close(dir))
	}
	return o, nil
}

// checkKind refuses an output that would take the place of a device, a pipe or a socket, or of a link to one: with --force
// as well, since whoever gives /dev/stdout or /dev/null does not want a file there.
func (e *env) checkKind(path string) error {
	if _, err := e.files.stat(path); errors.Is(err, fs.ErrInvalid) {
		return usagef("output %s is there, and is neither a file nor a directory: nothing is put in its place", printable(path))
	}
	return nil
}

// tempName is a name beside an output's that nothing else uses.
func tempName(name string) string {
	const longest = 200 // leaves room for the rest below the 255 bytes of a name
	var random [6]byte
	rand.Read(random[:]) // never fails
	return "." + name[:min(len(name), longest)] + ".tmp-" + hex.EncodeToString(random[:])
}

// checkFree refuses an output that exists, unless it is a file and may be replaced.
func (o *output) checkFree() error {
	info, err := o.dir.Stat(o.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && !errors.Is(err, fs.ErrInvalid): // invalid: a link or a device stands there
		return err
	case info.Dir:
		return usagef("output %s is a directory", o.path)
	case !o.force:
		return usagef("output %s exists, --force replaces it", o.path)
	}
	return nil
}

// commit makes the file durable and gives it its name.
func (o *output) commit() error {
	if err := o.complete(); err != nil {
		return err
	}
	return o.publishSynced()
}

// complete makes the file durable and closes it.
func (o *output) complete() error {
	if err := o.file.Sync(); err != nil {
		return err
	}
	return o.handOver().Close()
}

// handOver gives the open file to who will sync and close it; publishSynced follows in place of commit.
func (o *output) handOver() vfs.File {
	f := o.file
	o.file = nil
	return f
}

// publishSynced gives a file that is durable and closed its name.
func (o *output) publishSynced() error {
	if err := o.publish(); err != nil {
		return err
	}
	return o.dir.SyncDir(".")
}

// publish gives the file its name. Without --force that must not replace a file that came into being meanwhile, which
// a link refuses to do; where the file system has no links, looking first must do.
func (o *output) publish() error {
	err := o.rename()
	o.published = err == nil
	return err
}

func (o *output) rename() error {
	if o.force {
		return o.dir.Rename(o.temp, o.name)
	}
	err := o.dir.Link(o.temp, o.dir, o.name)
	switch {
	case err == nil:
		if err := o.dir.Remove(o.temp); err != nil {
			return errors.Join(err, o.dir.Remove(o.name))
		}
		return nil
	case errors.Is(err, fs.ErrExist):
		return usagef("output %s came into being meanwhile, --force replaces it", o.path)
	case errors.Is(err, syscall.ENOTSUP), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOSYS):
		if err := o.checkFree(); err != nil {
			return err
		}
		return o.dir.Rename(o.temp, o.name)
	}
	return err
}

// withdraw takes a published file away again.
func (o *output) withdraw() error {
	o.published = false
	return o.dir.Remove(o.name)
}

// end closes what is open and, unless the output was published, removes it. err is how the command ended; it comes back
// with what else went wrong.
func (o *output) end(err error) error {
	if o.file != nil {
		err = errors.Join(err, o.file.Close())
		o.file = nil
	}
	if !o.published {
		if e := o.dir.Remove(o.temp); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	if o.shared {
		return err
	}
	err = errors.Join(err, vfs.Close(o.dir))
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s is not written: %w", o.path, err)
	}
	return err
}
