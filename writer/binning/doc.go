// Package binning groups mutations by the tablet that holds their row.
//
// An Item stands for a mutation: whoever buffers mutations makes it while the mutation is still at hand, with all that
// sorting and binning mostly look at. Bin takes items in order of arrival and a locate.Map, sorts them by row and cuts them
// where tablets end, so that a search is needed where a tablet begins and nowhere else. The Result has one Binned for each
// tablet that gets any, sorted as memtables like it, and the mutations whose row has no tablet in the map. Mutations of one
// row always keep their order of arrival. Scratch holds what is reused from call to call; a binner has one of its own.
//
// The package never waits, retries or looks a tablet up anywhere but in the map it is given.
package binning
