package sim

import (
	"hash/crc32"
	"io"

	"millrace/internal/vfs"
)

// files passes every call on and enters it in the log, with a sum of the bytes: so two runs that write different bytes
// have different digests.
type files struct {
	inner vfs.FS
	note  func(op vfs.Op, name string, a, b int64)
}

var _ vfs.LinkTarget = (*files)(nil)

func (f *files) did(op vfs.Op, name string, n int64, err error) {
	f.note(op, name, n, bit(err != nil))
}

func (f *files) open(op vfs.Op, name string, file vfs.File, err error) (vfs.File, error) {
	f.did(op, name, 0, err)
	if err != nil {
		return nil, err
	}
	return &loggedFile{File: file, fs: f, name: name}, nil
}

func (f *files) Create(name string) (vfs.File, error) {
	file, err := f.inner.Create(name)
	return f.open(vfs.OpCreate, name, file, err)
}

func (f *files) Open(name string) (vfs.File, error) {
	file, err := f.inner.Open(name)
	return f.open(vfs.OpOpen, name, file, err)
}

func (f *files) Rename(from, to string) error {
	err := f.inner.Rename(from, to)
	f.did(vfs.OpRename, from+" "+to, 0, err)
	return err
}

func (f *files) Remove(name string) error {
	err := f.inner.Remove(name)
	f.did(vfs.OpRemove, name, 0, err)
	return err
}

func (f *files) List(dir string) ([]string, error) {
	names, err := f.inner.List(dir)
	f.did(vfs.OpList, dir, int64(len(names)), err)
	return names, err
}

func (f *files) Stat(name string) (vfs.Info, error) {
	info, err := f.inner.Stat(name)
	f.did(vfs.OpStat, name, info.Bytes, err)
	return info, err
}

func (f *files) MkdirAll(dir string) error {
	err := f.inner.MkdirAll(dir)
	f.did(vfs.OpMkdir, dir, 0, err)
	return err
}

func (f *files) SyncDir(dir string) error {
	err := f.inner.SyncDir(dir)
	f.did(vfs.OpSyncDir, dir, 0, err)
	return err
}

func (f *files) Lock(name string) (io.Closer, error) {
	lock, err := f.inner.Lock(name)
	f.did(vfs.OpLock, name, 0, err)
	return lock, err
}

func (f *files) Free(dir string) (uint64, error) {
	free, err := f.inner.Free(dir)
	f.did(vfs.OpFree, dir, int64(free), err)
	return free, err
}

func (f *files) Link(from string, to vfs.FS, name string) error {
	err := f.inner.Link(from, to, name)
	f.did(vfs.OpLink, from+" "+name, 0, err)
	return err
}

// LinkFrom implements vfs.LinkTarget.
func (f *files) LinkFrom(source vfs.FS, from, name string) error {
	err := source.Link(from, f.inner, name)
	f.did(vfs.OpLink, name, 0, err)
	return err
}

// loggedFile is an open file of the world's.
type loggedFile struct {
	vfs.File
	fs   *files
	name string
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (f *loggedFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.fs.note(vfs.OpWrite, f.name, int64(n), int64(crc32.Checksum(p, castagnoli))<<1|bit(err != nil))
	return n, err
}

func (f *loggedFile) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.fs.note(vfs.OpRead, f.name, off, int64(n)<<1|bit(err != nil && err != io.EOF))
	return n, err
}

func (f *loggedFile) Sync() error {
	err := f.File.Sync()
	f.fs.did(vfs.OpSync, f.name, 0, err)
	return err
}

func (f *loggedFile) Close() error {
	err := f.File.Close()
	f.fs.did(vfs.OpClose, f.name, 0, err)
	return err
}
