package vfs

import "golang.org/x/sys/unix"

// StartSync implements SyncStarter. An error on the way to the disk is kept by the system for fsync.
func (f *dirFile) StartSync(from, n int64) {
	unix.SyncFileRange(int(f.f.Fd()), from, n, unix.SYNC_FILE_RANGE_WRITE)
}
