package rfile

import (
	"encoding/binary"
	"math/bits"
)

// hashType says which function a Bloom filter was made with, as files store it.
type hashType byte

const (
	hashJenkins hashType = 0
	hashMurmur  hashType = 1
)

func (t hashType) sum(key []byte, seed uint32) uint32 {
	if t == hashMurmur {
		return murmur2(key, seed)
	}
	return jenkins(key, seed)
}

// murmur2 is MurmurHash2, 32 bit, as Hadoop has it: the one to three bytes at the end are taken in the other order, the
// last one lowest, and as signed, so that a byte from 0x80 on changes the higher ones, too.
//
// Source: org.apache.hadoop.util.hash.MurmurHash.
func murmur2(b []byte, seed uint32) uint32 {
	const m, r = 0x5bd1e995, 24
	h := seed ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k ^= k >> r
		h = h*m ^ k*m
	}
	if n := len(b); n > 0 {
		for i, c := range b {
			h ^= uint32(int32(int8(c))) << (8 * (n - 1 - i))
		}
		h *= m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}

// jenkins is hashlittle of Bob Jenkins' lookup3.
func jenkins(b []byte, seed uint32) uint32 {
	x := 0xdeadbeef + uint32(len(b)) + seed
	y, z := x, x
	for ; len(b) > 12; b = b[12:] {
		x += binary.LittleEndian.Uint32(b)
		y += binary.LittleEndian.Uint32(b[4:])
		z += binary.LittleEndian.Uint32(b[8:])
		x, y, z = jenkinsMix(x, y, z)
	}
	if len(b) == 0 {
		return z
	}
	var rest [12]byte
	copy(rest[:], b)
	x += binary.LittleEndian.Uint32(rest[:])
	y += binary.LittleEndian.Uint32(rest[4:])
	z += binary.LittleEndian.Uint32(rest[8:])
	return jenkinsFinal(x, y, z)
}

func jenkinsMix(a, b, c uint32) (uint32, uint32, uint32) {
	a = a - c ^ bits.RotateLeft32(c, 4)
	c += b
	b = b - a ^ bits.RotateLeft32(a, 6)
	a += c
	c = c - b ^ bits.RotateLeft32(b, 8)
	b += a
	a = a - c ^ bits.RotateLeft32(c, 16)
	c += b
	b = b - a ^ bits.RotateLeft32(a, 19)
	a += c
	c = c - b ^ bits.RotateLeft32(b, 4)
	b += a
	return a, b, c
}

func jenkinsFinal(a, b, c uint32) uint32 {
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	return (c ^ b) - bits.RotateLeft32(b, 24)
}
