package bcfile

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"millrace/tablet"
)

type codecVector struct {
	Codec, Name, Raw, Encoded string
}

func loadCodecVectors(t *testing.T) (good, bad []codecVector) {
	t.Helper()
	b, err := os.ReadFile("../testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Codec    []codecVector `json:"codec"`
		CodecBad []codecVector `json:"codec_bad"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Codec) < 10 || len(v.CodecBad) < 3 {
		t.Fatal("vectors are missing")
	}
	return v.Codec, v.CodecBad
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decompressor(t testing.TB, name string) Decompressor {
	t.Helper()
	d, err := NewDecompressor(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

func compressor(t testing.TB, name string, level int) Compressor {
	t.Helper()
	c, err := NewCompressor(name, level)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCodecVectors(t *testing.T) {
	good, bad := loadCodecVectors(t)
	for _, v := range good {
		d := decompressor(t, v.Codec)
		stored, raw := unhex(t, v.Encoded), unhex(t, v.Raw)
		for range 2 { // the second time with used tables
			got, err := d.Decompress([]byte("x"), stored, len(raw))
			if err != nil || !bytes.Equal(got, append([]byte("x"), raw...)) {
				t.Errorf("%s, %s: %x, %v", v.Codec, v.Name, got, err)
			}
		}
		if _, err := d.Decompress(nil, stored, len(raw)+1); err == nil {
			t.Errorf("%s, %s: a raw size one too great went unnoticed", v.Codec, v.Name)
		}
		if len(raw) > 0 {
			if _, err := d.Decompress(nil, stored, len(raw)-1); !errors.Is(err, errTooLong) && v.Codec != Zstd {
				t.Errorf("%s, %s: a raw size one too small gives %v", v.Codec, v.Name, err)
			} else if err == nil {
				t.Errorf("%s, %s: a raw size one too small went unnoticed", v.Codec, v.Name)
			}
		}
		if _, err := d.Decompress(nil, append(stored[:len(stored):len(stored)], 0), len(raw)); err == nil {
			t.Errorf("%s, %s: a byte behind the stream went unnoticed", v.Codec, v.Name)
		}
		for cut := range stored {
			if got, err := d.Decompress(nil, stored[:cut], len(raw)); err == nil && !bytes.Equal(got, raw) {
				t.Errorf("%s, %s, cut to %d bytes: %x", v.Codec, v.Name, cut, got)
			}
		}
	}
	for _, v := range bad {
		d := decompressor(t, v.Codec)
		for rawBytes := range 64 {
			if got, err := d.Decompress(nil, unhex(t, v.Encoded), rawBytes); err == nil {
				t.Errorf("%s, %s: gives %x", v.Codec, v.Name, got)
			}
		}
	}
}

// TestCodecRoundTrip uses sizes on both sides of a chunk, and data of both kinds.
func TestCodecRoundTrip(t *testing.T) {
	sizes := []int{0, 1, 2, 100, 4096, snappyChunkBytes, snappyChunkBytes + 1, lz4ChunkBytes, lz4ChunkBytes + 1, 300 << 10, 3 << 20}
	for _, name := range Codecs() {
		t.Run(name, func(t *testing.T) {
			c, d := compressor(t, name, 0), decompressor(t, name)
			var stored, raw []byte
			for i, n := range sizes {
				for _, in := range [][]byte{text(uint64(i), n), noise(uint64(i), n), make([]byte, n)} {
					var err error
					if stored, err = c.Compress(append(stored[:0], "head"...), in); err != nil {
						t.Fatal(err)
					}
					if raw, err = d.Decompress(append(raw[:0], "top"...), stored[4:], n); err != nil {
						t.Fatal(n, err)
					}
					sameBytes(t, fmt.Sprint(n), raw[3:], in)
					if string(stored[:4]) != "head" || string(raw[:3]) != "top" {
						t.Fatal("what dst held before is gone")
					}
				}
			}
		})
	}
}

func TestCodecLevels(t *testing.T) {
	f := func(name string, level int, ok bool) {
		t.Helper()
		c, err := NewCompressor(name, level)
		if !ok {
			if !errors.Is(err, tablet.ErrUsage) {
				t.Errorf("%s level %d: %v, want ErrUsage", name, level, err)
			}
			return
		}
		if err != nil {
			t.Errorf("%s level %d: %v", name, level, err)
			return
		}
		in := text(7, 100_000)
		stored, err := c.Compress(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decompressor(t, name).Decompress(nil, stored, len(in))
		if err != nil || !bytes.Equal(got, in) {
			t.Errorf("%s level %d: %v", name, level, err)
		}
	}
	f(None, 0, true)
	f(None, 1, false)
	f(Gz, 1, true)
	f(Gz, 9, true)
	f(Gz, 10, false)
	f(Gz, -1, false)
	f(Snappy, 1, true)
	f(Snappy, 2, true)
	f(Snappy, 3, true)
	f(Snappy, 4, false)
	f(LZ4, 1, true)
	f(LZ4, 2, true)
	f(LZ4, 9, true)
	f(LZ4, 10, false)
	f(Zstd, 1, true)
	f(Zstd, 19, true)
	f(Zstd, 23, false)
}

func TestCodecNames(t *testing.T) {
	for _, name := range []string{"lzo", "", "GZ", "gzip"} {
		_, err := NewCompressor(name, 0)
		unsupported(t, err)
		_, err = NewDecompressor(name)
		unsupported(t, err)
	}
	_, err := NewCompressor(Bzip2, 0)
	unsupported(t, err)
	if got := fmt.Sprint(Codecs()); got != "[none gz snappy lz4 zstd]" {
		t.Error(got)
	}
}

func TestGzHeader(t *testing.T) {
	stored, err := compressor(t, Gz, 0).Compress(nil, []byte("hello"))
	if err != nil || !bytes.HasPrefix(stored, []byte{0x78, 0x9c}) {
		t.Errorf("%x, %v", stored, err)
	}
}

// TestFrames checks what Accumulo's reader depends on: its buffers have a fixed size.
func TestFrames(t *testing.T) {
	f := func(name string, buffer int) {
		t.Helper()
		for _, in := range [][]byte{noise(1, 1<<20), text(1, 1<<20)} {
			b, err := compressor(t, name, 0).Compress(nil, in)
			if err != nil {
				t.Fatal(err)
			}
			sum := 0
			for len(b) > 0 {
				total, n := int(binary.BigEndian.Uint32(b)), int(binary.BigEndian.Uint32(b[4:]))
				if total == 0 || total > buffer || n == 0 || n > buffer {
					t.Errorf("%s: frame of %d raw bytes, its one chunk stores %d", name, total, n)
				}
				sum += total
				b = b[8+n:]
			}
			if sum != len(in) {
				t.Errorf("%s: frames of %d bytes in all, want %d", name, sum, len(in))
			}
		}
	}
	f(Snappy, 65536)
	f(LZ4, 262144)
}

// TestBombs states a small raw size for a stream that gives much, and a great one for a stream that gives little. Either
// has to fail without the memory that it asks for.
func TestBombs(t *testing.T) {
	big, most := 64<<20, 3
	if raceEnabled {
		big, most = 16<<20, 5 // slices.Grow allocates more
	}
	zeros := make([]byte, big)
	for _, name := range []string{Gz, Snappy, LZ4, Zstd} {
		t.Run(name, func(t *testing.T) {
			stored, err := compressor(t, name, 0).Compress(nil, zeros)
			if err != nil {
				t.Fatal(err)
			}
			d := decompressor(t, name)
			f := func(what string, stored []byte, rawBytes int, limit uint64) {
				t.Helper()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := d.Decompress(nil, stored, rawBytes)
				runtime.ReadMemStats(&after)
				if err == nil {
					t.Errorf("%s: no error", what)
				}
				if used := after.TotalAlloc - before.TotalAlloc; used > limit {
					t.Errorf("%s: %d bytes allocated, limit %d", what, used, limit)
				}
			}
			f("small size stated", stored, 1000, 2<<20)
			f("one byte too few stated", stored, big-1, uint64(most*big))
			little, err := compressor(t, name, 0).Compress(nil, text(3, 1000))
			if err != nil {
				t.Fatal(err)
			}
			f("great size stated", little, maxRawBytes, 8<<20)
		})
	}
}

// TestCodecAllocs holds the steady state to no allocation.
func TestCodecAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	in := text(5, 100<<10)
	for _, name := range Codecs() {
		c, d := compressor(t, name, 0), decompressor(t, name)
		stored, err := c.Compress(nil, in)
		if err != nil {
			t.Fatal(err)
		}
		stored2, raw := make([]byte, 0, 2*len(in)), make([]byte, 0, 2*len(in))
		if n := testing.AllocsPerRun(20, func() { stored2, _ = c.Compress(stored2[:0], in) }); n > 0 {
			t.Errorf("%s: %v allocations to compress", name, n)
		}
		if n := testing.AllocsPerRun(20, func() { raw, err = d.Decompress(raw[:0], stored, len(in)) }); n > 0 || err != nil {
			t.Errorf("%s: %v allocations to decompress, %v", name, n, err)
		}
	}
}

func FuzzCodecs(f *testing.F) {
	for i, c := range codecs {
		if c.compressor == nil {
			continue
		}
		w, err := c.compressor(0)
		if err != nil {
			f.Fatal(err)
		}
		for _, in := range [][]byte{nil, []byte("hello hello hello hello"), text(1, 1000), make([]byte, 5000)} {
			stored, err := w.Compress(nil, in)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(byte(i), stored, uint32(len(in)))
		}
	}
	var ds []Decompressor
	for _, c := range codecs {
		ds = append(ds, c.decompressor())
	}
	f.Fuzz(func(t *testing.T, which byte, stored []byte, rawBytes uint32) {
		d := ds[int(which)%len(ds)]
		n := int(rawBytes % (4 << 20))
		got, err := d.Decompress([]byte("x"), stored, n)
		if err == nil && (len(got) != n+1 || got[0] != 'x') {
			t.Fatalf("%d bytes, stated were %d", len(got), n)
		}
		if cap(got) > 2*n+(1<<16) {
			t.Fatalf("room for %d bytes, stated were %d", cap(got), n)
		}
	})
}
