package parallel

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// write makes a file of n entries in two groups, with an index of several levels.
func write(t testing.TB, o rfile.WriterOptions, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := rfile.NewWriter(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(4, 2))
	add := func(family string) {
		for i := range n {
			k := tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "row%06d", i), Family: []byte(family), Timestamp: rng.Int64()})
			if err := w.Append(&k, fmt.Appendf(nil, "%x", rng.Uint64())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.StartGroup("g", [][]byte{[]byte("g")}); err != nil {
		t.Fatal(err)
	}
	add("g")
	if err := w.StartDefaultGroup(); err != nil {
		t.Fatal(err)
	}
	add("f")
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func options(codec string) rfile.WriterOptions {
	return rfile.WriterOptions{Codec: codec, BlockBytes: 600, IndexBlockBytes: 300, FileID: [16]byte{1}}
}

func open(t testing.TB, content []byte) (*rfile.Reader, error) {
	t.Helper()
	mem := vfs.Mem()
	f, err := mem.Create("a.rf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if f, err = mem.Open("a.rf"); err != nil {
		t.Fatal(err)
	}
	return rfile.Open(f, rfile.ReaderOptions{MaxBlockBytes: 1 << 20})
}

// read lists what a cursor gives from a seek on: the entries, at most so many, and the error that ended it.
func read(c *rfile.Cursor, r tablet.Range, most int) (string, error) {
	ctx := context.Background()
	if err := c.Seek(ctx, r, tablet.Families{}); err != nil {
		return "", err
	}
	var out bytes.Buffer
	for n := 0; n < most; {
		b, err := c.Next(ctx)
		if b == nil || err != nil {
			return out.String(), err
		}
		for i := range b.Refs {
			fmt.Fprintf(&out, "%v %s\n", b.Key(i), b.Value(i))
		}
		n += b.Len()
	}
	return out.String(), nil
}
