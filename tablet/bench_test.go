package tablet

import (
	"fmt"
	"testing"
)

var sink uint64

// BenchmarkKeys compares, and codes, keys of continuous ingest that differ early, late, or only in the timestamp.
func BenchmarkKeys(b *testing.B) {
	k := func(row, qualifier string, ts int64) Key { return key(row, "00f0", qualifier, "", ts, false) }
	pairs := []struct {
		name string
		a, b Key
	}{
		{"row", k("0123456789abcdef", "0001", 1), k("1123456789abcdef", "0001", 1)},
		{"qualifier", k("0123456789abcdef", "0001", 1), k("0123456789abcdef", "0002", 1)},
		{"timestamp", k("0123456789abcdef", "0001", 2), k("0123456789abcdef", "0001", 1)},
	}
	for _, p := range pairs {
		b.Run(fmt.Sprintf("compare/%s", p.name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink += uint64(Compare(&p.a, &p.b))
			}
		})
		b.Run(fmt.Sprintf("code/%s", p.name), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink += CodeOf(&p.a, &p.b)
			}
		})
	}
}

func BenchmarkMutation(b *testing.B) {
	row, family, qualifier, value := []byte("0123456789abcdef"), []byte("00f0"), []byte("0001"), make([]byte, 50)
	b.ReportAllocs()
	for b.Loop() {
		m := NewMutation(row)
		m.Put(family, qualifier, nil, value)
		sink += uint64(m.NumBytes())
	}
}
