// Package writer has the BatchWriter: mutations are added one by one, by any number of goroutines, and come to their tablets
// in sets, within a bound of memory.
//
//	Add ──► buffer ──► set ──► binning, by a worker ──► Destination ──► Done or Fail ──► memory is given back
//
// In the order one meets them:
//
//   - Options: Accumulo's configuration, and the Variant: how adding and binning go together.
//   - BatchWriter: Add, Flush, Close, Stats. Everything added is settled once: written, or named in the RejectedError.
//   - Set: what goes from binning to the destination, which settles each mutation of it.
//   - Destination: a table of a store, or Discard, which costs nothing, or somebody else's store.
//   - Host: workers, time and waiting. Package actors has it: workers are actors, woken by a message.
//
// Mutations of one row come to the destination in the order in which they were added. Of two Adds at the same time either
// may be the first; Adds one after the other, on one goroutine or by other means, keep their order.
//
// The package starts no goroutine, knows no actor and looks no tablet up by itself.
package writer
