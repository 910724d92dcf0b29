package bcfile

import (
	"fmt"
	"testing"
)

// BenchmarkCompress and BenchmarkDecompress work on one block of key-value text of the default size, 100 KiB; MB/s are
// raw bytes. stored% is the stored size in percent of the raw one.
func BenchmarkCompress(b *testing.B) {
	in := text(1, 100<<10)
	for _, name := range Codecs() {
		b.Run(name, func(b *testing.B) {
			c := compressor(b, name, 0)
			out, err := c.Compress(nil, in)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				out, _ = c.Compress(out[:0], in)
			}
			b.ReportMetric(100*float64(len(out))/float64(len(in)), "stored%")
		})
	}
}

func BenchmarkDecompress(b *testing.B) {
	in := text(1, 100<<10)
	for _, name := range Codecs() {
		b.Run(name, func(b *testing.B) {
			stored, err := compressor(b, name, 0).Compress(nil, in)
			if err != nil {
				b.Fatal(err)
			}
			d := decompressor(b, name)
			out, _ := d.Decompress(nil, stored, len(in))
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if out, err = d.Decompress(out[:0], stored, len(in)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead reads all blocks of a file in order, sums included.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{64, 4 << 10, 100 << 10} {
		for _, name := range []string{None, Snappy} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				var blocks [][]byte
				for n := 0; n < 2<<20; n += size {
					blocks = append(blocks, text(uint64(n), size))
				}
				f := build(b, WriterOptions{Codec: name}, blocks...)
				r := mustOpen(b, f.data, ReaderOptions{})
				br := r.NewBlockReader()
				b.SetBytes(2 << 20)
				b.ReportAllocs()
				for b.Loop() {
					for _, reg := range f.regions {
						if _, err := br.Read(reg); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	f := build(b, WriterOptions{}, text(1, 1000), text(2, 1000))
	src := mem(f.data)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(src, ReaderOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	var sums sumsBuilder
	const blocks = 30_000
	for i := range int64(blocks) {
		if err := sums.add(Sum{firstBlock + 1000*i, 1000, 0}); err != nil {
			b.Fatal(err)
		}
	}
	s, err := ParseSums("b", sums.encode(testID(1), 0))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var i int64
	for b.Loop() {
		i = (i*7919 + 1) % blocks
		if _, ok := s.Find(firstBlock+1000*i, 1000); !ok {
			b.Fatal("not found")
		}
	}
}
