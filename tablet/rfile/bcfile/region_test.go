package bcfile

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"testing"

	"millrace/internal/wire"
)

func TestRegionVectors(t *testing.T) {
	b, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Regions []struct {
			Offset, Csize, Rawsize int64
			Hex                    string
		} `json:"block_region"`
	}
	if err := json.Unmarshal(b, &v); err != nil || len(v.Regions) == 0 {
		t.Fatal(err)
	}
	for _, x := range v.Regions {
		want, in := Region{x.Offset, x.Csize, x.Rawsize}, unhex(t, x.Hex)
		if got, n, err := ParseRegion(append(in, 9)); err != nil || got != want || n != len(in) {
			t.Errorf("%s: %v, %d, %v", x.Hex, got, n, err)
		}
		if got := hex.EncodeToString(AppendRegion(nil, want)); got != x.Hex {
			t.Errorf("%v: %s, want %s", want, got, x.Hex)
		}
		for cut := range in {
			if _, _, err := ParseRegion(in[:cut]); !errors.Is(err, wire.ErrShort) {
				t.Errorf("%x: %v", in[:cut], err)
			}
		}
	}
}

func TestSumsFind(t *testing.T) {
	var b sumsBuilder
	at := int64(firstBlock)
	for i := range int64(100) {
		if err := b.add(Sum{at, i % 7, uint32(i)}); err != nil {
			t.Fatal(err)
		}
		at += i % 7
	}
	s, err := ParseSums("s", b.encode(testID(1), 7))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[int64]Sum{}
	for i := range s.Len() {
		listed[s.At(i).Offset] = s.At(i)
	}
	for offset := int64(0); offset < at+10; offset++ {
		for stored := range int64(9) {
			for _, hint := range []int{0, 1, s.Len() / 2, s.Len() - 1, s.Len(), s.Len() + 5} {
				sum, ok := listed[offset]
				ok = ok && sum.Stored == stored || stored == 0
				row, crc, found := s.find(offset, stored, hint)
				if found != ok || ok && stored > 0 && (crc != sum.CRC || s.At(row) != sum) {
					t.Fatalf("%d bytes at %d, hint %d: row %d, %d, %v; want %+v, %v", stored, offset, hint, row, crc, found, sum, ok)
				}
			}
		}
	}
}

// TestParseSumsRefuses encodes tables with sound checksums and unsound content.
func TestParseSumsRefuses(t *testing.T) {
	parse := func(sums ...Sum) error {
		var b sumsBuilder
		for _, s := range sums {
			b.entries = binary.BigEndian.AppendUint64(b.entries, uint64(s.Offset))
			b.entries = binary.BigEndian.AppendUint32(b.entries, uint32(s.Stored))
			b.entries = binary.BigEndian.AppendUint32(b.entries, s.CRC)
		}
		_, err := ParseSums("t.rf", b.encode(testID(1), 1))
		return err
	}
	bad := func(sums ...Sum) {
		t.Helper()
		corruptAt(t, parse(sums...), 0, 1)
	}
	if err := parse(Sum{16, 5, 0}, Sum{21, 1, 0}); err != nil {
		t.Error(err)
	}
	bad(Sum{15, 5, 0})
	bad(Sum{17, 5, 0})
	bad(Sum{16, 5, 0}, Sum{22, 5, 0})
	bad(Sum{16, 5, 0}, Sum{20, 5, 0})
	bad(Sum{16, 0, 0}, Sum{16, 5, 0})
	bad(Sum{21, 5, 0}, Sum{16, 5, 0})
	bad(Sum{-1 << 63, 5, 0})

	// A format of the future is told from damage by its own checksum.
	var b sumsBuilder
	table := b.encode(testID(1), 1)
	table[9] = 2
	_, err := ParseSums("t.rf", table)
	corruptAt(t, err, 0, 1)
	binary.BigEndian.PutUint32(table[len(table)-sumsOwnBytes:], crc32.Checksum(table[:len(table)-sumsOwnBytes], castagnoli))
	_, err = ParseSums("t.rf", table)
	unsupported(t, err)
	for cut := range table {
		_, err := ParseSums("t.rf", table[:cut])
		corruptAt(t, err, 0, 1)
	}
}
