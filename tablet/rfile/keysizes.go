package rfile

import (
	"math"

	"millrace/tablet"
)

const (
	// keySizesWindow is how many recent keys decide what counts as a long key.
	keySizesWindow = 2017
	// keySizesDrift is how many keys may pass before mean and variance are computed anew rather than carried on.
	keySizesDrift = 100
	// keySizesHeld is how many sizes are held: a window, and those that left it since it was computed last. It is a power
	// of two.
	keySizesHeld = 4096
)

// keySizes keeps mean and deviation of the sizes of the last keys appended.
//
// Exact sums would be simpler, but a key whose size is the mean may be cut at or not, so that a difference in the last
// bit moves a block's end. The arithmetic is therefore Accumulo's own, operation by operation: computed anew from the
// window when it is full for the first time, and when asked after 100 keys or more; else carried on key by key. Nothing
// of it is done before somebody asks, the variance not even then unless it matters.
//
// Source: Accumulo RollingStats, and the two-pass mean and variance of the library below it.
type keySizes struct {
	ring    [keySizesHeld]uint32 // by a key's number
	n       int                  // keys so far
	base    int                  // of which mean and variance were computed anew
	carried int                  // of which they are known
	average float64              // exact, or known to a relative roughness
	exact   bool
	// variance is that of carried keys, once varied; until then carried is base.
	variance float64
	varied   bool
}

func (s *keySizes) add(size int) {
	s.ring[s.n&(keySizesHeld-1)] = uint32(size)
	s.n++
}

// addAll adds the sizes of the keys of entries.
func (s *keySizes) addAll(refs []tablet.EntryRef) {
	n := s.n
	for i := range refs {
		s.ring[n&(keySizesHeld-1)] = refs[i].KeyBytes
		n++
	}
	s.n = n
}

func (s *keySizes) size(number int) float64 { return float64(s.ring[number&(keySizesHeld-1)]) }

// settle brings the mean up to date.
func (s *keySizes) settle() {
	if s.n < keySizesWindow {
		if s.n > s.base {
			s.compute(s.n)
		}
		return
	}
	if s.base < keySizesWindow && s.n-keySizesWindow < keySizesDrift {
		s.compute(keySizesWindow)
	}
	if s.n-s.base >= keySizesDrift {
		s.compute(s.n)
		return
	}
	if s.carried == s.n {
		return
	}
	s.vary()
	for ; s.carried < s.n; s.carried++ {
		s.carry(s.size(s.carried), s.size(s.carried-keySizesWindow))
	}
	if s.variance < 0 {
		s.compute(s.n)
	}
}

// carry moves mean and variance on by one size. The conversions keep compilers from fusing operations.
func (s *keySizes) carry(added, evicted float64) {
	delta := added - evicted
	before := s.average
	s.average += delta / keySizesWindow
	s.variance += float64(delta*(added-s.average+evicted-before)) / (keySizesWindow - 1)
}

// stretches are the numbers of the keys in the window after the first n keys, in the order in which Accumulo's window
// holds them: it goes round, so those behind its seam come first.
func stretches(n int) [2][2]int {
	if n < keySizesWindow {
		return [2][2]int{{0, n}}
	}
	seam := n - n%keySizesWindow
	return [2][2]int{{seam, n}, {n - keySizesWindow, seam}}
}

// keySizesRough bounds how far the mean of the first pass is from the exact one, as a share of it. The second pass adds
// 2,017 differences, none above 2,017 means, with an error of 2⁻⁵³ of the largest sum each: together at most 2⁻³¹ means
// once they are divided by their number. The rest is to spare.
const keySizesRough = 1.0 / (1 << 20)

// compute takes the mean of the window after the first n keys, in one pass: whoever compares it with something far from
// it needs no more.
func (s *keySizes) compute(n int) {
	s.base, s.carried, s.varied, s.exact = n, n, false, false
	sum := uint64(0)
	for _, w := range stretches(n) {
		for i := w[0]; i < w[1]; i++ {
			sum += uint64(s.ring[i&(keySizesHeld-1)])
		}
	}
	s.average = float64(sum) / float64(min(n, keySizesWindow))
}

// refine makes the mean exact: the second pass, which adds up what the first one rounded off.
func (s *keySizes) refine() {
	if s.exact || s.base == 0 {
		return
	}
	s.exact = true
	length, rough, rest := float64(min(s.base, keySizesWindow)), s.average, 0.0
	for _, w := range stretches(s.base) {
		for i := w[0]; i < w[1]; i++ {
			rest += s.size(i) - rough
		}
	}
	s.average = rough + rest/length
}

// vary takes the variance of the window that the mean was computed of.
func (s *keySizes) vary() {
	if s.varied {
		return
	}
	s.refine()
	s.varied, s.variance = true, 0
	length := float64(min(s.base, keySizesWindow))
	if length < 2 {
		return
	}
	squares, off := 0.0, 0.0
	for _, w := range stretches(s.base) {
		for i := w[0]; i < w[1]; i++ {
			d := s.size(i) - s.average
			squares += float64(d * d)
			off += d
		}
	}
	s.variance = (squares - float64(off*off)/length) / (length - 1)
}

func (s *keySizes) mean() float64 {
	s.settle()
	s.refine()
	return s.average
}

// atMost says whether a size is not above the mean.
func (s *keySizes) atMost(size int) bool {
	s.settle()
	if off := float64(size) - s.average; off > s.average*keySizesRough || off < -s.average*keySizesRough {
		return off < 0
	}
	s.refine()
	return float64(size) <= s.average
}

// deviation is the sample standard deviation, 0 for fewer than two keys.
func (s *keySizes) deviation() float64 {
	s.settle()
	s.vary()
	return math.Sqrt(s.variance)
}

// giant says whether a key is too long to go into the index while others are so much shorter.
func (s *keySizes) giant(size int) bool {
	if s.settle(); float64(size) < 9*s.average {
		return false // however exact the mean is
	}
	mean := s.mean()
	if float64(size) <= mean+9*mean {
		return false // whatever the deviation
	}
	return float64(size) > mean+max(9*mean, 4*s.deviation())
}
