package iter

import "fmt"

// Books say what became of every entry that a Stack, and what stands on it, read.
//
//	Read + Added = Written + Hidden + Markers + Versions + Filtered + Before + Reduced
type Books struct {
	Read     int64 // came out of the merge
	Written  int64 // came out at the top
	Hidden   int64 // dropped: older than a delete marker of its cell
	Markers  int64 // dropped: a delete marker that is not propagated
	Versions int64 // dropped: more than the versions to keep
	Filtered int64 // dropped: column not fetched, or label not visible
	Before   int64 // dropped: before the start of the range, read only to know the state of its cell

	// What iterators above a stack took away, or made, by balance; a Stack has neither.
	Reduced, Added int64
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
	b.Reduced += o.Reduced
	b.Added += o.Added
}

// Dropped is the number of entries that a stack did not keep.
func (b Books) Dropped() int64 { return b.Hidden + b.Markers + b.Versions + b.Filtered + b.Before }

// Balance is an error that shows the books unless they balance.
func (b Books) Balance() error {
	if b.Read+b.Added == b.Written+b.Dropped()+b.Reduced {
		return nil
	}
	return fmt.Errorf("books do not balance: %+v", b)
}
