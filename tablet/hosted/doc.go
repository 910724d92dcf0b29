// Package hosted is a live tablet as a state machine: its memtables, its files, and what its readers see. It decides
// nothing about when: an actor calls it, does what it asks for, and reports back. It holds no goroutine, no clock and no
// open file.
//
// In the order one meets them:
//
//   - State: what a tablet is loaded from. New makes a Tablet of it.
//   - Prepare, Prepared, Commit, Abort: mutations pass the constraints and get their timestamps, are logged by somebody, and
//     then enter the memtable they were prepared for.
//   - Freeze, NextFlush, Install: a memtable is set aside, written to a file by a job, and replaced by the file.
//   - NextJob, Job, Swap, Cancel: files are compacted. The planner's choice is widened to one run of ages.
//   - View: what a reader holds on to: memtables and files of one moment. Files whose last view goes after they left the
//     tablet come out of Obsolete.
//   - SplitAt: the states of the two tablets that a split makes.
//
// # Ages
//
// Every memtable gets an age when it is frozen, every imported file when it is taken in; a greater age is newer. Of fully
// equal keys the one of the newer source counts, so a compaction must not put a file's entries ahead of others that lie
// between its inputs in age. Each file therefore carries the range of ages that went into it, and two files whose ranges
// overlap never share a key: whatever could share one with an input is made an input.
//
// One goroutine owns a Tablet. View may be called, and views released, by any.
package hosted
