package tablet

// Batch is a decoded stretch of one block of one source: what files and memtables hand to a merge. It is reused: its
// contents are valid until the source's next call. A Batch never crosses actors.
//
// Keys lie decoded in Arena, values stay where they are in Raw; nobody copies a value unless it must outlive the batch.
type Batch struct {
	Refs  []EntryRef // one an entry, in key order
	Codes []uint64   // Codes[i] is the code of entry i against the entry before it in the same source, rank byte zero
	Arena []byte     // key bytes
	Raw   []byte     // the decompressed block, or a buffer of values
	Facts BatchFacts
}

// EntryRef says where one entry's parts lie.
type EntryRef struct {
	Timestamp int64
	KeyAt     uint32 // start of the key's bytes in Arena
	KeyBytes  uint32 // how many there are
	Ends      Ends   // field ends, relative to KeyAt
	At        uint32 // start of the encoded entry in Raw; equal to ValueAt where entries are not encoded
	ValueAt   uint32 // start of the value in Raw
	End       uint32 // end of the value, and of the encoded entry, in Raw
	// Shared is how many leading bytes of the first differing field the file recorded as shared with the entry before;
	// a lower bound for what is shared, 0 for the first entry of a block.
	Shared  uint32
	Deleted bool
}

// BatchFacts are what the decoder saw while it passed.
type BatchFacts struct {
	Block      int    // number of the block in its group, -1 where there are no blocks
	FirstOf    bool   // the batch begins with its block's first entry
	LastOf     bool   // the batch ends with its block's last entry
	Encoded    bool   // Raw holds relative keys of the current format, so entries after the first may be copied as they are
	Contiguous bool   // no entry was skipped: each entry's At is the End of the one before
	Deletes    bool   // some entry is a delete marker
	MaxCode    uint64 // the largest of Codes[1:], 0 for a batch of one
}

// Len is the number of entries.
func (b *Batch) Len() int { return len(b.Refs) }

// Key returns entry i's key, a view of the batch.
func (b *Batch) Key(i int) Key {
	r := &b.Refs[i]
	return Key{data: b.Arena[r.KeyAt : r.KeyAt+r.KeyBytes : r.KeyAt+r.KeyBytes], ts: r.Timestamp, ends: r.Ends, deleted: r.Deleted}
}

// Value returns entry i's value, a view of the batch.
func (b *Batch) Value(i int) []byte {
	r := &b.Refs[i]
	return b.Raw[r.ValueAt:r.End:r.End]
}

// Entry returns entry i, a view of the batch.
func (b *Batch) Entry(i int) Entry { return Entry{Key: b.Key(i), Value: b.Value(i)} }

// Reset empties the batch and keeps its memory. Raw is let go: it belongs to whoever set it.
func (b *Batch) Reset() {
	b.Refs, b.Codes, b.Arena, b.Raw = b.Refs[:0], b.Codes[:0], b.Arena[:0], nil
	b.Facts = BatchFacts{}
}

// AppendKey adds an entry whose key is copied into the arena and whose value lies at Raw[valueAt:end]. The code is
// against the entry before it in the source. It is for sources that do not decode relative keys.
func (b *Batch) AppendKey(k *Key, code uint64, valueAt, end uint32) {
	if len(b.Refs) > 0 && code > b.Facts.MaxCode {
		b.Facts.MaxCode = code
	}
	b.Facts.Deletes = b.Facts.Deletes || k.deleted
	b.Refs = append(b.Refs, EntryRef{
		Timestamp: k.ts, KeyAt: uint32(len(b.Arena)), KeyBytes: uint32(len(k.data)), Ends: k.ends,
		At: valueAt, ValueAt: valueAt, End: end, Deleted: k.deleted,
	})
	b.Codes = append(b.Codes, code)
	b.Arena = append(b.Arena, k.data...)
}
