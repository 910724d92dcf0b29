package vfs

import (
	"io"
	"os"
)

// dirFile is a file of the machine's file system.
type dirFile struct {
	f       *os.File
	path    string // for messages
	writing bool
}

func (f *dirFile) Name() string { return f.path }

func (f *dirFile) ReadAt(p []byte, off int64) (int, error) {
	if f.writing {
		return 0, pathError("read", f.path, errWriting)
	}
	n, err := f.f.ReadAt(p, off)
	if err != nil && err != io.EOF {
		err = pathError("read", f.path, err)
	}
	return n, err
}

// Write relies on os.File.Write, which goes on after a short write until all is written or an error says why not.
func (f *dirFile) Write(p []byte) (int, error) {
	if !f.writing {
		return 0, pathError("write", f.path, errReading)
	}
	n, err := f.f.Write(p)
	if err != nil {
		err = pathError("write", f.path, err)
	}
	return n, err
}

func (f *dirFile) Sync() error {
	if err := f.f.Sync(); err != nil {
		return pathError("sync", f.path, err)
	}
	return nil
}

func (f *dirFile) Close() error {
	if err := f.f.Close(); err != nil {
		return pathError("close", f.path, err)
	}
	return nil
}

func (f *dirFile) Size() (int64, error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, pathError("stat", f.path, err)
	}
	return info.Size(), nil
}
