package record

import (
	"fmt"
	"io"
	"testing"

	"millrace/internal/vfs"
)

// sinkFile is a file that takes everything at no cost.
type sinkFile struct {
	vfs.File
	n int64
}

func (f *sinkFile) Write(p []byte) (int, error) { f.n += int64(len(p)); return len(p), nil }
func (f *sinkFile) Sync() error                 { return nil }
func (f *sinkFile) Name() string                { return "sink" }

// BenchmarkAppend appends records and hands them over in groups of about 256 KiB.
func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 300, 4096} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			payload := make([]byte, size)
			w := NewWriter(&sinkFile{}, testHeader)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.Append(payload); err != nil {
					b.Fatal(err)
				}
				if w.Buffered() > 256<<10 {
					w.Write()
				}
			}
		})
	}
}

// BenchmarkRead reads a file of records of 300 bytes.
func BenchmarkRead(b *testing.B) {
	group := make([]string, 10000)
	for i := range group {
		group[i] = string(make([]byte, 300))
	}
	file := build(b, testHeader, false, group)
	f := memFile(b, file.bytes)
	b.SetBytes(int64(len(file.bytes)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := NewReader(f, testHeader, Outside{})
		for err == nil {
			_, _, err = r.Next()
		}
		if err != io.EOF {
			b.Fatal(err)
		}
	}
}

// BenchmarkProof looks for records behind a tail of random bytes.
func BenchmarkProof(b *testing.B) {
	file := build(b, testHeader, false, []string{"a"})
	tail := make([]byte, 16<<20)
	x := uint64(1)
	for i := range tail {
		x = x*6364136223846793005 + 1442695040888963407
		tail[i] = byte(x >> 56)
	}
	f := memFile(b, append(file.bytes, tail...))
	b.SetBytes(int64(len(tail)))
	for b.Loop() {
		r, err := NewReader(f, testHeader, Outside{})
		for err == nil {
			_, _, err = r.Next()
		}
		if err != io.EOF || !r.End().Torn {
			b.Fatal(err)
		}
	}
}
