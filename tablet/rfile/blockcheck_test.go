package rfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"millrace/tablet"
)

// forged is a block as a wrong writer might make it.
type forged struct {
	rows    string // one letter a row
	key     string // row of the index key
	entries int    // as the index says; 0 the truth
	more    int    // bytes behind the last entry
}

// forge writes a file of such blocks, and returns where each begins.
func forge(t *testing.T, blocks []forged) (file []byte, offsets []int64) {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{Codec: "none"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.StartDefaultGroup(); err != nil {
		t.Fatal(err)
	}
	g := w.groups[0]
	total := int64(0)
	for i, b := range blocks {
		var all []tablet.Entry
		for _, row := range b.rows {
			all = append(all, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: []byte(string(row)), Family: []byte("f")}), Value: []byte("v")})
		}
		if i == 0 {
			g.startGroup(&all[0].Key)
		}
		n := len(all)
		if b.entries != 0 {
			n = b.entries
		}
		r, err := w.bc.WriteBlock(append(blockOf(all), make([]byte, b.more)...))
		if err != nil {
			t.Fatal(err)
		}
		offsets = append(offsets, r.Offset)
		key := tablet.NewKey(tablet.Fields{Row: []byte(b.key), Family: []byte("f")})
		if err := g.index.add(&key, n, r, i == len(blocks)-1); err != nil {
			t.Fatal(err)
		}
		g.prev.view(&key)
		total += int64(len(all))
	}
	g.counts["f"] = &total
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), offsets
}

// TestBlockOrder has blocks that are sound each by itself, and wrong beside each other or the index.
func TestBlockOrder(t *testing.T) {
	f := func(wrong int, blocks ...forged) {
		t.Helper()
		file, offsets := forge(t, blocks)
		_, err := verifyAll(context.Background(), readBytes(t, file))
		var corrupt *tablet.CorruptError
		switch {
		case wrong < 0 && err != nil:
			t.Errorf("%v: %v", blocks, err)
		case wrong >= 0 && (!errors.As(err, &corrupt) || corrupt.Offset != offsets[wrong]):
			t.Errorf("%v: %v, want damage at %d", blocks, err, offsets[wrong])
		}
	}
	f(-1, forged{rows: "abc", key: "c"}, forged{rows: "def", key: "g"}, forged{rows: "gg", key: "g"})
	f(-1, forged{rows: "abc", key: "c"}, forged{rows: "ccc", key: "c"}, forged{rows: "c", key: "c"})
	f(0, forged{rows: "abc", key: "b"}, forged{rows: "def", key: "f"}) // the last key is behind the index key
	f(1, forged{rows: "abc", key: "c"}, forged{rows: "dez", key: "f"})
	f(1, forged{rows: "abc", key: "e"}, forged{rows: "def", key: "f"}) // the first one is before that of the block before
	f(2, forged{rows: "a", key: "a"}, forged{rows: "c", key: "d"}, forged{rows: "ce", key: "e"})
	f(1, forged{rows: "ad", key: "d"}, forged{rows: "be", key: "e"})                                                 // blocks overlap
	f(1, forged{rows: "a", key: "a"}, forged{rows: "cb", key: "d"}, forged{rows: "be", key: "e"})                    // two are wrong
	f(1, forged{rows: "a", key: "a"}, forged{rows: "b", key: "b", more: 1})                                          // bytes are left
	f(0, forged{rows: "ab", key: "b", entries: 1}, forged{rows: "c", key: "c"})                                      // entries are left
	f(1, forged{rows: "a", key: "a"}, forged{rows: "bc", key: "c", entries: 3}, forged{rows: "d", key: "d"})         // one is missing
	f(0, forged{rows: "a", key: "a", more: 2}, forged{rows: "bc", key: "b"}, forged{rows: "a", key: "d", more: 700}) // all are wrong
}

// TestBlockFeed wants the error of the block that comes first, in whatever order they are told.
func TestBlockFeed(t *testing.T) {
	f := &blockFeed{failed: math.MaxInt}
	tell := func(number int, err error, goOn bool, want int) {
		t.Helper()
		if got := f.report(&leafBlock{number: number}, err); got != goOn || f.failed != want {
			t.Errorf("block %d: go on %v, first error at %d; want %v, %d", number, got, f.failed, goOn, want)
		}
	}
	bad := func(n int) error { return fmt.Errorf("block %d", n) }
	tell(4, nil, true, math.MaxInt)
	tell(9, bad(9), false, 9)
	tell(7, nil, true, 9)
	tell(12, bad(12), false, 9)
	tell(5, bad(5), false, 5)
	tell(8, bad(8), false, 5)
	tell(3, nil, true, 5)
	if f.err == nil || f.err.Error() != "block 5" {
		t.Error(f.err)
	}
}
