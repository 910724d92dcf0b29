package vfs

import (
	"bytes"
	"syscall"
	"testing"
)

// keeper is an FS whose files keep the buffer of a write, which they must not.
type keeper struct {
	FS
	kept []byte
}

func (k *keeper) Create(name string) (File, error) {
	f, err := k.FS.Create(name)
	return &keeperFile{f, k}, err
}

type keeperFile struct {
	File
	k *keeper
}

func (f *keeperFile) Write(p []byte) (int, error) {
	f.k.kept = p
	return f.File.Write(p)
}

func TestSpoilWrites(t *testing.T) {
	for _, caller := range []bool{false, true} {
		k := &keeper{FS: Faulty(Mem(), Rule{Op: OpWrite, N: 2, Err: syscall.ENOSPC})}
		fsys := Spoil(k, SpoilOptions{Caller: caller})
		f, err := fsys.Create("f")
		check(t, err)
		p := []byte("content")
		_, err = f.Write(p)
		check(t, err)
		if want := bytes.Repeat([]byte{Spoilt}, 7); !bytes.Equal(k.kept, want) || bytes.Equal(p, want) != caller {
			t.Errorf("caller %v: the FS below keeps %q, the caller has %q", caller, k.kept, p)
		}
		copy(p, "another")
		_, err = f.Write(p)
		wantErr(t, err, syscall.ENOSPC, "f")
		if string(p) != "another" {
			t.Errorf("a failed write spoilt what has to be written elsewhere: %q", p)
		}
		check(t, f.Close())
		if got := get(t, fsys, "f"); got != "content" {
			t.Errorf("it holds %q", got)
		}
	}
}

func TestSpoilReads(t *testing.T) {
	m := Mem()
	put(t, m, "f", "content")
	fsys := Spoil(Faulty(m, Rule{Op: OpRead, N: 2}), SpoilOptions{})
	f, err := fsys.Open("f")
	check(t, err)
	defer f.Close()
	buf := []byte("0123456789")
	n, _ := f.ReadAt(buf, 2)
	if string(buf[:n]) != "ntent" || !bytes.Equal(buf[n:], bytes.Repeat([]byte{Spoilt}, 5)) {
		t.Errorf("%d bytes: %q", n, buf)
	}
	if n, err := f.ReadAt(buf, 0); n != 0 || err == nil || !bytes.Equal(buf, bytes.Repeat([]byte{Spoilt}, 10)) {
		t.Errorf("a failed read left %q", buf)
	}
}
