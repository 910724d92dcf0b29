// Package job runs one compaction: it merges files or a memtable into one new file, in short steps.
//
// In the order one meets them:
//
//   - Input: what is merged; File and Memory make one of a reader or a snapshot, Fenced shows only a part of it.
//   - Spec: what to compact and how: inputs, range, groups of the output, iterators, whether markers may be dropped.
//   - Job: Step does a bounded piece of work until it is done; Result and Progress tell how it went; Discard ends it at
//     any time and removes the output unless that is complete.
//
// The output is written group by group, the default group last; for each, the inputs are read anew with that group's
// families alone. The books of a job balance: each entry read was written, or dropped for a reason that is counted. What
// need not be encoded or compressed again is not, unless the Spec wants it; every entry is decoded and checked all the same.
//
// A job never decides what to compact, never touches its inputs but by reading them, opens one file and removes none
// but that. It starts no goroutine; its owner may let it rest between any two steps.
package job
