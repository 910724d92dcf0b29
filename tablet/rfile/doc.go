// Package rfile reads and writes Accumulo's RFiles: sorted entries in compressed blocks, a tree of index nodes over
// them, and one named block from which everything else is found.
//
// In the order one meets them:
//
//   - Reader opens a file and knows its groups: independent sorted runs over disjoint families.
//   - Cursor walks one group of it in batches. It is the native output of the format: decoded keys, the code of each
//     key against the one before it taken from the stored prefix lengths, values left in the block.
//   - BlockIndex lets its seeks begin inside a block, and grows while they come; BlockCache is what keeps blocks between
//     cursors, if anything does.
//   - Writer makes a file of the current version by Accumulo's own rules for cutting blocks and shortening index keys. It
//     copies encoded entries whose neighbour before stays the same, and with Pass whole blocks as they are stored.
//   - Bloom is a file's filter: it spares look-ups the blocks of a file that has not what they want.
//   - Sampler configures the sample that a file holds of each group, beside it.
//   - Verify decodes everything and holds data, index and counts against each other.
//
// The package trusts no byte: whatever breaks a rule of the format is a *tablet.CorruptError with file and offset. It
// never merges groups, never keeps more than one block itself and never decides what to read.
package rfile
