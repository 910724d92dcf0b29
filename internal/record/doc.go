// Package record is the one framing of the files that a store writes record by record: log segments and manifests.
//
// In the order one meets them:
//
//   - Header: what a file's first bytes say: its kind, version and number.
//   - Writer: appends records to a new file, hands them to the operating system (Write), puts them on stable storage
//     (Sync) and ends the file (Seal).
//   - Reader: gives the records back, in bounded memory, and tells a torn tail, which a crash may leave, from damage,
//     which nothing but a fault of the disk does (End, tablet.CorruptError).
//
// A file is written once, from start to end. Each record carries how many bytes of its file were on stable storage when it
// was written. That is what the two are told apart by: a place that does not verify is damage if a record behind it
// verifies and says that the place had been synced; else it is the torn tail, and the file ends there. Sums are tied to the
// file's number and to the record's place, so that old bytes, moved bytes and bytes of another file never verify.
//
// The package does not know what a payload means, never repairs, never retries, and never decides when to sync.
package record
