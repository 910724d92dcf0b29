// Package wal is the write-ahead log that all tablets of a store share, and its replay: plain and synchronous, owned by
// one goroutine.
//
// In the order one meets them:
//
//   - Entry: mutations of one tablet that are logged together.
//   - Log: Append puts an entry into the log's memory, Commit writes a whole group with one write and at most one sync.
//     The log is a sequence of segments (Name); a full or old one is sealed, and one whose write or sync failed is never
//     touched again: a new one is begun and what is not safe is written there.
//   - Flushed, Obsolete, Trim, Referenced: which segments are still needed, and which tablets hold old ones.
//   - Replay: gives what a store's log holds beyond its files, and a Report, from which the next Log goes on.
//
// A record that fails for good is voided: its number is named in the first record of the next segment, so that it cannot
// come back, and until that is on stable storage nothing more is taken.
//
// The package starts no goroutine, asks no clock, decides nothing about when to commit or to try again, and never
// repairs: damage is a tablet.CorruptError.
package wal
