package bcfile

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

func TestJoinCRC(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, 300_000)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	f := func(first, second int) {
		t.Helper()
		whole, tail := b[:first+second], b[first:first+second]
		want := crc32.Checksum(whole, castagnoli)
		if got := joinCRC(crc32.Checksum(b[:first], castagnoli), crc32.Checksum(tail, castagnoli), second); got != want {
			t.Errorf("of %d and %d bytes: %08x, want %08x", first, second, got, want)
		}
	}
	f(0, 0)
	f(0, 1)
	f(1, 0)
	f(16, 102_400)
	f(1, len(b)-1)
	for range 300 {
		n := rng.IntN(1 << rng.IntN(19))
		f(rng.IntN(len(b)-n), n)
	}
}
