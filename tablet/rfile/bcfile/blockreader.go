package bcfile

// BlockReader reads blocks of the default codec, with buffers and a decompressor of its own. When blocks are asked for in
// the order of the file it reads ahead, so that small ones do not cost a system call each. Not for concurrent use; a
// Reader may have many.
type BlockReader struct {
	r    *Reader
	dec  Decompressor
	raw  []byte
	win  []byte // bytes of the file from winAt on
	buf  []byte // what win lies in
	at   int64  // offset of win
	next int64  // end of the block read last
	row  int    // of the sums, where the next block is looked for first
	// ahead is what the next read in order takes at least; it doubles while reads are in order.
	ahead int
	// expected is where the stretch ends that is going to be read in order.
	expected int64
	stats    ReadStats
}

// ReadStats counts what a BlockReader did.
type ReadStats struct {
	Requests    int64 // calls of the file
	FileBytes   int64 // bytes that they gave, read-ahead included
	Blocks      int64
	StoredBytes int64
	RawBytes    int64
}

// firstAheadBytes is the read-ahead at the second block in order.
const firstAheadBytes = 64 << 10

// NewBlockReader returns a reader that allocates its buffers as it needs them.
func (r *Reader) NewBlockReader() *BlockReader { return &BlockReader{r: r} }

// Read returns the raw bytes of a block, exactly reg.Raw of them, checked against the sums. They are valid until the next
// call.
func (b *BlockReader) Read(reg Region) ([]byte, error) {
	stored, err := b.ReadStored(reg)
	if err != nil {
		return nil, err
	}
	if b.r.codec.name == None {
		b.stats.RawBytes += reg.Raw
		return stored, nil
	}
	b.raw, err = b.decompress(b.raw[:0], stored, reg)
	return b.raw, err
}

// AppendTo is Read into a slice of the caller's.
func (b *BlockReader) AppendTo(dst []byte, reg Region) ([]byte, error) {
	stored, err := b.ReadStored(reg)
	if err != nil {
		return dst, err
	}
	return b.decompress(dst, stored, reg)
}

// ReadStored returns a block's bytes as they are in the file, checked against the sums. They are valid until the next
// call.
func (b *BlockReader) ReadStored(reg Region) ([]byte, error) {
	row, err := b.r.check(b.r.codec, reg, b.row)
	if err != nil {
		return nil, err
	}
	b.row = row + 1
	stored, err := b.fetch(reg.Offset, int(reg.Stored))
	if err != nil {
		return nil, err
	}
	b.stats.Blocks++
	b.stats.StoredBytes += reg.Stored
	return stored, b.r.checkSum(reg, stored, row)
}

func (b *BlockReader) decompress(dst, stored []byte, reg Region) ([]byte, error) {
	if b.dec == nil {
		b.dec = b.r.codec.get()
	}
	start := len(dst)
	dst, err := b.dec.Decompress(dst, stored, int(reg.Raw))
	if err != nil {
		return dst[:start], b.r.src.corrupt(reg.Offset, "block, codec %s, %d stored bytes, %d raw: %v", b.r.codec.name, reg.Stored, reg.Raw, err)
	}
	b.stats.RawBytes += reg.Raw
	return dst, nil
}

// Expect says that the blocks up to an offset in the file will be asked for in order, so that they are read at once, as
// far as the read-ahead allows, and nothing behind them is.
func (b *BlockReader) Expect(end int64) { b.expected = end }

// Stats returns the counts since the beginning.
func (b *BlockReader) Stats() ReadStats { return b.stats }

// Close gives the decompressor back and drops the buffers; what Read returned last is not valid any longer. The
// BlockReader may be used again, and then takes new ones. One that is not closed is simply collected.
func (b *BlockReader) Close() {
	if b.dec != nil {
		b.r.codec.put(b.dec)
	}
	*b = BlockReader{r: b.r, stats: b.stats}
}

// longestKept bounds each of the buffers of a BlockReader at rest.
const longestKept = 256 << 10

// Rest lets go of the file and the decompressor, and of buffers that grew out of proportion: what is left serves the file
// that Use names next. What Read returned last is not valid any longer.
func (b *BlockReader) Rest() {
	if b.dec != nil {
		b.r.codec.put(b.dec)
	}
	raw, buf := b.raw[:0], b.buf[:0]
	if cap(raw) > longestKept {
		raw = nil
	}
	if cap(buf) > longestKept {
		buf = nil
	}
	*b = BlockReader{raw: raw, buf: buf}
}

// Use makes a BlockReader at rest read blocks of r. Its counts begin anew.
func (b *BlockReader) Use(r *Reader) { b.r = r }

// fetch returns n bytes of the file at an offset, out of the window if it holds them.
func (b *BlockReader) fetch(offset int64, n int) ([]byte, error) {
	inOrder := offset == b.next && offset > 0
	b.next = offset + int64(n)
	skip := offset - b.at
	if skip < 0 || skip > int64(len(b.win)) {
		skip = int64(len(b.win)) // nothing of the window is of use
		b.at = offset - skip
	}
	have := b.win[skip:]
	if len(have) < n {
		if err := b.fill(offset, have, n, b.want(offset, n, inOrder)); err != nil {
			return nil, err
		}
		skip = 0
	}
	return b.win[skip : skip+int64(n)], nil
}

// want says how many bytes to read for a block of n.
func (b *BlockReader) want(offset int64, n int, inOrder bool) int {
	limit := b.r.opts.ReadAheadBytes
	switch {
	case offset < b.expected && limit > 0:
		b.ahead = int(min(b.expected-offset, int64(limit)))
	case !inOrder || limit < 0:
		b.ahead = 0
	case b.ahead == 0:
		b.ahead = min(firstAheadBytes, limit)
	default:
		b.ahead = min(2*b.ahead, limit)
	}
	left := b.r.footer.metaIndex - offset // at least n, by the check of the region
	return int(min(int64(max(n, b.ahead)), left))
}

// fill makes the window begin at offset: have, which it holds already, and bytes from the file up to want in all. It must
// get need; that reading further failed is for a later call to meet.
func (b *BlockReader) fill(offset int64, have []byte, need, want int) error {
	buf := b.buf
	if cap(buf) < want {
		buf = make([]byte, want)
	}
	buf = buf[:cap(buf)]
	kept := copy(buf, have)
	b.buf, b.at, b.win = buf, offset, buf[:kept]
	n, err := b.r.src.readSome(buf[kept:want], offset+int64(kept))
	b.stats.Requests++
	b.stats.FileBytes += int64(n)
	b.win = buf[:kept+n]
	if len(b.win) >= need {
		return nil
	}
	b.next, b.ahead = -1, 0
	return err
}
