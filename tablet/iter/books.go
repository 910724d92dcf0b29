package iter

import "fmt"

// Books say what became of every entry that a Stack read. Read is the sum of all others.
type Books struct {
	Read     int64 // came out of the merge
	Written  int64 // was kept
	Hidden   int64 // dropped: older than a delete marker of its cell
	Markers  int64 // dropped: a delete marker that is not propagated
	Versions int64 // dropped: more than the versions to keep
	Filtered int64 // dropped: column not fetched, or label not visible
	Before   int64 // dropped: before the start of the range, read only to know the state of its cell
}

// Add adds another stack's books.
func (b *Books) Add(o Books) {
	b.Read += o.Read
	b.Written += o.Written
	b.Hidden += o.Hidden
	b.Markers += o.Markers
	b.Versions += o.Versions
	b.Filtered += o.Filtered
	b.Before += o.Before
}

// Dropped is the number of entries that were not kept.
func (b Books) Dropped() int64 { return b.Hidden + b.Markers + b.Versions + b.Filtered + b.Before }

// Balance is an error that shows the books unless they balance.
func (b Books) Balance() error {
	if b.Read == b.Written+b.Dropped() {
		return nil
	}
	return fmt.Errorf("books do not balance: %+v", b)
}
