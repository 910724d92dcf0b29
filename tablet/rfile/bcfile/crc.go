package bcfile

import (
	"hash/crc32"
	"math/bits"
)

// joinCRC is the CRC32C of two strings of bytes, one behind the other, from that of each and the second one's length. So the
// checksum of a file is had from those of its blocks, and each byte is looked at once.
//
// A checksum is the remainder of a polynomial; bytes behind the first string multiply its polynomial by a power of x.
//
// Source: zlib crc32_combine.
func joinCRC(first, second uint32, secondBytes int) uint32 {
	return multiplyCRC(powerCRC(secondBytes), first) ^ second
}

// onePolynomial is x⁰: the coefficient of the lowest power is the highest bit.
const onePolynomial = 1 << 31

// multiplyCRC multiplies two polynomials modulo that of CRC32C.
func multiplyCRC(a, b uint32) (product uint32) {
	for ; a != 0; a <<= 1 {
		product ^= b & -(a >> 31)
		b = b>>1 ^ crc32.Castagnoli&-(b&1)
	}
	return product
}

// bytePowers are x^(8·2ⁱ).
var bytePowers = func() (p [bits.UintSize - 1]uint32) {
	p[0] = onePolynomial >> 8
	for i := 1; i < len(p); i++ {
		p[i] = multiplyCRC(p[i-1], p[i-1])
	}
	return p
}()

// powerCRC is x^(8·n).
func powerCRC(n int) uint32 {
	p := uint32(onePolynomial)
	for ; n > 0; n &= n - 1 {
		p = multiplyCRC(bytePowers[bits.TrailingZeros(uint(n))], p)
	}
	return p
}
