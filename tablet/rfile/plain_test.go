package rfile

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"millrace/tablet"
)

// plainDecode decodes a data block in the plainest way, as the format is described, to hold the cursor against. entries is
// the number wanted, −1 for all that there are.
func plainDecode(b []byte, entries int) ([]tablet.Entry, error) {
	var all []tablet.Entry
	var last tablet.Fields
	r := &plainReader{b: b}
	for i := 0; i != entries && (entries >= 0 || len(r.b) > 0); i++ {
		f := r.entry(last, i == 0)
		value := r.take(int(int32(r.fixed())))
		if r.bad {
			return nil, fmt.Errorf("entry %d is malformed", i)
		}
		e := tablet.Entry{Key: tablet.NewKey(f), Value: value}
		if n := len(all); n > 0 && tablet.Compare(&all[n-1].Key, &e.Key) > 0 && entries >= 0 {
			return nil, fmt.Errorf("entry %d is out of order", i)
		}
		all, last = append(all, e), f
	}
	if len(r.b) > 0 {
		return nil, fmt.Errorf("%d bytes are left over", len(r.b))
	}
	return all, nil
}

type plainReader struct {
	b   []byte
	bad bool
}

func (r *plainReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *plainReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *plainReader) fixed() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *plainReader) long() int64 {
	first := int8(r.byte())
	if first >= -112 {
		return int64(first)
	}
	n, negative := -112-int(first), false
	if n > 8 {
		n, negative = n-8, true
	}
	v := int64(0)
	for range n {
		v = v<<8 | int64(r.byte())
	}
	if negative {
		v = ^v
	}
	return v
}

func (r *plainReader) length() int {
	if n := r.long(); n >= 0 && n <= int64(len(r.b)) {
		return int(n)
	}
	r.bad = true
	return 0
}

func (r *plainReader) entry(last tablet.Fields, first bool) tablet.Fields {
	flags, prefixes := r.byte(), byte(0)
	if flags&0x80 != 0 {
		prefixes = r.byte()
	}
	if flags&0x40 != 0 || prefixes&0xe0 != 0 || first && flags&0x9f != 0 {
		r.bad = true
	}
	field := func(i int, old []byte) []byte {
		switch {
		case flags>>i&1 != 0:
			return old
		case prefixes>>i&1 != 0:
			n := r.long()
			if n < 0 || n > int64(len(old)) {
				r.bad, n = true, 0
			}
			return append(bytes.Clone(old[:n]), r.take(r.length())...)
		}
		return bytes.Clone(r.take(r.length()))
	}
	f := tablet.Fields{Row: field(0, last.Row), Family: field(1, last.Family), Qualifier: field(2, last.Qualifier),
		Visibility: field(3, last.Visibility), Timestamp: last.Timestamp, Deleted: flags&0x20 != 0}
	if flags&0x10 == 0 {
		f.Timestamp = r.long()
		if prefixes&0x10 != 0 {
			f.Timestamp += last.Timestamp
		}
	}
	return f
}
