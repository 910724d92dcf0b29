package storage

import (
	"bytes"
	"io"
	"testing"

	"millrace/internal/record"
	"millrace/internal/vfs"
	"millrace/tablet/manifest"
)

// reframe is a sealed manifest file with other payloads and right sums.
func reframe(t testing.TB, fsys vfs.FS, name string, change func([]byte) []byte) []byte {
	t.Helper()
	number, ok := manifest.ParseName(name)
	if !ok {
		t.Fatal(name)
	}
	h := record.Header{Kind: record.Manifest, Version: 1, Number: number}
	from, err := fsys.Open(name)
	check(t, err)
	defer from.Close()
	r, err := record.NewReader(from, h, record.Outside{})
	check(t, err)
	mem := vfs.Mem()
	to, err := mem.Create("x")
	check(t, err)
	w := record.NewWriter(to, h)
	for {
		payload, _, err := r.Next()
		if err == io.EOF {
			break
		}
		check(t, err)
		_, err = w.Append(change(bytes.Clone(payload)))
		check(t, err)
	}
	check(t, w.Seal())
	check(t, to.Close())
	return contents(t, mem, "x")
}
