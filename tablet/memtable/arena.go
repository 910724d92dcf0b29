package memtable

// arena hands out memory for keys, values and records in chunks, so that an entry costs no allocation of its own.
type arena struct {
	bytes   []byte
	records []record
}

const (
	chunkBytes   = 64 << 10
	chunkRecords = 512 // 32 KiB
	// Larger pieces get memory of their own: at most a quarter of a chunk is left unused behind.
	largestPiece = chunkBytes / 4
)

// piece returns n zero-length bytes of capacity n.
func (a *arena) piece(n int) []byte {
	if n > largestPiece {
		return make([]byte, 0, n)
	}
	if n > len(a.bytes) {
		a.bytes = make([]byte, chunkBytes)
	}
	p := a.bytes[:0:n]
	a.bytes = a.bytes[n:]
	return p
}

func (a *arena) record() *record {
	if len(a.records) == 0 {
		a.records = make([]record, chunkRecords)
	}
	r := &a.records[0]
	a.records = a.records[1:]
	return r
}
