package rfile

import "millrace/tablet"

// heldKey is a key in parts, for the encoder. Its parts are stored and loaded one by one: a tablet.Key is moved in words
// wider than its parts, for which a processor waits when they were stored just before.
type heldKey struct {
	data    []byte
	borders [5]uint32 // of the four fields in data
	ts      int64
	deleted bool
}

// view makes h a view of a key.
func (h *heldKey) view(k *tablet.Key) {
	h.set(k.Data(), k.Ends(), k.Timestamp(), k.Deleted())
}

// viewEntry makes h a view of the key of an entry of a batch.
func (h *heldKey) viewEntry(b *tablet.Batch, i int) {
	r := &b.Refs[i]
	h.set(b.Arena[r.KeyAt:r.KeyAt+r.KeyBytes:r.KeyAt+r.KeyBytes], r.Ends, r.Timestamp, r.Deleted)
}

func (h *heldKey) set(data []byte, ends tablet.Ends, ts int64, deleted bool) {
	h.data = data
	h.borders[1], h.borders[2], h.borders[3], h.borders[4] = ends.Row, ends.Family, ends.Qualifier, uint32(len(data))
	h.ts, h.deleted = ts, deleted
}

// take makes h, which owns its bytes, a copy of k.
func (h *heldKey) take(k *heldKey) {
	h.data = append(h.data[:0], k.data...)
	h.borders[1], h.borders[2], h.borders[3], h.borders[4] = k.borders[1], k.borders[2], k.borders[3], k.borders[4]
	h.ts, h.deleted = k.ts, k.deleted
}

// key is a view of h.
func (h *heldKey) key() tablet.Key {
	return tablet.KeyView(h.data, tablet.Ends{Row: h.borders[1], Family: h.borders[2], Qualifier: h.borders[3]}, h.ts, h.deleted)
}

func (h *heldKey) family() []byte { return h.data[h.borders[1]:h.borders[2]] }
