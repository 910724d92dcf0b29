// Package iter merges sorted sources and takes out what nobody should see. It works in batches and runs, on codes
// rather than keys, so that an entry costs a few integer operations and no allocation.
//
// In the order one meets them:
//
//   - Source: one sorted run of entries, in batches. Files and memtables are sources; FromEntries makes one for tests,
//     FilterFamilies and Fence add what a source cannot do itself.
//   - Merge: many sources as one, in the order (key, newer source first, position). It yields Runs, references to
//     stretches of its sources' batches. Mode chooses how it decides; all modes give the same output. It never drops
//     anything. Alone tells of blocks that no other source comes between.
//   - Pool: an owner's free list of Merges.
//   - Stack: a Merge with the system iterators fused into one pass over codes: deletes, fetched columns, visibility,
//     versions. Books says what became of every entry that it read.
//   - Iterator: what users write, entry by entry. NewEntries stands between runs and the lowest Iterator; Setting,
//     Register and Build put a table's iterators on top of each other.
//   - Filter, Combiner, RowFilter: what most Iterators are made of. Each takes a small part that decides: a Test by entry, a
//     Reducer by cell, a RowTest by row.
//   - The registered classes are Accumulo's, by its names and with its options: VersioningIterator, SummingCombiner and the
//     other combiners, AgeOffFilter and the other filters, WholeRowIterator, FirstEntryInRowIterator. Describe tells what
//     one does; DecodeRow takes apart what WholeRowIterator made.
//
// Nothing here is safe for concurrent use, starts a goroutine or opens a file. Whatever is handed out — runs, batches,
// keys, values — is a view, valid until the next call that moves it.
package iter
