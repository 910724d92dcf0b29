package iter

import (
	"encoding/binary"
	"fmt"
	"math"

	"millrace/tablet"
)

// A row in one value, as WholeRowIterator makes it:
//
//	int32 count
//	count times: int32 length, family; int32 length, qualifier; int32 length, visibility; int64 timestamp; int32 length, value
//
// Everything is big-endian. The row itself is that of the key; delete markers cannot be said.
//
// Source: Accumulo WholeRowIterator.

// EncodeRow appends the entries of one row, none of them a delete marker.
func EncodeRow(dst []byte, row []tablet.Entry) ([]byte, error) {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(row)))
	var err error
	for i := range row {
		if dst, err = appendRowEntry(dst, &row[i]); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

func appendRowEntry(dst []byte, e *tablet.Entry) ([]byte, error) {
	if e.Key.Deleted() {
		return dst, fmt.Errorf("delete marker %v in a row to encode: %w", e.Key, tablet.ErrUnsupported)
	}
	if len(e.Value) > math.MaxInt32 || e.Key.Size() > math.MaxInt32 {
		return dst, fmt.Errorf("entry %v too large to encode: %w", e.Key, tablet.ErrUnsupported)
	}
	dst = appendField(dst, e.Key.Family())
	dst = appendField(dst, e.Key.Qualifier())
	dst = appendField(dst, e.Key.Visibility())
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Key.Timestamp()))
	return appendField(dst, e.Value), nil
}

func appendField(dst, field []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(field)))
	return append(dst, field...)
}

// DecodeRow returns the entries of an encoded row, which own their keys; the values are views of the encoded one. Wrong
// bytes are an error that wraps tablet.ErrCorrupt and says at which byte.
func DecodeRow(e tablet.Entry) ([]tablet.Entry, error) {
	d := rowDecoder{rest: e.Value, whole: len(e.Value)}
	count := d.int32()
	var out []tablet.Entry
	for i := 0; i < count && !d.failed; i++ {
		f := tablet.Fields{Row: e.Key.Row(), Family: d.field(), Qualifier: d.field(), Visibility: d.field(), Timestamp: d.int64()}
		value := d.field()
		if !d.failed {
			out = append(out, tablet.Entry{Key: tablet.NewKey(f), Value: value})
		}
	}
	if d.failed || count < 0 || len(d.rest) > 0 {
		return nil, fmt.Errorf("encoded row %v, byte %d of %d: %w", e.Key, d.whole-len(d.rest), d.whole, tablet.ErrCorrupt)
	}
	return out, nil
}

type rowDecoder struct {
	rest   []byte
	whole  int
	failed bool // everything that follows is empty
}

func (d *rowDecoder) take(n int) []byte {
	if d.failed || n < 0 || n > len(d.rest) {
		d.failed = true
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *rowDecoder) int32() int {
	if b := d.take(4); b != nil {
		return int(int32(binary.BigEndian.Uint32(b)))
	}
	return 0
}

func (d *rowDecoder) int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *rowDecoder) field() []byte { return d.take(d.int32()) }

// putCount sets the count of an encoded row.
func putCount(row []byte, n int) { binary.BigEndian.PutUint32(row, uint32(n)) }
