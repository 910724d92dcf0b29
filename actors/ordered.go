package actors

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// ordered yields a map by its keys' order. An actor that sends, releases or removes in a map's own order would do it
// differently each time, and a simulation could not be repeated.
func ordered[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if v, still := m[k]; still && !yield(k, v) {
				return
			}
		}
	}
}
