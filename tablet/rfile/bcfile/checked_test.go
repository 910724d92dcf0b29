package bcfile

import (
	"strings"
	"testing"

	"millrace/internal/invariant"
)

// badCompressor gets one kind of input wrong.
type badCompressor struct {
	Compressor
	wrong func(raw, stored []byte) []byte
}

func (c badCompressor) Compress(dst, raw []byte) ([]byte, error) {
	out, err := c.Compressor.Compress(dst, raw)
	if len(raw) == 5 && err == nil {
		out = append(out[:len(dst)], c.wrong(raw, out[len(dst):])...)
	}
	return out, err
}

// TestCheckedCompressor gives it codecs that lose, change or damage a block: that block is an error, all others go through.
func TestCheckedCompressor(t *testing.T) {
	for _, name := range Codecs() {
		for what, wrong := range map[string]func(raw, stored []byte) []byte{
			"lost": func(_, _ []byte) []byte { return nil },
			"changed": func(raw, _ []byte) []byte {
				other, err := compressor(t, name, 0).Compress(nil, []byte("hallo"))
				if err != nil {
					t.Fatal(err)
				}
				return other
			},
			"cut": func(_, stored []byte) []byte { return stored[:len(stored)-1] },
		} {
			back, err := NewDecompressor(name)
			if err != nil {
				t.Fatal(err)
			}
			c := &checkedCompressor{Compressor: badCompressor{compressor(t, name, 0), wrong}, name: name, back: back}
			for _, raw := range []string{"", "hello hello", "hello", "world!"} {
				out, err := c.Compress([]byte("before"), []byte(raw))
				if wrong := len(raw) == 5; wrong != (err != nil) || wrong && !strings.Contains(err.Error(), name) || !strings.HasPrefix(string(out), "before") {
					t.Errorf("%s, a block is %s, %q: %v", name, what, raw, err)
				}
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		c := compressor(t, name, 0)
		if _, checked := c.(*checkedCompressor); checked != (invariant.Enabled && name != None) {
			t.Errorf("%s: checked: %v", name, checked)
		}
	}
}
