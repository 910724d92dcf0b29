// Package tablet is the vocabulary of the storage core: what an entry is, how keys compare, and the shapes in which
// data moves between packages. It holds no mechanism: nothing here opens a file, starts a goroutine or keeps state.
//
// In the order one meets them:
//
//   - Key, Entry: one cell version. Keys order by row, family, qualifier, visibility ascending, timestamp descending,
//     delete markers first (Compare).
//   - Mutation, Update: changes to one row, applied together; Durability: how safe they are before they are acknowledged.
//   - Range, Families, Extent: which entries are wanted, and which rows a tablet holds.
//   - Batch, Code: a decoded stretch of one block, with the offset-value code of each key against the one before it.
//     Batches are what files, memtables and merges pass along; nothing is allocated per entry.
//   - FileMeta: what a tablet knows of a file without opening it.
//   - ErrCorrupt and its kin: errors shared by all packages, and what each means for a process (OutcomeOf).
package tablet
