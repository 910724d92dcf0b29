package tablet

import (
	"bytes"
	"math"
	"strconv"
)

// Key names one version of a cell. Its four byte fields lie back to back in one slice, so that a key costs one pointer
// and two keys compare with one scan. A Key is a view: it does not own its bytes unless it was made by NewKey or Clone.
//
// The zero Key has empty fields and timestamp 0.
type Key struct {
	data    []byte // row ‖ family ‖ qualifier ‖ visibility
	ts      int64
	ends    Ends
	deleted bool
}

// Ends are the positions in a key's bytes where row, family and qualifier end; the visibility ends with the bytes.
type Ends struct{ Row, Family, Qualifier uint32 }

// MaxTimestamp is the timestamp of a key made for seeking: no key of the same cell sorts before it but a delete
// marker of the same timestamp.
const MaxTimestamp = math.MaxInt64

// Fields are the parts of a key, for construction by name.
type Fields struct {
	Row, Family, Qualifier, Visibility []byte
	Timestamp                          int64
	Deleted                            bool
}

// NewKey copies the fields into a key that owns its bytes.
func NewKey(f Fields) Key {
	data := make([]byte, 0, len(f.Row)+len(f.Family)+len(f.Qualifier)+len(f.Visibility))
	data = append(data, f.Row...)
	data = append(data, f.Family...)
	data = append(data, f.Qualifier...)
	data = append(data, f.Visibility...)
	row := uint32(len(f.Row))
	family := row + uint32(len(f.Family))
	return Key{data: data, ts: f.Timestamp, deleted: f.Deleted,
		ends: Ends{row, family, family + uint32(len(f.Qualifier))}}
}

// KeyView returns a key over bytes that the caller keeps. It wants ends.Row <= ends.Family <= ends.Qualifier <= len(data).
func KeyView(data []byte, ends Ends, timestamp int64, deleted bool) Key {
	return Key{data: data, ts: timestamp, ends: ends, deleted: deleted}
}

// RowKey is the key that sorts before every stored key of the row. It borrows the row's bytes.
func RowKey(row []byte) Key {
	n := uint32(len(row))
	return Key{data: row, ts: MaxTimestamp, ends: Ends{n, n, n}}
}

// Row is a view of the key's row, as are Family, Qualifier and Visibility of theirs.
func (k Key) Row() []byte        { return k.data[:k.ends.Row:k.ends.Row] }
func (k Key) Family() []byte     { return k.data[k.ends.Row:k.ends.Family:k.ends.Family] }
func (k Key) Qualifier() []byte  { return k.data[k.ends.Family:k.ends.Qualifier:k.ends.Qualifier] }
func (k Key) Visibility() []byte { return k.data[k.ends.Qualifier:] }

// Timestamp is in whatever unit the table uses, milliseconds as a rule.
func (k Key) Timestamp() int64 { return k.ts }

// Deleted says whether this is a delete marker.
func (k Key) Deleted() bool { return k.deleted }

// Data is the four fields back to back.
func (k Key) Data() []byte { return k.data }

// Ends are the field ends in Data.
func (k Key) Ends() Ends { return k.ends }

// Size is the length of the four fields in bytes; timestamp and marker do not count.
func (k Key) Size() int { return len(k.data) }

// Clone returns a key that owns its bytes.
func (k Key) Clone() Key {
	k.data = bytes.Clone(k.data)
	return k
}

// Assign makes k a copy of src in k's own bytes, which grow as needed. k must own its bytes.
func (k *Key) Assign(src *Key) {
	k.data = append(k.data[:0], src.data...)
	k.ts, k.ends, k.deleted = src.ts, src.ends, src.deleted
}

// WithTimestamp returns the same key with another timestamp. The bytes are shared.
func (k Key) WithTimestamp(ts int64) Key {
	k.ts = ts
	return k
}

// String prints the key for messages: fields quoted, so that control bytes cannot reach a terminal.
func (k Key) String() string {
	b := make([]byte, 0, len(k.data)+32)
	b = appendQuoted(b, k.Row())
	b = append(b, ' ')
	b = appendQuoted(b, k.Family())
	b = append(b, ':')
	b = appendQuoted(b, k.Qualifier())
	b = append(b, " ["...)
	b = appendQuoted(b, k.Visibility())
	b = append(b, "] "...)
	b = strconv.AppendInt(b, k.ts, 10)
	if k.deleted {
		b = append(b, " delete"...)
	}
	return string(b)
}

// longestQuoted bounds how much of one field a message shows.
const longestQuoted = 64

func appendQuoted(dst, field []byte) []byte {
	if len(field) <= longestQuoted {
		return strconv.AppendQuoteToASCII(dst, string(field))
	}
	dst = strconv.AppendQuoteToASCII(dst, string(field[:longestQuoted]))
	dst = append(dst, "…("...)
	dst = strconv.AppendInt(dst, int64(len(field)), 10)
	return append(dst, " bytes)"...)
}

// Entry is a key with its value, alike for puts and delete markers. Like Key it is a view.
type Entry struct {
	Key   Key
	Value []byte
}

// Clone returns an entry that owns its bytes.
func (e Entry) Clone() Entry { return Entry{Key: e.Key.Clone(), Value: bytes.Clone(e.Value)} }
