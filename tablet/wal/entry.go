package wal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"millrace/internal/record"
	"millrace/tablet"
)

// Entry is mutations of one tablet that were prepared together.
type Entry struct {
	// LSN is the entry's number in the log; Log.Append gives it. It rises over the store's life.
	LSN    uint64
	Tablet uint64 // the tablet's permanent number
	// Session is the memtable's that the mutations enter.
	Session uint64
	// Timestamp is that of the first mutation's updates that have none of their own; it grows by Step with each mutation.
	Timestamp, Step int64
	Mutations       []*tablet.Mutation
}

// A record's first byte says what it is.
const (
	recordBegin byte = 1 // the first of a segment
	recordEntry byte = 2
)

// An entry's record:
//
//	recordEntry
//	LSN, tablet, session           unsigned varints, in their shortest form, like all numbers here
//	timestamp, step                signed varints
//	count, mutations               as tablet.Mutation.AppendTo writes them

// maxLSN leaves room above every LSN.
const maxLSN = 1<<63 - 1

// minMutation is the bytes of the smallest mutation: an empty row and no update.
const minMutation = 3

// minEntryRecord is the bytes of the smallest entry: its frame, and one mutation.
const minEntryRecord = record.FrameBytes + 7 + minMutation

var (
	errShort = errors.New("ends too early")
	errLong  = errors.New("number longer than need be")
)

// appendEntry appends an entry's record. The updates of a mutation are copied as one piece.
func appendEntry(dst []byte, e *Entry) []byte {
	dst = append(dst, recordEntry)
	dst = binary.AppendUvarint(dst, e.LSN)
	dst = binary.AppendUvarint(dst, e.Tablet)
	dst = binary.AppendUvarint(dst, e.Session)
	dst = binary.AppendVarint(dst, e.Timestamp)
	dst = binary.AppendVarint(dst, e.Step)
	dst = binary.AppendUvarint(dst, uint64(len(e.Mutations)))
	for i, m := range e.Mutations {
		tablet.WarmAt(e.Mutations, i)
		dst = m.AppendTo(dst)
	}
	return dst
}

// parseEntryHead reads an entry but for its mutations, which are the rest.
func parseEntryHead(b []byte) (e Entry, rest []byte, err error) {
	d := decoder{b: b[1:]}
	e.LSN, e.Tablet, e.Session = d.uint(), d.uint(), d.uint()
	e.Timestamp, e.Step = d.int(), d.int()
	if d.err == nil && (e.LSN == 0 || e.LSN > maxLSN) {
		d.err = fmt.Errorf("number is %d", e.LSN)
	}
	if d.err != nil {
		return Entry{}, nil, fmt.Errorf("log entry: %w", d.err)
	}
	return e, d.b, nil
}

// parseMutations reads what follows an entry's head. The mutations keep views of b.
func parseMutations(b []byte) ([]*tablet.Mutation, error) {
	d := decoder{b: b}
	count := d.count(minMutation)
	if d.err != nil {
		return nil, fmt.Errorf("log entry: mutations: %w", d.err)
	}
	all := make([]*tablet.Mutation, 0, count)
	for i := range count {
		m, rest, err := tablet.ParseMutation(d.b)
		if err != nil {
			return nil, fmt.Errorf("log entry: mutation %d: %w", i, err)
		}
		all = append(all, m)
		d.b = rest
	}
	if len(d.b) > 0 {
		return nil, fmt.Errorf("log entry: %d bytes behind the last mutation", len(d.b))
	}
	return all, nil
}

// decoder reads varints from bytes that may be anything. After an error it gives zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) uint() uint64 {
	if d.err != nil {
		return 0
	}
	v, n := binary.Uvarint(d.b)
	switch {
	case n <= 0:
		d.err = errShort
		return 0
	case n > 1 && d.b[n-1] == 0:
		d.err = errLong
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) int() int64 {
	u := d.uint()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads how many things follow, of at least so many bytes each.
func (d *decoder) count(least int) int {
	n := d.uint()
	if d.err == nil && n > uint64(len(d.b)/least) {
		d.err = fmt.Errorf("%d of %d bytes or more do not fit %d bytes", n, least, len(d.b))
	}
	if d.err != nil {
		return 0
	}
	return int(n)
}
