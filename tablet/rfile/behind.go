package rfile

import (
	"fmt"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// BlockCompressor compresses a Writer's data blocks while the Writer goes on, as on a goroutine of its own. Blocks come
// back in the order in which they went in. It serves one Writer; whoever made it closes it, in the end or after an error.
type BlockCompressor interface {
	// Start says what the blocks are to be compressed with. NewWriter calls it, once.
	Start(codec string, level int) error
	// Window is how many blocks may be on their way at a time, at least 1.
	Window() int
	// Put takes over a block's raw bytes and returns an empty buffer for another block, which may have no room yet.
	Put(raw []byte) []byte
	// Get waits for the block put first of those on their way. Its stored form is valid until the next call.
	Get() (stored []byte, err error)
}

// blockQueue holds what the index needs to know of the blocks on their way. A block gets its place in the file, and the
// index its entry, when it comes back: in the order of Put, so that everything lies where it would without the queue.
type blockQueue struct {
	press   BlockCompressor
	bc      *bcfile.Writer
	codec   string
	waiting []queuedBlock // oldest first
	spare   []tablet.Key  // own their bytes
	err     error
}

type queuedBlock struct {
	g       *groupWriter
	key     tablet.Key // owns its bytes
	entries int
	raw     int64
	last    bool
}

// put takes over a group's open block and returns a buffer for the next one.
func (q *blockQueue) put(g *groupWriter, k *tablet.Key, last bool) ([]byte, error) {
	for len(q.waiting) >= q.press.Window() {
		if err := q.complete(); err != nil {
			return nil, err
		}
	}
	b := queuedBlock{g: g, entries: g.entries, raw: int64(len(g.block)), last: last}
	if n := len(q.spare); n > 0 {
		b.key, q.spare = q.spare[n-1], q.spare[:n-1]
	}
	b.key.Assign(k)
	q.waiting = append(q.waiting, b)
	return q.press.Put(g.block)[:0], nil
}

// drain completes all blocks.
func (q *blockQueue) drain() error {
	for q.err == nil && len(q.waiting) > 0 {
		q.complete()
	}
	return q.err
}

// complete writes the oldest block. After an error none of the others is.
func (q *blockQueue) complete() error {
	if q.err == nil {
		q.err = q.write(&q.waiting[0])
		q.spare = append(q.spare, q.waiting[0].key)
		q.waiting = append(q.waiting[:0], q.waiting[1:]...)
	}
	return q.err
}

func (q *blockQueue) write(b *queuedBlock) error {
	stored, err := q.press.Get()
	if err != nil {
		return fmt.Errorf("compress a block of %d bytes with %s: %w", b.raw, q.codec, err)
	}
	r, err := q.bc.WriteStored(stored, b.raw)
	if err != nil {
		return err
	}
	return b.g.index.add(&b.key, b.entries, r, b.last)
}
