package record

import (
	"errors"
	"io"
	"testing"

	"millrace/internal/vfs"
)

// TestMarred tells a seal with a wrong byte from what a crash leaves of one, at every place within a sector.
func TestMarred(t *testing.T) {
	told := 0
	for size := 1; size < 1200; size++ {
		mem := vfs.Mem()
		f, err := mem.Create("f")
		if err != nil {
			t.Fatal(err)
		}
		w := NewWriter(f, Header{Kind: Log, Version: 1, Number: 9})
		if _, err := w.Append(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Seal(), f.Close()); err != nil {
			t.Fatal(err)
		}
		at := int(w.Size()) - frameBytes
		read := func(change func(seal []byte)) End {
			var whole []byte
			if err := mem.Edit("f", func(b []byte) []byte { whole = append(whole, b...); change(b[at:]); return b }); err != nil {
				t.Fatal(err)
			}
			f, err := mem.Open("f")
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			r, err := NewReader(f, Header{Kind: Log, Version: 1, Number: 9}, Outside{})
			if err != nil {
				t.Fatal(err)
			}
			for err == nil {
				_, _, err = r.Next()
			}
			if err != io.EOF {
				t.Fatal(err)
			}
			if err := mem.Edit("f", func([]byte) []byte { return whole }); err != nil {
				t.Fatal(err)
			}
			return r.End()
		}
		for i := range frameBytes {
			end := read(func(seal []byte) { seal[i] ^= 0x81 })
			if !end.Torn || end.Sealed {
				t.Fatalf("byte %d of the seal at %d: %+v", i, at, end)
			}
			cut := sectorBytes - at%sectorBytes
			if whole := cut >= frameBytes; whole && !end.Marred {
				t.Errorf("byte %d of the seal at %d: not told", i, at)
			}
			if end.Marred {
				told++
			}
			if cut < frameBytes && read(func(seal []byte) { clear(seal[cut:]) }).Marred || read(func(seal []byte) { clear(seal[:min(cut, frameBytes)]) }).Marred {
				t.Errorf("a part of the seal at %d, and zeros: told as damage", at)
			}
		}
	}
	if most := 1199 * frameBytes; told < most*97/100 {
		t.Errorf("told %d of %d", told, most)
	}
}
