package vfs

import (
	"fmt"
	"testing"
)

// BenchmarkImage takes images of 50 small files in three directories, of which the last few were not synced.
func BenchmarkImage(b *testing.B) {
	m := Mem()
	for _, dir := range []string{"data", "wal", "manifest"} {
		must0(m.MkdirAll(dir))
	}
	must0(m.SyncDir("."))
	for i := range 50 {
		dir := []string{"data", "wal", "manifest"}[i%3]
		f, err := m.Create(fmt.Sprintf("%s/%010d", dir, i))
		must0(err)
		_, err = f.Write([]byte(pattern('a', 3000)))
		must0(err)
		if i < 46 {
			must0(f.Sync())
			must0(m.SyncDir(dir))
		}
		must0(f.Close())
	}
	for _, mode := range ImageModes() {
		b.Run(mode.String(), func(b *testing.B) {
			b.ReportAllocs()
			for seed := range uint64(b.N) {
				m.Image(ImageOptions{Mode: mode, Seed: seed})
			}
		})
	}
}

// BenchmarkMemWrite appends 4 KiB at a time to files of 1 MiB.
func BenchmarkMemWrite(b *testing.B) {
	p := make([]byte, 4096)
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	for range b.N {
		f, err := Mem().Create("f")
		must0(err)
		for range 256 {
			_, err := f.Write(p)
			must0(err)
		}
		must0(f.Close())
	}
}

// BenchmarkDirOpen opens and closes a file of the machine, two directories deep.
func BenchmarkDirOpen(b *testing.B) {
	fsys := must(Dir(b.TempDir()))
	defer Close(fsys)
	must0(fsys.MkdirAll("a/b"))
	f, err := fsys.Create("a/b/f")
	must0(err)
	must0(f.Close())
	b.ReportAllocs()
	for range b.N {
		f, err := fsys.Open("a/b/f")
		must0(err)
		must0(f.Close())
	}
}
