package sim

import (
	"fmt"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// smallOps is the alphabet of the exhaustive histories.
var smallOps = []string{"put", "delete", "two", "flush", "partial", "full", "split", "reopen"}

// smallOp makes one operation. Puts and deletes are of one cell, so that each history has something to hide and to bring
// back, and the mutation of two updates shares it.
func smallOp(name string, number int) Op {
	op := Op{Kind: OpKind(name), Number: number, Table: "t", Pick: uint64(number) << 16}
	row := []byte("r1")
	m := tablet.NewMutation(row)
	put := func(qualifier string) {
		m.Put([]byte("f"), []byte(qualifier), nil, Value(row, []byte("f"), []byte(qualifier), number))
	}
	switch name {
	case "put":
		put("q")
	case "delete":
		m.Delete([]byte("f"), []byte("q"), nil)
	case "two":
		put("q")
		put("s")
	case "split":
		op.Row = fmt.Appendf(nil, "r%d", number%3)
		return op
	default:
		return op
	}
	op.Kind, op.Mutations = Write, []*tablet.Mutation{m}
	return op
}

// smallTable fills a table with two files and something in memory.
func smallTable() (h History) {
	for i, row := range []string{"r0", "r1", "r2", "", "r1", "r3", "", "r1", "r2"} {
		op := Op{Kind: Flush, Number: i + 1, Table: "t"}
		if row != "" {
			m := tablet.NewMutation([]byte(row))
			m.Put([]byte("f"), []byte("q"), nil, Value([]byte(row), []byte("f"), []byte("q"), i+1))
			op.Kind, op.Mutations = Write, []*tablet.Mutation{m}
		}
		h = append(h, op)
	}
	return h
}

// smallHistory is the n-th, counted from 1, of all histories of one operation, then two, and so on, each on an empty and on
// a small table.
func smallHistory(n uint64) History {
	n--
	var h History
	if n%2 == 1 {
		h = smallTable()
	}
	n /= 2
	length := 1
	for size := uint64(8); n >= size; size *= 8 {
		n -= size
		length++
	}
	for range length {
		h = append(h, smallOp(smallOps[n%8], len(h)+1))
		n /= 8
	}
	return h
}

// exhaustiveImages are those at each call: what the process leaves, what a power cut leaves at the worst, and two modes of
// five in turn.
func exhaustiveImages(seed uint64, at Point, fs *vfs.MemFS) []vfs.ImageOptions {
	return FiveImages(seed, at, fs)[:4]
}

// TestCrashExhaustive plays all histories of up to three operations, or of four with -n 9360, and crashes each at every call
// of its last operation: what comes before is a shorter history of the list. The seed is the number of a history.
func TestCrashExhaustive(t *testing.T) {
	const most = 2 * (8 + 64 + 512)
	n := runs(most / 20)
	step := max(1, most/n)
	if n == 1 {
		step = 1
	}
	var all crashTotals
	onEveryProcessor(func(i int) bool {
		if i >= n {
			return false
		}
		number := firstSeed() + uint64(i*step)
		h := smallHistory(number)
		r := CrashEverywhere(1, CrashOptions{
			Run:    RunOptions{Ops: h},
			Images: exhaustiveImages,
			Only:   func(at Point) bool { return onlyPoint(at) && at.Op.Number == len(h) },
			More:   AfterCrash("t"), MoreEvery: 20,
		})
		r.Seed = number
		for i := range r.Failures {
			r.Failures[i].Seed = number
		}
		all.add(t, r)
		if r.Err != nil || len(r.Failures) > 0 {
			t.Logf("history %d:\n%v", number, h)
		}
		return true
	})
	lastLine(t, "R02", append([]figure{count("histories", all.runs)}, all.figures()...)...)
}

// TestSmallHistories wants each history once.
func TestSmallHistories(t *testing.T) {
	seen := map[string]bool{}
	for n := range uint64(1168) {
		seen[smallHistory(n+1).String()] = true
	}
	if len(seen) != 1168 || len(smallHistory(1168)) != len(smallTable())+3 || len(smallHistory(1169)) != 4 {
		t.Errorf("%d different histories, the last %v, the next %v", len(seen), smallHistory(1168), smallHistory(1169))
	}
}
