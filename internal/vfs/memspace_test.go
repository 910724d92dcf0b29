package vfs

import (
	"syscall"
	"testing"
)

// TestCapacity fills a device, frees it by removing names and closing files, and fills it again.
func TestCapacity(t *testing.T) {
	m := Mem()
	m.SetCapacity(10)
	want := func(fsys *MemFS, free, used uint64) {
		t.Helper()
		got, err := fsys.Free(".")
		check(t, err)
		if got != free || fsys.Used() != used {
			t.Errorf("%d free, %d used, want %d and %d", got, fsys.Used(), free, used)
		}
	}
	put(t, m, "a", "123456")
	f, err := m.Create("b")
	check(t, err)
	n, err := f.Write([]byte("12345"))
	wantErr(t, err, syscall.ENOSPC, "write b")
	if n != 4 {
		t.Errorf("wrote %d bytes, want the 4 that fit", n)
	}
	want(m, 0, 10)
	n, err = f.Write([]byte("x"))
	wantErr(t, err, syscall.ENOSPC, "write b")
	if n != 0 {
		t.Errorf("wrote %d bytes to a full device", n)
	}
	want(m.Clone(), 0, 10)
	want(m.Durable(), 10, 0)

	check(t, m.Link("a", m, "c"))
	check(t, m.Remove("a"))
	want(m, 0, 10) // it has another name
	check(t, m.Remove("b"))
	want(m, 0, 10) // it is open
	check(t, f.Close())
	want(m, 4, 6)
	put(t, m, "d", "1")
	check(t, m.Rename("d", "c"))
	want(m, 9, 1)
	m.SetCapacity(0)
	want(m, noCapacity, 1)
	put(t, m, "e", "12345678901")
	m.SetCapacity(5)
	want(m, 0, 12)
}
