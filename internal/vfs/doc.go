// Package vfs is the one door to files.
//
// FS is a directory tree and File a file in it; Info says what a name stands for. Dir is the machine's file system
// below one directory, Mem a tree in memory that remembers what was synced, and Faulty a wrapper that makes chosen
// calls fail. OpenPath, SplitPath, MakeDir, StatPath and TempDir lead from a path that a user typed to a File or an FS.
//
// A file is written once, from start to end; there is no append to a file of an earlier run, no write in the middle and
// no truncation. The fewer calls there are, the fewer states a crash can leave behind. Names cannot leave the directory
// they are relative to, and symbolic links below it are never followed.
//
// The package never retries, never logs, and never decides what must be synced when.
package vfs
