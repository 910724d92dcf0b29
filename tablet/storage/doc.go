// Package storage is a store's directory as a whole.
//
//	data/F0000012.rf                data files, named by the manifest or garbage
//	wal/0000000013.wal              segments of the log
//	manifest/0000000014.manifest    the current manifest, and what a crash left of others
//	LOCK                            held while the store is open
//	HOLDER                          who holds it, for people
//
// In the order one meets them: TakeLock keeps others out; Make makes the directories; Load reads the manifest, sees that
// what it names is there, and finds the next number; Loaded.Replay gives what the log holds beyond the data files; Sweep
// removes data files of ours that nothing names, after a new manifest is durable. Check holds every byte of a store that
// is not open against what is known of it. Repair, when somebody asks for it, drops the damaged parts of a log.
//
// Names that are not ours are never touched, and Load and Check change nothing. The package starts no goroutine and asks
// no clock.
package storage
