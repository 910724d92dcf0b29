package tablet

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes one from the clock")

func random(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func rounds(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

var someTimestamps = []int64{math.MaxInt64, math.MaxInt64 - 1, 1 << 40, 1<<40 + 1, 1 << 39, 1 << 34, 1 << 30, 1 << 24, 256, 1, 0, -1, -1 << 41, math.MinInt64 + 1, math.MinInt64}

// randomField has bytes of a small alphabet, so that fields are often equal, or prefixes of each other.
func randomField(r *rand.Rand, alphabet string, longest int) []byte {
	f := make([]byte, r.IntN(longest+1))
	for i := range f {
		f[i] = alphabet[r.IntN(len(alphabet))]
	}
	return f
}

func randomKeys(r *rand.Rand, n int) []Key {
	alphabet := []string{"\x00\x01", "\x00\xff", "a", "ab", "\x00a\xff"}[r.IntN(5)]
	longest := 1 + r.IntN(14)
	keys := make([]Key, n)
	for i := range keys {
		f := Fields{
			Row: randomField(r, alphabet, longest), Family: randomField(r, alphabet, longest),
			Qualifier: randomField(r, alphabet, longest), Visibility: randomField(r, alphabet, longest),
			Timestamp: someTimestamps[r.IntN(len(someTimestamps))], Deleted: r.IntN(3) == 0,
		}
		if i > 0 {
			like := keys[r.IntN(i)]
			shared := []*[]byte{&f.Row, &f.Family, &f.Qualifier, &f.Visibility}
			for n, field := range [][]byte{like.Row(), like.Family(), like.Qualifier(), like.Visibility()} {
				if r.IntN(3) > 0 {
					*shared[n] = field
				}
			}
		}
		keys[i] = NewKey(f)
	}
	return keys
}

func key(row, family, qualifier, visibility string, ts int64, deleted bool) Key {
	return NewKey(Fields{Row: []byte(row), Family: []byte(family), Qualifier: []byte(qualifier), Visibility: []byte(visibility), Timestamp: ts, Deleted: deleted})
}
