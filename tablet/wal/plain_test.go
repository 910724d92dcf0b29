package wal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/bits"
	"slices"
)

// This file reads a log once more, by the description of its layout and as plainly as can be, so that what Replay gives
// can be held against it. It does not tell damage from a torn tail: where a frame does not verify, the segment ends.

var errPlain = errors.New("malformed")

// cutter takes things off the front of bytes; what is not there panics with errPlain.
type cutter struct{ b []byte }

func (c *cutter) take(n uint64) []byte {
	if n > uint64(len(c.b)) {
		panic(errPlain)
	}
	front := c.b[:n]
	c.b = c.b[n:]
	return front
}

func (c *cutter) byte() byte { return c.take(1)[0] }

// uvarint has seven bits a byte, the lowest first; no byte at the end is zero.
func (c *cutter) uvarint() (v uint64) {
	for shift := 0; ; shift += 7 {
		b := c.byte()
		if shift == 63 && b > 1 || b == 0 && shift > 0 {
			panic(errPlain)
		}
		v |= uint64(b&127) << shift
		if b < 128 {
			return v
		}
	}
}

// length is Hadoop's integer in its shortest form, from 0 up to what is left.
func (c *cutter) length() uint64 {
	first := int8(c.byte())
	switch {
	case first >= 0:
		if uint64(first) > uint64(len(c.b)) {
			panic(errPlain)
		}
		return uint64(first)
	case first >= -112 || first < -120:
		panic(errPlain) // negative
	}
	v := uint64(0)
	for _, b := range c.take(uint64(-112 - int(first))) {
		v = v<<8 | uint64(b)
	}
	if v <= 127 || -112-int(first) != (bits.Len64(v)+7)/8 || v > uint64(len(c.b)) {
		panic(errPlain)
	}
	return v
}

// timestamp is Hadoop's integer, any.
func (c *cutter) timestamp() {
	first := int8(c.byte())
	if first >= -112 {
		return
	}
	n := -112 - int(first)
	if first < -120 {
		n = -120 - int(first)
	}
	v := uint64(0)
	for _, b := range c.take(uint64(n)) {
		v = v<<8 | uint64(b)
	}
	short := int64(v) >= 0 && v <= 127
	if first < -120 {
		short = v < 112
	}
	if short || n != (bits.Len64(v)+7)/8 {
		panic(errPlain)
	}
}

func (c *cutter) flag() bool {
	b := c.byte()
	if b > 1 {
		panic(errPlain)
	}
	return b == 1
}

func (c *cutter) done() {
	if len(c.b) > 0 {
		panic(errPlain)
	}
}

func (c *cutter) mutation() {
	c.take(c.length())
	updates := c.length()
	packed := cutter{c.take(c.length())}
	for range updates {
		packed.take(packed.length())
		packed.take(packed.length())
		packed.take(packed.length())
		if packed.flag() {
			packed.timestamp()
		}
		deleted := packed.flag()
		if value := packed.length(); deleted && value > 0 {
			panic(errPlain)
		} else {
			packed.take(value)
		}
	}
	packed.done()
}

func plainSeed(number uint64, offset int) uint32 {
	return uint32(number)*0x9e3779b1 ^ bits.RotateLeft32(uint32(number>>32)*0x85ebca6b, 13) ^
		uint32(offset) ^ bits.RotateLeft32(uint32(uint64(offset)>>32)*0xc2b2ae35, 7)
}

func plainSum(b []byte, number uint64, offset int) uint32 {
	return crc32.Update(plainSeed(number, offset), crc32.MakeTable(crc32.Castagnoli), b)
}

// plainHeader says whether a segment begins as it must.
func plainHeader(b []byte, number uint64) bool {
	le := binary.LittleEndian
	return len(b) >= headerBytes && string(b[:8]) == "mrecwal " && le.Uint32(b[8:]) == 1 && le.Uint64(b[12:]) == number &&
		le.Uint32(b[20:]) == crc32.Checksum(b[:20], crc32.MakeTable(crc32.Castagnoli))
}

// plainRecords are the records of a segment up to the first that does not verify.
func plainRecords(b []byte, number uint64) (all [][]byte) {
	le := binary.LittleEndian
	if !plainHeader(b, number) {
		return nil
	}
	for at := headerBytes; at+frameBytes <= len(b); {
		sum, length, synced := le.Uint32(b[at:]), int(le.Uint32(b[at+4:])), le.Uint64(b[at+8:])
		if length == 0 || length > len(b)-at-frameBytes || synced > uint64(at) {
			return all
		}
		if plainSum(b[at+4:at+frameBytes+length], number, at) != sum {
			return all
		}
		all = append(all, b[at+frameBytes:at+frameBytes+length])
		at += frameBytes + length
	}
	return all
}

// plainLog is what the first records of all segments say.
type plainLog struct {
	void map[uint64]bool
	end  map[uint64]uint64
	sync map[uint64]uint64
}

func (l *plainLog) begin(record []byte) {
	c := cutter{record}
	if c.byte() != 1 {
		panic(errPlain)
	}
	number := uint64(0)
	for range c.uvarint() {
		number += c.uvarint()
		synced, end := c.uvarint(), c.uvarint()
		l.sync[number] = max(l.sync[number], synced)
		if end != 0 && (l.end[number] == 0 || end < l.end[number]) {
			l.end[number] = end
		}
		for range c.uvarint() {
			c.uvarint()
			c.uvarint()
		}
	}
	at := uint64(0)
	for range c.uvarint() {
		at += c.uvarint()
		more := c.uvarint()
		for i := uint64(0); i <= min(more, 1000); i++ {
			l.void[at+i] = true
		}
		at += more
	}
	c.done()
}

// plainReplay gives the records of the entries that a replay gives; an error if a record is not what it must be.
func plainReplay(d disk, filed map[uint64]uint64) (given [][]byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = p.(error)
		}
	}()
	l := plainLog{map[uint64]bool{}, map[uint64]uint64{}, map[uint64]uint64{}}
	for _, n := range slices.Backward(d.numbers()) {
		if records := plainRecords(d[n], n); len(records) > 0 {
			l.begin(records[0])
		}
	}
	highest := uint64(0)
	for _, n := range d.numbers() {
		b := d[n]
		if end := max(l.end[n], l.sync[n]); l.end[n] != 0 && end < uint64(len(b)) {
			b = b[:end]
		}
		last := uint64(0)
		for i, record := range plainRecords(b, n) {
			if i == 0 {
				continue
			}
			c := cutter{record}
			if c.byte() != 2 {
				panic(errPlain)
			}
			lsn, tab, session := c.uvarint(), c.uvarint(), c.uvarint()
			c.uvarint()
			c.uvarint()
			if lsn <= last || lsn >= 1<<63 {
				panic(errPlain)
			}
			last = lsn
			if l.void[lsn] {
				continue
			}
			done, ok := filed[tab]
			if lsn <= highest || !ok || session <= done {
				highest = max(highest, lsn)
				continue
			}
			highest = lsn
			for range c.uvarint() {
				c.mutation()
			}
			c.done()
			given = append(given, record)
		}
	}
	return given, nil
}
