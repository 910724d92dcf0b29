package rfile

import (
	"encoding/hex"
	"fmt"
	"testing"

	"millrace/tablet/rfile/bcfile"
)

// bzip2Bomb is what bzip2 makes of 64 MiB of zeros.
const bzip2Bomb = "425a68393141592653590e09e2df015f8e4000c0000008200030804d4642a025a90a8097314159265359bc04b5c300a275c000c000000820" +
	"0020a40836328a884d2a2a2138bb9229c2848500bb83e8"

// TestBombs puts blocks into files that decompress to far more than they store, with true sizes over the limit and false
// ones both ways. They are refused, or given up at the stated size. Target R25.
func TestBombs(t *testing.T) {
	y, _ := newTally(t, "R25")
	large := 64 << 20
	if testing.Short() {
		large = 16 << 20
	}
	for _, codec := range append(bcfile.Codecs(), bcfile.Bzip2) {
		for _, place := range []string{"data block", "index node", indexName, bloomName} {
			for _, size := range []struct{ raw, stated int }{
				{large, large}, {large, testBlockLimit}, {large, 100}, {3 << 20, testBlockLimit}, {1000, testBlockLimit - 1}, {large, 1<<31 - 1},
			} {
				stored := bombOf(t, codec, size.raw)
				m := takeApart(t, "own lz4", bombHost(t))
				m.sums = sumsRepaired
				p := m.block(t, place, 0)
				p.raw, p.change = int64(size.stated), func([]byte) []byte { return stored }
				if place == indexName || place == bloomName {
					setMetaCodec(t, m, place, codec)
				} else {
					m.find(t, "default codec", 0).b = []byte(codec)
					for _, other := range m.parts {
						if other.codec == "" && codec != bcfile.Bzip2 {
							other.codec = codec
						}
					}
				}
				what := fmt.Sprintf("%s in a %s, %d bytes for %d stated as %d", codec, place, len(stored), size.raw, size.stated)
				if !y.try(what, m.write(t), "") {
					t.Errorf("%s: not refused", what)
				}
			}
		}
	}
	y.print("")
}

var bombs = map[string][]byte{}

func bombOf(t *testing.T, codec string, raw int) []byte {
	name := fmt.Sprint(codec, raw)
	if bombs[name] == nil {
		bombs[name] = makeBomb(t, codec, raw)
	}
	return bombs[name]
}

func makeBomb(t *testing.T, codec string, raw int) []byte {
	if codec == bcfile.Bzip2 {
		b, err := hex.DecodeString(bzip2Bomb)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if codec == bcfile.None {
		raw = min(raw, 1<<20) // it stores what it gives
	}
	c, err := bcfile.NewCompressor(codec, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := c.Compress(nil, make([]byte, raw))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bombHost is a small file with an index node and a filter.
func bombHost(t *testing.T) []byte {
	all := someIngest()[:60]
	o := WriterOptions{Codec: "lz4", BlockBytes: 500, IndexBlockBytes: 200, Bloom: &BloomOptions{Keys: 10}, FileID: [16]byte{3}}
	file, _ := writeGroups(t, o, all, [][]string{nil})
	return file
}

// setMetaCodec names another codec for a named block.
func setMetaCodec(t *testing.T, m *model, name, codec string) {
	for i, f := range m.meta {
		if f.name == "meta name" && string(f.b) == "data:"+name {
			for _, c := range m.meta[i:] {
				if c.name == "meta codec" {
					c.b = []byte(codec)
					return
				}
			}
		}
	}
	t.Fatalf("no block %s", name)
}
