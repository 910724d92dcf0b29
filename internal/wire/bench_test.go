package wire

import "testing"

var sink int64

// BenchmarkDecode reads 1,000 values a round; the figure to look at is ns per value.
func BenchmarkDecode(b *testing.B) {
	run := func(name string, appendOne func([]byte, int64) []byte, decode decodeLong, v int64) {
		b.Run(name, func(b *testing.B) {
			var in []byte
			for range 1000 {
				in = appendOne(in, v)
			}
			b.ReportAllocs()
			for b.Loop() {
				for at := 0; at < len(in); {
					got, n, _ := decode(in[at:])
					sink += got
					at += n
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/value")
		})
	}
	run("HVLong/1B", AppendHVLong, HVLong, 100)
	run("HVLong/7B", AppendHVLong, HVLong, 1705792621702)
	run("TVLong/1B", AppendTVLong, TVLong, 100)
	run("TVLong/3B", AppendTVLong, TVLong, 25365)
}
