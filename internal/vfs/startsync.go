package vfs

// SyncStarter is a File that can begin to bring what was written to stable storage, and need not wait for it, so that a
// later Sync has less to wait for.
type SyncStarter interface {
	// StartSync begins with n bytes from a place on. It promises nothing, and what goes wrong is for Sync to tell.
	StartSync(from, n int64)
}

// StartSync calls the method of that name of a file that has one.
func StartSync(f File, from, n int64) {
	if s, ok := f.(SyncStarter); ok {
		s.StartSync(from, n)
	}
}
