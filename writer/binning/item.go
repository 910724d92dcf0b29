package binning

import (
	"millrace/tablet"
	"millrace/tablet/locate"
)

// Item stands for a mutation until it is binned. What sorting and binning mostly look at is in it, so that a mutation's own
// memory, which lies anywhere, is touched when it is added and then not before it is applied.
type Item struct {
	Prefix   locate.Prefix // of the row
	Mutation *tablet.Mutation
	Bytes    int32 // estimated memory, cut at the highest number
	order    int32 // place of arrival among those being binned; Bin sets it
}

// NewItem makes the item of a mutation.
func NewItem(m *tablet.Mutation) Item {
	return Item{Prefix: locate.PrefixOf(m.Row()), Mutation: m, Bytes: int32(min(m.EstimatedMemory(), 1<<31-1))}
}
