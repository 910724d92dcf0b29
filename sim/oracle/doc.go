// Package oracle is the slow, obvious store that answers are held against: a sorted slice of every entry ever written.
// It knows no files, no blocks and no cache, and is to be believed by reading it.
//
// Store takes mutations (Apply) or entries (Insert) and answers a Query as a scan must: what no delete marker hides, what
// the reader may see, the newest versions of each cell, within the range. Compact is a full compaction: what a scan would
// not show for its versions or deletes is gone for good.
//
// The package is not fast, and never tries to be.
package oracle
