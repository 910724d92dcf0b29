// Package accumulo holds the file format against Accumulo itself: real releases of it read what rfile writes, and write
// what rfile reads, in tests that only run when asked for with the build tag accumulo.
//
// In the order one meets them:
//
//   - java is a small program, the judge, that drives Accumulo's own reader and writer; the tests build it with Maven
//     and talk with it over a pipe.
//   - The tests of our files write in every codec, container version, block size and grouping, and want Accumulo to
//     return the same entries and the same answers to seeks.
//   - The tests of its files go the other way, and want rfile's writer, given the same entries, to make the same blocks,
//     the same index and, without compression, the same bytes.
//
// README.md says how to run it and what came out. The package has no code of its own beside its tests, and nothing
// depends on it.
package accumulo
