package manifest

import (
	"iter"
	"slices"
)

// chunkItems is what a chunk of a chunked sequence holds at most. A change copies one chunk and the list of chunks: with
// 50,000 items of 16 bytes that is at most 4 KiB and 400 slice headers, about 14 KiB.
const chunkItems = 256

// chunked is a sorted sequence that is never changed in place: set, insert and remove return a new one that shares all
// chunks but one with the old. The zero value is empty.
type chunked[T any] struct {
	chunks [][]T // none empty
	items  int
}

// place is a position in a chunked sequence.
type place struct{ chunk, at int }

// chunkedOf returns a sequence of sorted items.
func chunkedOf[T any](sorted []T) chunked[T] {
	return chunked[T]{chunks: slices.Collect(slices.Chunk(sorted, chunkItems*3/4)), items: len(sorted)}
}

// find returns the place of the first item for which cmp is not negative, which may be behind the last one, and whether
// cmp is zero there. cmp must ascend with the items.
func (c chunked[T]) find(cmp func(T) int) (place, bool) {
	after := func(chunk []T, _ struct{}) int { return cmp(chunk[len(chunk)-1]) }
	i, _ := slices.BinarySearchFunc(c.chunks, struct{}{}, after)
	if i == len(c.chunks) {
		return place{i, 0}, false
	}
	at, ok := slices.BinarySearchFunc(c.chunks[i], struct{}{}, func(x T, _ struct{}) int { return cmp(x) })
	return place{i, at}, ok
}

func (c chunked[T]) get(p place) T { return c.chunks[p.chunk][p.at] }

// before returns the item in front of a place, if there is one.
func (c chunked[T]) before(p place) (x T, ok bool) {
	switch {
	case p.at > 0:
		return c.chunks[p.chunk][p.at-1], true
	case p.chunk > 0:
		last := c.chunks[p.chunk-1]
		return last[len(last)-1], true
	}
	return x, false
}

// set puts another item in a place; it must sort like the old one.
func (c chunked[T]) set(p place, x T) chunked[T] {
	chunk := slices.Clone(c.chunks[p.chunk])
	chunk[p.at] = x
	return c.replace(p.chunk, c.items, chunk)
}

// insert puts an item in front of a place that find returned.
func (c chunked[T]) insert(p place, x T) chunked[T] {
	if p.chunk == len(c.chunks) { // behind everything
		if p.chunk == 0 {
			return chunked[T]{chunks: [][]T{{x}}, items: 1}
		}
		p = place{p.chunk - 1, len(c.chunks[p.chunk-1])}
	}
	old := c.chunks[p.chunk]
	chunk := make([]T, 0, len(old)+1)
	chunk = append(append(append(chunk, old[:p.at]...), x), old[p.at:]...)
	if len(chunk) <= chunkItems {
		return c.replace(p.chunk, c.items+1, chunk)
	}
	cut := len(chunk) / 2
	if p.at == len(old) && p.chunk == len(c.chunks)-1 {
		cut = len(old) // numbers ascend: leave full chunks behind
	}
	return c.replace(p.chunk, c.items+1, chunk[:cut:cut], chunk[cut:])
}

// remove takes the item in a place out.
func (c chunked[T]) remove(p place) chunked[T] {
	old := c.chunks[p.chunk]
	if len(old) == 1 {
		return c.replace(p.chunk, c.items-1)
	}
	chunk := make([]T, 0, len(old)-1)
	return c.replace(p.chunk, c.items-1, append(append(chunk, old[:p.at]...), old[p.at+1:]...))
}

// replace puts chunks in the place of one.
func (c chunked[T]) replace(i, items int, by ...[]T) chunked[T] {
	chunks := make([][]T, 0, len(c.chunks)-1+len(by))
	chunks = append(append(append(chunks, c.chunks[:i]...), by...), c.chunks[i+1:]...)
	return chunked[T]{chunks: chunks, items: items}
}

// all yields the items in order.
func (c chunked[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, chunk := range c.chunks {
			for _, x := range chunk {
				if !yield(x) {
					return
				}
			}
		}
	}
}
