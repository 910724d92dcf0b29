// Package parallel gives work on RFiles more than one goroutine, for commands that have the machine to themselves. What
// is read and written is the same as without it, byte for byte and error for error.
//
// In the order one meets them:
//
//   - Ahead reads and decompresses a group's blocks before a cursor asks for them.
//   - Compressor compresses a writer's blocks behind it.
//   - Spread runs the check of a file on several goroutines.
//
// Each goroutine belongs to one value and ends with its Close, or with the call that started it; buffers are few and
// stated. The package knows nothing of keys, and never decides what is read, written or checked.
package parallel
