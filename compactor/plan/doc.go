// Package plan decides what a tablet compacts next. It is policy alone: sizes in, names out, no file opened, no state kept.
//
// In the order one meets them:
//
//   - Profile: whose rules. 1.5 and 1.10 choose by the classic rule, 2.0 by a sliding window, 2.1 and 4.0 by the search
//     that spares large files.
//   - File, Tablet: what the planner is told. Options: what an operator may set.
//   - Next: the plan that is due, if any. Jobs: all plans that a profile starts at once.
//   - MergeMinor: the file that a flush takes along, in profiles that do so.
//   - Passes: how many files each pass of a compaction of everything reads.
//
// One thought runs through all rules: a set of files is worth merging when its largest is at most 1/ratio of the whole,
// for then every byte is rewritten only a logarithmic number of times.
//
// The package never looks at ages: a tablet widens the chosen files to one run of ages itself.
//
// Source: Accumulo's DefaultCompactionStrategy (1.x, 2.0), DefaultCompactionPlanner (2.1) and RatioBasedCompactionPlanner
// (4.0), as behaviour.
package plan
