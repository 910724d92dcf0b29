package record

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// skipAll reads a file with all its gaps.
func skipAll(t *testing.T, fsys vfs.FS, name string, number uint64) (payloads []string, gaps [][2]int64, end error) {
	t.Helper()
	f, err := fsys.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := NewReader(f, Header{Kind: Log, Version: 1, Number: number}, Outside{})
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, offset, err := r.Next()
		switch {
		case err == nil:
			payloads = append(payloads, string(p))
			continue
		case !errors.Is(err, tablet.ErrCorrupt):
			return payloads, gaps, err
		}
		n, _, err := r.Skip()
		if err != nil {
			return payloads, gaps, err
		}
		gaps = append(gaps, [2]int64{offset, n})
	}
}

// TestSkip damages records of a sealed file, one or several: all others are given, and every gap begins and ends where the
// damage does.
func TestSkip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 300 {
		mem := vfs.Mem()
		f, err := mem.Create("f")
		if err != nil {
			t.Fatal(err)
		}
		w := NewWriter(f, Header{Kind: Log, Version: 1, Number: 9})
		type place struct {
			offset, bytes int64
			payload       string
		}
		var all []place
		for i := range 20 {
			p := fmt.Sprintf("record %d %s", i, make([]byte, r.IntN(400)*[2]int{1, 1000}[r.IntN(100)/99]))
			offset, err := w.Append([]byte(p))
			if err == nil && r.IntN(3) == 0 {
				err = w.Sync()
			}
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, place{offset, frameBytes + int64(len(p)), p})
		}
		if err := errors.Join(w.Seal(), f.Close()); err != nil {
			t.Fatal(err)
		}
		bad := map[int]bool{}
		for range 1 + r.IntN(4) {
			bad[r.IntN(len(all))] = true
		}
		if round%10 == 0 {
			bad[len(all)-1] = true
		}
		var want []string
		var gaps [][2]int64
		for i, p := range all {
			if !bad[i] {
				want = append(want, p.payload)
				continue
			}
			if err := mem.Edit("f", func(b []byte) []byte { b[p.offset+r.Int64N(p.bytes)] ^= 1 << r.IntN(8); return b }); err != nil {
				t.Fatal(err)
			}
			if n := len(gaps); n > 0 && gaps[n-1][0]+gaps[n-1][1] == p.offset {
				gaps[n-1][1] += p.bytes
			} else {
				gaps = append(gaps, [2]int64{p.offset, p.bytes})
			}
		}
		got, found, end := skipAll(t, mem, "f", 9)
		if fmt.Sprint(got) != fmt.Sprint(want) || fmt.Sprint(found) != fmt.Sprint(gaps) || end != io.EOF {
			t.Fatalf("round %d: %d records of %d, gaps %v, want %v, end %v", round, len(got), len(want), found, gaps, end)
		}
	}
}

// TestSkipHeader begins behind a header that does not verify.
func TestSkipHeader(t *testing.T) {
	mem := vfs.Mem()
	f, _ := mem.Create("f")
	w := NewWriter(f, Header{Kind: Log, Version: 1, Number: 9})
	w.Append([]byte("one"))
	w.Append([]byte("two"))
	if err := errors.Join(w.Seal(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if err := mem.Edit("f", func(b []byte) []byte { b[2]++; return b }); err != nil {
		t.Fatal(err)
	}
	got, gaps, end := skipAll(t, mem, "f", 9)
	if fmt.Sprint(got) != "[one two]" || fmt.Sprint(gaps) != fmt.Sprint([][2]int64{{0, headerBytes}}) || end != io.EOF {
		t.Errorf("%q %v %v", got, gaps, end)
	}
	// Behind the end of a sealed file nothing is found, and the end is told once.
	if err := mem.Edit("f", func(b []byte) []byte { b[2]--; return append(b, "more"...) }); err != nil {
		t.Fatal(err)
	}
	got, gaps, end = skipAll(t, mem, "f", 9)
	if fmt.Sprint(got) != "[one two]" || len(gaps) != 1 || gaps[0][1] != 4 || end != io.EOF {
		t.Errorf("%q %v %v", got, gaps, end)
	}
}
