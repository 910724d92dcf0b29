package scan

import "millrace/tablet"

// Page is a stretch of a scan's answer, in key order. It owns its bytes, is filled by one session at a time, and may be
// used again.
type Page struct {
	refs  []entryRef
	arena []byte // key and value of each entry, end to end
	bytes int64
}

type entryRef struct {
	ts      int64
	at      uint32 // start of the key in the arena
	valueAt uint32
	end     uint32
	ends    tablet.Ends
	deleted bool
}

// entryOverhead is what an entry costs in a page beside its bytes, by Accumulo's rule for the end of a batch.
const entryOverhead = 288

// keptBytes is the largest arena that survives Reset: twice what a page holds by default.
const keptBytes = 1 << 20

// Len is the number of entries.
func (p *Page) Len() int { return len(p.refs) }

// Bytes is the size that Limits speak of.
func (p *Page) Bytes() int64 { return p.bytes }

// Key returns entry i's key, a view of the page.
func (p *Page) Key(i int) tablet.Key {
	r := &p.refs[i]
	return tablet.KeyView(p.arena[r.at:r.valueAt:r.valueAt], r.ends, r.ts, r.deleted)
}

// Value returns entry i's value, a view of the page.
func (p *Page) Value(i int) []byte {
	r := &p.refs[i]
	return p.arena[r.valueAt:r.end:r.end]
}

// Entry returns entry i, a view of the page.
func (p *Page) Entry(i int) tablet.Entry { return tablet.Entry{Key: p.Key(i), Value: p.Value(i)} }

// Reset empties the page and keeps its memory, unless one huge entry has blown it up.
func (p *Page) Reset() {
	if cap(p.arena) > keptBytes {
		p.arena = nil
	}
	p.refs, p.arena, p.bytes = p.refs[:0], p.arena[:0], 0
}

func (p *Page) add(k *tablet.Key, value []byte) {
	r := entryRef{ts: k.Timestamp(), at: uint32(len(p.arena)), ends: k.Ends(), deleted: k.Deleted()}
	p.arena = append(p.arena, k.Data()...)
	r.valueAt = uint32(len(p.arena))
	p.arena = append(p.arena, value...)
	r.end = uint32(len(p.arena))
	p.refs = append(p.refs, r)
	p.bytes += int64(r.end-r.at) + entryOverhead
}

// Limits say when a page is full. A page has at least one entry when there is one.
type Limits struct {
	// Entries is the most of a page. Default 1000.
	Entries int
	// Bytes is how much the entries of a page weigh, 288 each beside their keys and values, when no further one is
	// added. Default 512 KiB.
	Bytes int64
	// Work is about how many entries may be read for a page that finds few, before it is handed over as it is; 0 any
	// number. User iterators know no such bound.
	Work int64
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	if l.Entries <= 0 {
		l.Entries = 1000
	}
	if l.Bytes <= 0 {
		l.Bytes = 512 << 10
	}
	return l
}

func (l *Limits) full(p *Page) bool { return len(p.refs) >= l.Entries || p.bytes >= l.Bytes }
