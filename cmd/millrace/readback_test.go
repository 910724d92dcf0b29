package main

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"millrace/internal/vfs"
)

// flipping changes a bit of what is written to some file, once so many bytes of it have been, and says nothing.
type flipping struct {
	vfs.FS
	after   int64
	flipped *atomic.Int32
}

func (f flipping) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	return &flippingFile{File: file, fs: f}, err
}

func (f flipping) Link(from string, to vfs.FS, name string) error {
	return f.FS.Link(from, to.(flipping).FS, name)
}

func (f flipping) Close() error { return vfs.Close(f.FS) }

type flippingFile struct {
	vfs.File
	fs      flipping
	written int64
}

func (f *flippingFile) Write(b []byte) (int, error) {
	if at := f.fs.after - f.written; at >= 0 && at < int64(len(b)) {
		b = slices.Clone(b)
		b[at] ^= 4
		f.fs.flipped.Add(1)
	}
	f.written += int64(len(b))
	return f.File.Write(b)
}

// TestVerifyBeforeNaming has the system write another bit than it was given, anywhere in an output: with --verify the command
// ends with the code for damage and leaves nothing, without it nobody notices.
func TestVerifyBeforeNaming(t *testing.T) {
	s := newShell(t, "v8_edge.rf", "v8_bloom.rf")
	s.ok("rfile", "convert", "--bloom", "RowFunctor,keys=100", "--codec", "zstd", "--block-size", "200", "in.rf", "v8_edge.rf")
	writeFile(t, "in.ndjson", []byte(s.ok("rfile", "cat", "--format", "ndjson", "in.rf")))
	before := s.names()
	for _, command := range []string{"convert out.rf in.rf", "compact --codec lz4 out.rf in.rf v8_edge.rf", "create -i in.ndjson out.rf", "split --at m --bloom none out.rf in.rf"} {
		args := append([]string{"rfile"}, strings.Fields(command)...)
		s.ok(append(args, "--verify")...)
		if out := s.ok("rfile", "verify", "--deep", "out.rf"); strings.Contains(out, "DAMAGED") {
			t.Fatal(out)
		}
		size := int64(len(readFile(t, map[bool]string{true: "out.rf/0001.rf", false: "out.rf"}[args[1] == "split"])))
		remove := func() {
			if err := os.RemoveAll("out.rf"); err != nil {
				t.Fatal(err)
			}
		}
		remove()
		step := size / 15
		if testing.Short() {
			step = size / 4
		}
		for after := int64(3); after < size; after += step {
			var flipped atomic.Int32
			s.files = wrappedFiles{fs: func(fs vfs.FS) vfs.FS { return flipping{fs, after, &flipped} }}
			s.fails(3, "out.rf", append(args, "--verify")...)
			if got := s.names(); flipped.Load() == 0 || !slices.Equal(got, before) {
				t.Fatalf("%s, byte %d of %d: %d bits flipped, the directory holds %q", command, after, size, flipped.Load(), got)
			}
			s.ok(args...)
			s.files = nil
			s.fails(3, "corrupt", "rfile", "verify", "--deep", "out.rf")
			remove()
		}
	}
}
