package experiment

import "slices"

// realPlaces are all threads with all memories; in brief the most threads, and the fewest with the middle memory.
func (o WriterOptions) realPlaces() (places []WriterPlace) {
	o.each(WriterPlace{Tablets: o.StoreTablets, Apply: applyReal, Map: mapWarm}, &places, func(threads int, memory int64) bool {
		return threads == o.mostThreads() || threads == o.Threads[0] && memory == o.middleMemory()
	})
	return places
}

// freePlaces are each number of tablets, then the largest once more while it is forgotten where tablets are, then with so
// much memory, ample, that nobody waits for it.
func (o WriterOptions) freePlaces(ample int64) (places []WriterPlace) {
	for _, tablets := range o.Tablets {
		o.each(WriterPlace{Tablets: tablets, Apply: applyFree, Map: mapWarm}, &places, func(threads int, memory int64) bool {
			return threads == manyThreads || memory == o.middleMemory()
		})
	}
	last := WriterPlace{Tablets: o.mostTablets(), Apply: applyFree, Map: mapCold}
	o.each(last, &places, func(threads int, memory int64) bool { return threads == manyThreads && memory == o.middleMemory() })
	if !slices.Contains(o.MemoryBytes, ample) {
		o.MemoryBytes, last.Map = []int64{ample}, mapWarm
		o.each(last, &places, func(threads int, _ int64) bool { return threads == manyThreads })
	}
	return places
}

func (o WriterOptions) middleMemory() int64 { return o.MemoryBytes[len(o.MemoryBytes)/2] }

// each adds a place with each number of threads and each memory; if Brief, only those that are wanted.
func (o WriterOptions) each(at WriterPlace, places *[]WriterPlace, wanted func(threads int, memory int64) bool) {
	for _, at.Threads = range o.Threads {
		for _, at.MemoryBytes = range o.MemoryBytes {
			if !o.Brief || wanted(at.Threads, at.MemoryBytes) {
				*places = append(*places, at)
			}
		}
	}
}
