package parallel

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

// TestCompressor writes files with every codec, compressed behind; they are those compressed there.
func TestCompressor(t *testing.T) {
	for _, codec := range bcfile.Codecs() {
		for _, entries := range []int{0, 1, 5, 3000} {
			o := options(codec)
			want := write(t, o, entries)
			var c Compressor
			o.Behind = &c
			got := write(t, o, entries)
			c.Close()
			c.Close()
			if !bytes.Equal(got, want) {
				t.Errorf("%s, %d entries: differs from byte %d on", codec, entries, tablet.CommonPrefix(got, want))
			}
		}
	}
}

// TestCompressorLeft closes a compressor whose writer stopped anywhere; nothing goes on running, which TestMain checks.
func TestCompressorLeft(t *testing.T) {
	for entries := range 120 {
		var c Compressor
		o := options("zstd")
		o.Behind = &c
		w, err := rfile.NewWriter(io.Discard, o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range entries {
			k := tablet.NewKey(tablet.Fields{Row: []byte{byte(i)}})
			if err := w.Append(&k, make([]byte, 400)); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
}

// TestCompressorRefuses wants an unknown codec or level to be told at once.
func TestCompressorRefuses(t *testing.T) {
	var c Compressor
	if err := c.Start("bzip2", 0); !errors.Is(err, tablet.ErrUnsupported) {
		t.Error(err)
	}
	if err := c.Start("gz", 77); !errors.Is(err, tablet.ErrUsage) {
		t.Error(err)
	}
	c.Close()
}
