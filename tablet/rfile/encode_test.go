package rfile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"millrace/internal/wire"
	"millrace/tablet"
)

// appendRelative appends an entry against the key before it, as a writer does.
func appendRelative(dst []byte, prev, k *tablet.Key, same, shared int, value []byte) []byte {
	var before, now heldKey
	before.view(prev)
	now.view(k)
	return before.appendNext(dst, &now, same, shared, value)
}

// TestWords holds what works by words against what works by bytes, for fields of all small lengths at all places.
func TestWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v := int64(rng.Uint64()) >> rng.IntN(64)
		want := wire.AppendHVLong(nil, v)
		buf := make([]byte, wire.MaxHVLongBytes+wordSlack)
		if n := putHVLong(buf, 0, v); !bytes.Equal(buf[:n], want) {
			t.Fatalf("%d is written as %x, want %x", v, buf[:n], want)
		}
		a, b := make([]byte, rng.IntN(40)), make([]byte, rng.IntN(40))
		for i := range a {
			a[i] = byte(rng.IntN(20) / 19)
		}
		copy(b, a)
		if len(b) > 0 {
			b[rng.IntN(len(b))] ^= byte(rng.IntN(2))
		}
		shared := tablet.CommonPrefix(a, b)
		if got := commonFrom(a, b, rng.IntN(shared+1)); got != shared {
			t.Fatalf("%x and %x share %d bytes, want %d", a, b, got, shared)
		}
		moved := bytes.Repeat([]byte{0xee}, len(a)+wordSlack)
		if putShort(moved, a); !bytes.Equal(moved[:len(a)], a) {
			t.Fatalf("%x is moved as %x", a, moved[:len(a)])
		}
	}
}
