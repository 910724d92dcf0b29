package rfile

import (
	"encoding/binary"
	"fmt"
	"math"

	"millrace/internal/wire"
	"millrace/tablet"
)

// BloomOptions says what filter a file gets: Accumulo's table.bloom settings. A zero field means its default.
type BloomOptions struct {
	// Keys is how many keys a row of the filter takes before the next begins: table.bloom.size. Default 1,048,576.
	Keys int
	// ErrorRate is how often a full row lets a key through that is not in the file, above 0 and below 1:
	// table.bloom.error.rate. Default 0.005.
	ErrorRate float64
	// Functor is table.bloom.key.functor, with or without its package: RowFunctor (the default), ColumnFamilyFunctor or
	// ColumnQualifierFunctor. Hash is table.bloom.hash.type; the default is murmur. A file whose functor or hash is
	// another gets no filter: one that lacks a key of the file would hide it.
	Functor, Hash string
}

func (o BloomOptions) withDefaults() BloomOptions {
	if o.Keys == 0 {
		o.Keys = 1 << 20
	}
	if o.ErrorRate == 0 {
		o.ErrorRate = 0.005
	}
	if o.Functor == "" {
		o.Functor = functors[1]
	}
	if o.Hash == "" {
		o.Hash = "murmur"
	}
	return o
}

func (o BloomOptions) validate() error {
	o = o.withDefaults()
	if !(o.ErrorRate > 0 && o.ErrorRate < 1) {
		return fmt.Errorf("Bloom filter's error rate is %v, not between 0 and 1: %w", o.ErrorRate, tablet.ErrUsage)
	}
	if bits := o.vectorBits(); o.Keys < 1 || bits < 1 || bits > math.MaxInt32 {
		return fmt.Errorf("Bloom filter for %d keys takes %.0f bits, at most %d are possible: %w", o.Keys, bits, math.MaxInt32, tablet.ErrUsage)
	}
	return nil
}

// vectorBits is −kn / ln(1 − p^(1/k)).
func (o BloomOptions) vectorBits() float64 {
	return math.Ceil(-bloomHashes * float64(o.Keys) / math.Log(1-math.Pow(o.ErrorRate, 1.0/bloomHashes)))
}

// Options are those of a new filter of the same kind: about the same fields, with rows of as many keys and bits. The hash
// is murmur, and there are 5 of it, whatever this filter has. A filter with numbers that no options give has options
// which WriterOptions.Validate refuses.
func (b *Bloom) Options() BloomOptions {
	// The inverse of vectorBits, half a bit below where it rounds up.
	bits := float64(b.header.vector) - 0.5
	rate := math.Pow(1-math.Exp(-bloomHashes*float64(b.keys)/bits), bloomHashes)
	o := BloomOptions{Keys: b.keys, ErrorRate: rate, Functor: b.functor.class()}
	if o.Keys == 0 {
		o.Keys = -1 // 0 would be the default
	}
	if o.ErrorRate == 0 {
		o.ErrorRate = -1
	}
	return o
}

// bloomWriter collects a filter while a file is written.
//
// Source: Hadoop's DynamicBloomFilter: a list of rows, of which the last takes keys until it is full.
type bloomWriter struct {
	functor functor
	header  bloomHeader
	keys    int // of a row
	records int // of the last row
	rows    [][]byte
	any     bool
	at      [bloomHashes]int
}

// newBloomWriter returns nil for a filter that cannot be made for certain.
func newBloomWriter(o BloomOptions) *bloomWriter {
	o = o.withDefaults()
	fn := functorOf(o.Functor)
	if fn == 0 || o.Hash != "murmur" {
		return nil
	}
	return newBloomWriterOf(fn, o.Keys, int(o.vectorBits()))
}

func newBloomWriterOf(fn functor, keys, vector int) *bloomWriter {
	w := &bloomWriter{functor: fn, keys: keys, header: bloomHeader{bloomVersion, bloomHashes, hashMurmur, vector}}
	w.addRow()
	return w
}

func (w *bloomWriter) addRow() {
	w.rows = append(w.rows, make([]byte, (w.header.vector+63)/64*8))
	w.records = 0
}

// add takes a key. The fields before same are those of the key before. A prefix that comes again is not looked at, except
// that it begins a new row after a full one, as in Accumulo.
func (w *bloomWriter) add(k *tablet.Key, same int) {
	if w.any && same >= int(w.functor) && w.records < w.keys {
		return
	}
	prefix := w.functor.of(k)
	if len(prefix) == 0 {
		return
	}
	w.any = true
	if w.records >= w.keys {
		w.addRow()
	}
	w.header.positions(prefix, w.at[:])
	bits, changed := w.rows[len(w.rows)-1], false
	for _, i := range w.at {
		at, bit := i/8^7, byte(1)<<(i%8)
		changed = changed || bits[at]&bit == 0
		bits[at] |= bit
	}
	if changed {
		w.records++
	}
}

func (w *bloomWriter) append(dst []byte) ([]byte, error) {
	dst, err := wire.AppendJUTF(dst, w.functor.class())
	if err != nil {
		return nil, err
	}
	dst = w.header.append(dst)
	for _, n := range []int{w.keys, w.records, len(w.rows)} {
		dst = binary.BigEndian.AppendUint32(dst, uint32(n))
	}
	for _, row := range w.rows {
		dst = append(w.header.append(dst), bitSetHead...)
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(row)/8))
		dst = append(append(dst, row...), bitSetTail...)
	}
	return dst, nil
}

func (h *bloomHeader) append(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.hashes))
	dst = append(dst, byte(h.hash))
	return binary.BigEndian.AppendUint32(dst, uint32(h.vector))
}
