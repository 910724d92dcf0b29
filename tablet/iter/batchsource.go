package iter

import (
	"context"
	"fmt"

	"millrace/tablet"
)

// BatchSource hands out batches made beforehand, for measurements in which the source shall cost nothing. It can only be
// read as a whole.
type BatchSource struct {
	batches []*tablet.Batch
	at      int
}

// FromBatches returns a source over batches that together are one sorted run whose first code is against the empty key,
// as Batches makes them. Several sources may share them.
func FromBatches(batches []*tablet.Batch) *BatchSource { return &BatchSource{batches: batches} }

// Batches copies sorted entries into batches of at most batchEntries.
func Batches(entries []tablet.Entry, batchEntries int) []*tablet.Batch {
	var out []*tablet.Batch
	for at := 0; at < len(entries); at += batchEntries {
		b := &tablet.Batch{Facts: tablet.BatchFacts{Block: -1}}
		for i := at; i < min(at+batchEntries, len(entries)); i++ {
			k := &entries[i].Key
			code := tablet.CodeOfFirst(k)
			if i > 0 {
				code = tablet.CodeOf(&entries[i-1].Key, k)
			}
			start := uint32(len(b.Raw))
			b.Raw = append(b.Raw, entries[i].Value...)
			b.AppendKey(k, code, start, uint32(len(b.Raw)))
		}
		out = append(out, b)
	}
	return out
}

// Seek goes back to the first entry. Anything but all entries of all families is an error.
func (s *BatchSource) Seek(_ context.Context, r tablet.Range, f tablet.Families) error {
	_, start := r.Start()
	_, end := r.End()
	if start || end || !f.All() {
		return fmt.Errorf("seek %v in batches made beforehand: %w", r, tablet.ErrUnsupported)
	}
	s.at = 0
	return nil
}

// Next is as in Source.
func (s *BatchSource) Next(context.Context) (*tablet.Batch, error) {
	if s.at == len(s.batches) {
		return nil, nil
	}
	s.at++
	return s.batches[s.at-1], nil
}

// Close does nothing; the source may be read again.
func (s *BatchSource) Close() error { return nil }
