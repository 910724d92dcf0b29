// Package binning groups mutations by the tablet that holds their row.
//
// Bin takes mutations in order of arrival and a locate.Map and returns one Binned for each tablet that gets any, and the
// mutations whose row has no tablet in the map. Mutations of one row always keep their order of arrival. Scratch holds
// what is reused from call to call; a binner has one of its own.
//
// With SortRows the mutations of a bin are sorted by row besides, which costs the binner what it saves the memtable, off
// the path on which a tablet is the only writer.
//
// The package never waits, retries or looks a tablet up anywhere but in the map it is given.
package binning
