package vfs

import (
	"bytes"
	"testing"
)

// TestStartSync: it takes nothing from a file and adds nothing, whatever it is asked for.
func TestStartSync(t *testing.T) {
	fs, err := Dir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := fs.Create("a")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := f.(SyncStarter); !ok {
		t.Error("a file of the machine has no StartSync")
	}
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for at := 0; at < len(want); at += 1 << 18 {
		if _, err := f.Write(want[at : at+1<<18]); err != nil {
			t.Fatal(err)
		}
		StartSync(f, int64(at), 1<<18)
		StartSync(f, int64(at)+1<<17, 1<<30) // beyond the end
		StartSync(f, -1, -1)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	StartSync(f, 0, 1) // closed
	r, err := fs.Open("a")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := make([]byte, len(want))
	if n, err := r.ReadAt(got, 0); n != len(want) || err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if size, err := r.Size(); size != int64(len(want)) || err != nil {
		t.Errorf("size %d, %v", size, err)
	}
}
