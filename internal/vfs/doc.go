// Package vfs is the one door to files.
//
// FS is a directory tree and File a file in it; Info says what a name stands for. Dir is the machine's file system
// below one directory, and Mem a tree in memory that remembers what was synced. OpenPath, SplitPath, MakeDir, StatPath
// and TempDir lead from a path that a user typed to a File or an FS; Modes and WrongModes list permissions below one.
//
// A file is written once, from start to end; there is no append to a file of an earlier run, no write in the middle and
// no truncation. The fewer calls there are, the fewer states a crash can leave behind. Names cannot leave the directory
// they are relative to, and symbolic links below it are never followed. StartSync only hastens a Sync to come.
//
// # Crashes
//
// A MemFS keeps, between the last Sync and now, what a disk may have of a file (pages of 4,096 bytes, sectors of 512),
// and, since the last SyncDir, the list of changes to a directory. Image draws from an ImageMode and a seed what a crash
// leaves of them, and returns it as a MemFS of its own; Images counts those that are numbered. Edit damages a file at
// rest; SetCapacity makes the device full.
//
// # Layers
//
// A layer wraps an FS, and any of them can lie on any other. From the top, in the order in which they are of most use:
//
//	Spoil      spoils buffers after their life, those of the caller too
//	Trace      numbers calls, records them, and runs hooks before, within and after each
//	Faulty     makes calls fail, by kind, class of file and number
//	Corrupt    lets bytes go wrong without an error
//	Slow       makes calls take time, or holds them
//	Limit      open files and bytes
//	SyncOrder  checks that a manifest names what is durable alone
//	Mem, Dir
//
// Trace above Faulty sees what the caller sees, below it what the disk sees. Slow lies above Limit, since
// Limit lets no second call in while one waits below it. MemBelow finds the tree in memory below. A Call and its
// Site name what was asked for; ClassOf tells what a file is for, by its name.
//
// The package never retries, never logs, and never decides what must be synced when.
package vfs
