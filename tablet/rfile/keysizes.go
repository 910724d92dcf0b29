package rfile

import "math"

const (
	// keySizesWindow is how many recent keys decide what counts as a long key.
	keySizesWindow = 2017
	// keySizesDrift is how many keys may pass before mean and variance are computed anew rather than carried on.
	keySizesDrift = 100
)

// keySizes keeps mean and deviation of the sizes of the last keys appended.
//
// Exact sums would be simpler, but a key whose size is the mean may be cut at or not, so that a difference in the last
// bit moves a block's end. The arithmetic is therefore Accumulo's own, operation by operation: computed anew from the
// window when asked after 100 keys or more, else carried on key by key. Nothing of it is done before somebody asks.
//
// Source: Accumulo RollingStats, and the two-pass mean and variance of the library below it.
type keySizes struct {
	ring     [keySizesWindow]uint32
	at       int // where the next size goes
	full     bool
	since    int                   // sizes added since mean and variance were computed anew
	carried  int                   // of these, how many mean and variance take in
	evicted  [keySizesDrift]uint32 // what the sizes added since took the place of, once full
	average  float64
	variance float64
}

func (s *keySizes) add(size int) {
	if s.since < keySizesDrift {
		s.evicted[s.since] = s.ring[s.at]
	}
	s.ring[s.at] = uint32(size)
	s.at++
	s.since++
	if s.at == keySizesWindow {
		if !s.full {
			s.compute(keySizesWindow)
			s.full = true
		}
		s.at = 0
	}
}

// settle brings mean and variance up to date.
func (s *keySizes) settle() {
	switch {
	case !s.full:
		if s.since > 0 {
			s.compute(s.at)
		}
	case s.since >= keySizesDrift:
		s.compute(keySizesWindow)
	default:
		for ; s.carried < s.since; s.carried++ {
			added := s.ring[(s.at-s.since+s.carried+keySizesWindow)%keySizesWindow]
			s.carry(float64(added), float64(s.evicted[s.carried]))
		}
		if s.variance < 0 {
			s.compute(keySizesWindow)
		}
	}
}

// carry moves mean and variance on by one size. The conversions keep compilers from fusing operations.
func (s *keySizes) carry(added, evicted float64) {
	delta := added - evicted
	before := s.average
	s.average += delta / keySizesWindow
	s.variance += float64(delta*(added-s.average+evicted-before)) / (keySizesWindow - 1)
}

// compute takes mean and variance of the first n sizes of the ring.
func (s *keySizes) compute(n int) {
	s.since, s.carried = 0, 0
	sum := 0.0
	for _, v := range s.ring[:n] {
		sum += float64(v)
	}
	length := float64(n)
	rough := sum / length
	rest := 0.0
	for _, v := range s.ring[:n] {
		rest += float64(v) - rough
	}
	s.average = rough + rest/length
	s.variance = 0
	if n < 2 {
		return
	}
	squares, off := 0.0, 0.0
	for _, v := range s.ring[:n] {
		d := float64(v) - s.average
		squares += float64(d * d)
		off += d
	}
	s.variance = (squares - float64(off*off)/length) / (length - 1)
}

func (s *keySizes) mean() float64 {
	s.settle()
	return s.average
}

// deviation is the sample standard deviation, 0 for fewer than two keys.
func (s *keySizes) deviation() float64 {
	s.settle()
	return math.Sqrt(s.variance)
}

// giant says whether a key is too long to go into the index while others are so much shorter.
func (s *keySizes) giant(size int) bool {
	mean := s.mean()
	return float64(size) > mean+max(9*mean, 4*s.deviation())
}
