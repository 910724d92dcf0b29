package rfile

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestKeySizes holds mean and deviation, to the last bit, against a model that does Accumulo's arithmetic at its time.
func TestKeySizes(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var s keySizes
		var want eagerSizes
		spread, asked, first := 1+rng.IntN(200), 1+rng.IntN(3000), 0
		if seed%2 == 0 { // asked for the first time around the first window's end
			asked, first = 1, keySizesWindow+keySizesDrift-15+int(seed/2)
		}
		for i := range 15_000 {
			size := rng.IntN(spread)
			if rng.IntN(500) == 0 {
				size *= 1000
			}
			s.add(size)
			want.add(size)
			if i < first || rng.IntN(asked) > 0 {
				continue
			}
			if rng.IntN(10) == 0 {
				asked = 1 + rng.IntN(3000)
			}
			mean := want.mean()
			for _, size := range []int{rng.IntN(spread + 1), int(mean), int(mean) + 1} {
				if got := s.atMost(size); got != (float64(size) <= mean) {
					t.Fatalf("seed %d: after %d keys, %d is at most %v: %v", seed, i+1, size, mean, got)
				}
			}
			if rng.IntN(3) == 0 { // what follows works on a mean known in part
				continue
			}
			if got, want := s.mean(), mean; got != want {
				t.Fatalf("seed %d: mean of %d keys is %v, want %v", seed, i+1, got, want)
			}
			if rng.IntN(2) == 0 {
				if got, want := s.deviation(), want.deviation(); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
					t.Fatalf("seed %d: deviation of %d keys is %v, want %v", seed, i+1, got, want)
				}
			}
			if size := rng.IntN(3000); s.giant(size) != want.giant(size) {
				t.Fatalf("seed %d: after %d keys, giant(%d) is %v", seed, i+1, size, s.giant(size))
			}
		}
	}
}

// eagerSizes is keySizes that computes what it may need later as soon as it can.
type eagerSizes struct {
	ring     [keySizesWindow]uint32
	at       int // where the next size goes
	full     bool
	since    int                   // sizes added since mean and variance were computed anew
	carried  int                   // of these, how many mean and variance take in
	evicted  [keySizesDrift]uint32 // what the sizes added since took the place of, once full
	average  float64
	variance float64
}

func (s *eagerSizes) add(size int) {
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
func (s *eagerSizes) settle() {
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
func (s *eagerSizes) carry(added, evicted float64) {
	delta := added - evicted
	before := s.average
	s.average += delta / keySizesWindow
	s.variance += float64(delta*(added-s.average+evicted-before)) / (keySizesWindow - 1)
}

// compute takes mean and variance of the first n sizes of the ring.
func (s *eagerSizes) compute(n int) {
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

func (s *eagerSizes) mean() float64 {
	s.settle()
	return s.average
}

// deviation is the sample standard deviation, 0 for fewer than two keys.
func (s *eagerSizes) deviation() float64 {
	s.settle()
	return math.Sqrt(s.variance)
}

// giant says whether a key is too long to go into the index while others are so much shorter.
func (s *eagerSizes) giant(size int) bool {
	mean := s.mean()
	return float64(size) > mean+max(9*mean, 4*s.deviation())
}
