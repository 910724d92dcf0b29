package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// TabletSession is a tablet and one of its sessions.
type TabletSession struct{ Tablet, Session uint64 }

// Void names LSNs that were refused for good: whatever a segment holds under them was never acknowledged, and does not
// count.
type Void struct{ From, To uint64 } // both included

// begin is the first record of a segment: what it is that the log holds so far. With it a reader finds a segment that is
// gone, an end that is lost, and entries that were refused.
type begin struct {
	earlier []earlier // ascending
	voids   []Void    // ascending
}

// earlier is a segment as a later one knows it.
type earlier struct {
	number uint64
	// synced is how many of its bytes were on stable storage; all, if it was sealed.
	synced int64
	// end, unless 0, is where it ends, whatever bytes follow: where a replay found its torn tail.
	end int64
	// needed are the tablets with entries that were in no file yet and are on stable storage here, and the highest session
	// of each; by tablet.
	needed []TabletSession
}

// The record:
//
//	recordBegin
//	count, then of each earlier segment
//	    number       less that of the one before
//	    synced, end
//	    count, then of each tablet
//	        tablet   less the one before
//	        session
//	count, then of each void
//	    from         less the end of the one before
//	    more         LSNs behind the first

func appendBegin(dst []byte, b *begin) []byte {
	dst = append(dst, recordBegin)
	dst = binary.AppendUvarint(dst, uint64(len(b.earlier)))
	number := uint64(0)
	for i := range b.earlier {
		e := &b.earlier[i]
		dst = binary.AppendUvarint(dst, e.number-number)
		dst = binary.AppendUvarint(dst, uint64(e.synced))
		dst = binary.AppendUvarint(dst, uint64(e.end))
		dst = appendSessions(dst, e.needed)
		number = e.number
	}
	dst = binary.AppendUvarint(dst, uint64(len(b.voids)))
	last := uint64(0)
	for _, v := range b.voids {
		dst = binary.AppendUvarint(dst, v.From-last)
		dst = binary.AppendUvarint(dst, v.To-v.From)
		last = v.To
	}
	return dst
}

func appendSessions(dst []byte, all []TabletSession) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(all)))
	tablet := uint64(0)
	for _, t := range all {
		dst = binary.AppendUvarint(dst, t.Tablet-tablet)
		dst = binary.AppendUvarint(dst, t.Session)
		tablet = t.Tablet
	}
	return dst
}

// Least bytes of what a begin record counts.
const (
	minEarlier = 4
	minSession = 2
	minVoid    = 2
)

// parseBegin reads the first record of the segment of that number.
func parseBegin(record []byte, number uint64) (*begin, error) {
	d := decoder{b: record[1:]}
	b := &begin{}
	last := uint64(0)
	for range d.count(minEarlier) {
		e := d.earlier(last)
		b.earlier = append(b.earlier, e)
		last = e.number
	}
	if d.err == nil && last >= number {
		d.err = fmt.Errorf("names segment %d as earlier", last)
	}
	last = 0
	for range d.count(minVoid) {
		v := Void{From: d.above(last)}
		v.To = d.plus(v.From)
		if v.To > maxLSN {
			d.fail(fmt.Errorf("void up to %d", v.To))
		}
		b.voids = append(b.voids, v)
		last = v.To
	}
	if d.err == nil && len(d.b) > 0 {
		d.err = fmt.Errorf("%d bytes behind the last void", len(d.b))
	}
	if d.err != nil {
		return nil, fmt.Errorf("first record: %w", d.err)
	}
	return b, nil
}

func (d *decoder) earlier(last uint64) earlier {
	e := earlier{number: d.above(last), synced: d.offset(), end: d.offset()}
	if e.end != 0 && e.end < e.synced {
		d.fail(fmt.Errorf("segment %d ends at %d and %d bytes were synced", e.number, e.end, e.synced))
	}
	tablet := uint64(0)
	for i := range d.count(minSession) {
		t := TabletSession{}
		if i == 0 {
			t.Tablet = d.plus(0)
		} else {
			t.Tablet = d.above(tablet)
		}
		t.Session = d.uint()
		e.needed = append(e.needed, t)
		tablet = t.Tablet
	}
	return e
}

// above reads a number as what it is more than the last; it is more.
func (d *decoder) above(last uint64) uint64 {
	v := d.plus(last)
	if v <= last {
		d.fail(errors.New("numbers do not rise"))
	}
	return v
}

// plus reads a number as what it is more than a base.
func (d *decoder) plus(base uint64) uint64 {
	v := base + d.uint()
	if v < base {
		d.fail(errors.New("number beyond 64 bits"))
	}
	return v
}

func (d *decoder) offset() int64 {
	v := int64(d.uint())
	if v < 0 {
		d.fail(fmt.Errorf("offset is %d", v))
	}
	return v
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}
