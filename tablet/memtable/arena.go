package memtable

// arena holds records, in chunks, so that an entry costs no allocation of its own. Chunks hold no pointers: the garbage
// collector does not look into them, however large a table is.
type arena struct {
	chunks chunks
	used   int // bytes of the newest chunk
}

// chunks are the memory of a table, oldest first. A chunk stays where it is, and what was written into it stays as it
// is, so that a copy of the slice reads, beside the writer, whatever was there when it was copied.
type chunks [][]byte

// ref says where a record is: the chunk in the upper half, its first byte in the lower.
type ref uint64

const (
	firstChunk   = 4 << 10 // the first of a table, which may stay small
	largestChunk = 256 << 10
	// Larger pieces get a chunk of their own: at most a quarter of a chunk of full size is left unused.
	largestPiece = largestChunk / 4
)

// piece returns n bytes, and where they are.
func (a *arena) piece(n int) ([]byte, ref) {
	newest := len(a.chunks) - 1
	if n > largestPiece {
		return a.own(n)
	}
	if newest < 0 || n > len(a.chunks[newest])-a.used {
		a.chunks = append(a.chunks, make([]byte, max(a.nextChunk(), n)))
		newest++
		a.used = 0
	}
	at := a.used
	a.used += n
	return a.chunks[newest][at:a.used:a.used], ref(newest)<<32 | ref(at)
}

func (a *arena) nextChunk() int {
	return min(firstChunk<<min(len(a.chunks), 16), largestChunk)
}

// own gives a piece a chunk of its own. What is left of the newest goes on behind it.
func (a *arena) own(n int) ([]byte, ref) {
	b := make([]byte, n)
	at := ref(len(a.chunks)) << 32
	if len(a.chunks) == 0 {
		a.chunks, a.used = append(a.chunks, b), n
		return b, at
	}
	rest := a.chunks[len(a.chunks)-1][a.used:]
	a.chunks, a.used = append(a.chunks, b, rest), 0
	return b, at
}
