// Package bcfile reads and writes the container below an RFile: a sequence of independently compressed blocks, a
// directory of the named ones, and a fixed trailer. It knows nothing about keys.
//
// In the order one meets them:
//
//   - Writer compresses blocks, gives back the Region of each, and ends the file with directory, sums and trailer.
//   - Open checks a file's frame and returns a Reader, which knows the named blocks and is safe for concurrent use.
//   - BlockReader, one for each reading goroutine, fetches, checks and decompresses blocks by Region.
//   - Sums is the table of checksums that every file of ours carries; Verify holds a whole file against it.
//   - Compressor and Decompressor are the codecs by themselves.
//
// A file's bytes are never trusted: damage is a tablet.CorruptError that names file and offset, what is valid but not
// handled here (encryption, LZO, other versions) is tablet.ErrUnsupported, and no buffer is allocated by a stated size
// that the stored bytes could not give.
//
// The package never opens, names, syncs or closes a file, and never caches a block.
package bcfile
