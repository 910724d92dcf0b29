package record

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"millrace/tablet"
)

// FuzzReader: any bytes are records, a torn tail, damage, or not supported. What verifies is where its writer put it.
func FuzzReader(f *testing.F) {
	sealed := build(f, testHeader, true, groups...)
	f.Add(sealed.bytes, int64(0), int64(0))
	f.Add(sealed.bytes[:len(sealed.bytes)-3], int64(100), int64(0))
	open := build(f, testHeader, false, groups...)
	open.bytes[open.frames[2].start+20] ^= 1
	f.Add(open.bytes, int64(0), int64(0))
	f.Add(build(f, Header{Kind: Manifest, Version: 1, Number: 2}, false).bytes, int64(24), int64(24))
	f.Add([]byte("mrecwal "), int64(0), int64(3))
	f.Fuzz(func(t *testing.T, b []byte, synced, end int64) {
		if synced < 0 || end < 0 {
			return
		}
		r, err := NewReader(memFile(t, b), testHeader, Outside{Synced: synced, End: end})
		must(t, err)
		at := int64(headerBytes)
		for {
			p, off, err := r.Next()
			if err == io.EOF {
				if e := r.End(); e.Offset > int64(len(b)) || e.Offset < synced || e.Synced > e.Offset || e.Offset < at && e.Offset > 0 {
					t.Fatalf("end is %+v of %d bytes, %d of them synced", e, len(b), synced)
				}
				return
			}
			if err != nil {
				if !errors.Is(err, tablet.ErrCorrupt) && !errors.Is(err, tablet.ErrUnsupported) {
					t.Fatal(err)
				}
				return
			}
			again := appendFrame(nil, testHeader.Number, off, int64(le.Uint64(b[off+8:])), p)
			if off != at || len(p) == 0 || !bytes.Equal(again, b[off:off+int64(len(again))]) {
				t.Fatalf("record %q at %d", p, off)
			}
			at = off + int64(len(again))
		}
	})
}
