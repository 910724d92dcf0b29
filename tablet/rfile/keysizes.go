package rfile

import (
	"math"
	"math/bits"
)

// keySizesWindow is how many recent keys decide what counts as a long key.
const keySizesWindow = 2017

// keySizes keeps mean and deviation of the sizes of the last keys appended. The sums are whole numbers, so that they
// stay exact however many keys pass; the squares need more than 64 bits.
//
// Source: the rolling statistics that Accumulo's RFile writer keeps of key sizes.
type keySizes struct {
	ring     [keySizesWindow]uint32
	at, n    int
	sum      uint64
	sqHi, sq uint64 // sum of squares, 128 bits
}

func (s *keySizes) add(size int) {
	if s.n == keySizesWindow {
		old := uint64(s.ring[s.at])
		s.sum -= old
		hi, lo := bits.Mul64(old, old)
		var borrow uint64
		s.sq, borrow = bits.Sub64(s.sq, lo, 0)
		s.sqHi, _ = bits.Sub64(s.sqHi, hi, borrow)
	} else {
		s.n++
	}
	s.ring[s.at] = uint32(size)
	if s.at++; s.at == keySizesWindow {
		s.at = 0
	}
	v := uint64(size)
	s.sum += v
	hi, lo := bits.Mul64(v, v)
	var carry uint64
	s.sq, carry = bits.Add64(s.sq, lo, 0)
	s.sqHi, _ = bits.Add64(s.sqHi, hi, carry)
}

func (s *keySizes) mean() float64 { return float64(s.sum) / float64(s.n) }

// deviation is the sample standard deviation, 0 for fewer than two keys.
func (s *keySizes) deviation() float64 {
	if s.n < 2 {
		return 0
	}
	n := float64(s.n)
	squares := float64(s.sqHi)*(1<<64) + float64(s.sq)
	variance := (squares - float64(s.sum)*float64(s.sum)/n) / (n - 1)
	return math.Sqrt(max(variance, 0))
}

// giant says whether a key is too long to go into the index while others are so much shorter.
func (s *keySizes) giant(size int) bool {
	mean := s.mean()
	return float64(size) > mean+max(9*mean, 4*s.deviation())
}

func (s *keySizes) reset() { s.at, s.n, s.sum, s.sqHi, s.sq = 0, 0, 0, 0, 0 }
