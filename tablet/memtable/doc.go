// Package memtable is a tablet's sorted memory: what was written and is not yet in a file.
//
// In the order one meets them:
//
//   - Table: the map. Apply and Insert add entries; nothing is ever overwritten. Among entries with fully equal keys the
//     one inserted later comes first.
//   - Snapshot: the table as it was between two calls of its writer. It is immutable, shares nearly all memory with the
//     table, and is made once for all readers between two writes.
//   - Source: a snapshot's entries within a range, in batches, with their codes.
//   - Facts: counts and bounds of what a snapshot or table holds.
//
// One goroutine at a time writes to a table. Snapshot may be called from any goroutine: it costs one atomic load unless
// the table was written to since the last one, and only then waits for a write under way to end. So a reader sees whole
// calls of Apply or none of them, and a writer pays for a clone only when somebody reads.
//
// Entries are copied into chunks, as records; a table's memory is freed as a whole, when the last of it is let go. The tree
// holds leaves: sorted arrays of places in the chunks. A batch is sorted first and goes leaf by leaf into the tree, and the
// garbage collector has a few pointers to follow for every hundred entries, not some for each.
//
// The package never drops an entry, compares visibilities with anything but keys, or touches a file.
//
// Source: Accumulo's in-memory map (the order of equal keys, the size estimate); google/btree for the tree of leaves.
package memtable
