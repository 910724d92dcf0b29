package parallel

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

// TestSpread verifies on many goroutines. Whatever finds it, the damage that comes first is the one that is told.
func TestSpread(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(6))
	o := options("none")
	o.NoSums = true
	file := write(t, o, 3000)
	r, err := open(t, file)
	if err != nil {
		t.Fatal(err)
	}
	var at []int64
	err = r.Walk(context.Background(), r.Groups()[0], rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
		at = append(at, l.Region.Offset)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	seen := int64(0)
	reports, err := r.Verify(context.Background(), rfile.VerifyOptions{Spread: Spread, Progress: func(n int64) {
		if n < seen {
			t.Errorf("%d entries seen after %d", n, seen)
		}
		seen = n
	}})
	if err != nil || len(reports) != 2 || reports[0].Entries != 3000 || seen != 6000 {
		t.Fatalf("%+v, %d seen, %v", reports, seen, err)
	}
	r.Close()
	for first := 0; first < len(at); first += 7 {
		for _, i := range []int{first, first + 1, first + 40, len(at) - 1} {
			if i < len(at) {
				file[at[i]] = 0xff // flags that do not exist
			}
		}
		if r, err = open(t, file); err != nil {
			t.Fatal(err)
		}
		_, err = r.Verify(context.Background(), rfile.VerifyOptions{Spread: Spread})
		var corrupt *tablet.CorruptError
		if !errors.As(err, &corrupt) || corrupt.Offset != at[first] {
			t.Fatalf("first damage at %d: %v", at[first], err)
		}
		r.Close()
		for _, offset := range at {
			file[offset] = 0
		}
	}
}

// TestSpreadCancelled ends a check by its context.
func TestSpreadCancelled(t *testing.T) {
	r, err := open(t, write(t, options("snappy"), 3000))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	told := 0
	_, err = r.Verify(ctx, rfile.VerifyOptions{Spread: Spread, Progress: func(int64) {
		if told++; told == 2 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
