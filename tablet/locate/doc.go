// Package locate finds the tablet of a row: the sorted map of a table's extents that writers and readers share.
//
// Map is immutable: whoever changes the tablets makes a new one with a higher version (Split, Merge, New) and swaps a
// pointer, so a look-up takes no lock and a batch is binned against one state of the table throughout. New wants the whole
// chain, from the first row to the last; NewPartial takes what is known of it, and then a row may have no tablet.
//
// Find looks a row up, FindNear starts at the tablet found last, which is where sorted rows mostly lie, and Overlapping
// gives the tablets that a range meets. For rows in order there is a walk: EndPrefix tells by a row's first bytes whether it is
// still in a tablet, and FindFrom goes on from there.
//
// The package never asks anybody where a tablet is; a miss is the caller's to resolve.
package locate
