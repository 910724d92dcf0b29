package rfile

import (
	"encoding/binary"
	"fmt"

	"millrace/internal/wire"
	"millrace/tablet"
)

// appendKey appends a key on its own: four cumulative field ends, the fields, the timestamp, the delete flag.
func appendKey(dst []byte, k *tablet.Key) []byte {
	ends := k.Ends()
	dst = wire.AppendHVLong(dst, int64(ends.Row))
	dst = wire.AppendHVLong(dst, int64(ends.Family))
	dst = wire.AppendHVLong(dst, int64(ends.Qualifier))
	dst = wire.AppendHVLong(dst, int64(k.Size()))
	dst = append(dst, k.Data()...)
	dst = wire.AppendHVLong(dst, k.Timestamp())
	if k.Deleted() {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// parseKey reads a key from the front of b. The key is a view of b; n is the number of bytes used.
func parseKey(b []byte) (k tablet.Key, n int, err error) {
	var ends [4]int64
	last := int64(0)
	for i := range ends {
		v, used, err := wire.HVLong(b[n:])
		if err != nil {
			return k, 0, fmt.Errorf("key's field end %d: %w", i, err)
		}
		if v < last || v > int64(len(b)) {
			return k, 0, fmt.Errorf("key's field end %d is %d, after %d, with %d bytes left", i, v, last, len(b)-n)
		}
		ends[i], last, n = v, v, n+used
	}
	size := int(ends[3])
	if size > len(b)-n {
		return k, 0, fmt.Errorf("key of %d bytes with %d bytes left", size, len(b)-n)
	}
	data := b[n : n+size : n+size]
	n += size
	ts, used, err := wire.HVLong(b[n:])
	if err != nil {
		return k, 0, fmt.Errorf("key's timestamp: %w", err)
	}
	if n += used; n >= len(b) {
		return k, 0, fmt.Errorf("key's delete flag: %w", wire.ErrShort)
	}
	e := tablet.Ends{Row: uint32(ends[0]), Family: uint32(ends[1]), Qualifier: uint32(ends[2])}
	return tablet.KeyView(data, e, ts, b[n] != 0), n + 1, nil
}

// fields reads the fixed-width integers and flags of the index block in turn; the first error sticks.
type fields struct {
	b   []byte
	at  int
	err error
}

func (f *fields) fail(what string, err error) {
	if f.err == nil {
		f.err = fmt.Errorf("%s at byte %d of the block: %w", what, f.at, err)
	}
}

func (f *fields) take(what string, n int) []byte {
	if f.err == nil && (n < 0 || n > len(f.b)-f.at) {
		f.fail(fmt.Sprintf("%s of %d bytes", what, n), wire.ErrShort)
	}
	if f.err != nil {
		return nil
	}
	f.at += n
	return f.b[f.at-n : f.at : f.at]
}

func (f *fields) int32(what string) int {
	if b := f.take(what, 4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (f *fields) int64(what string) int64 {
	if b := f.take(what, 8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (f *fields) bool(what string) bool {
	b := f.take(what, 1)
	return b != nil && b[0] != 0
}

func (f *fields) string(what string) string {
	if f.err != nil {
		return ""
	}
	s, n, err := wire.JUTF(f.b[f.at:])
	if err != nil {
		f.fail(what, err)
		return ""
	}
	f.at += n
	return s
}

func (f *fields) key(what string) tablet.Key {
	if f.err != nil {
		return tablet.Key{}
	}
	k, n, err := parseKey(f.b[f.at:])
	if err != nil {
		f.fail(what, err)
		return tablet.Key{}
	}
	f.at += n
	return k
}

// count reads how many items follow, each of which takes at least itemBytes.
func (f *fields) count(what string, itemBytes int) int {
	n := f.int32(what)
	if f.err == nil && (n < 0 || n > (len(f.b)-f.at)/itemBytes) {
		f.fail(fmt.Sprintf("%s is %d with %d bytes left", what, n, len(f.b)-f.at), wire.ErrMalformed)
	}
	if f.err != nil {
		return 0
	}
	return n
}
