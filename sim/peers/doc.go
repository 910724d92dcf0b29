// Peers has one batch writer write to a store of this module, to Pebble and to goleveldb in turn.
//
//	cd sim/peers && go run .
//
// It is a module of its own, so that nobody who builds Millrace needs the others. The mutations, the writer, its memory and
// threads are the same; so are the keys of the two others, which order entries as ours does. All keep a log without syncing
// it, and have memory enough that nothing is flushed to files while they are timed. They run in turn in one process, each time
// in an empty directory, and after the first turn of each setting every entry is read back.
//
// In the order one meets them:
//
//   - appendKey, splitKey: a key with its timestamp as bytes that sort as keys do.
//   - destination: what a batch writer sends, as one batch a set; stamps what has no timestamp.
//   - openPebble, openLevel: the stores.
//
// What the figures do not say: ours assigns each row to one of several tablets, looks constraints up and stamps by tablet; the
// others have one key space. Pebble acknowledges an unsynced write when its log has it in memory, goleveldb and ours when the
// file has it.
package main
