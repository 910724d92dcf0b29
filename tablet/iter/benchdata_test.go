package iter

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"millrace/internal/clock"
	"millrace/tablet"
)

// benchEntries is how many entries a measured merge has.
const benchEntries = 1 << 16

// ingestKeys makes sorted keys of the continuous ingest: 16 hex digits of row, 4 of family, 4 of qualifier.
func ingestKeys(r *rand.Rand, n int) []tablet.Entry {
	return sortedKeys(n, func(i int) tablet.Fields {
		return tablet.Fields{
			Row:       fmt.Appendf(nil, "%016x", r.Uint64()>>1),
			Family:    fmt.Appendf(nil, "%04x", r.IntN(1<<15)),
			Qualifier: fmt.Appendf(nil, "%04x", r.IntN(1<<15)),
			Timestamp: int64(i),
		}
	})
}

// longKeys makes sorted keys that are hard to tell apart: rows of 60 to 100 bytes, of which the first 45 to 60 are shared by
// some hundreds of rows, and one to four columns a row.
func longKeys(r *rand.Rand, n int) []tablet.Entry {
	prefixes := make([]string, max(n/512, 1))
	for i := range prefixes {
		prefixes[i] = fmt.Sprintf("customer/%04d/%0*d/", r.IntN(10000), 30+r.IntN(16), i)
	}
	var row []byte
	columns := 0
	return sortedKeys(n, func(i int) tablet.Fields {
		if columns--; columns < 0 {
			columns = r.IntN(4)
			row = []byte(prefixes[r.IntN(len(prefixes))])
			for length := 60 + r.IntN(41); len(row) < length; {
				row = append(row, "0123456789abcdef"[r.IntN(16)])
			}
		}
		return tablet.Fields{Row: row, Family: []byte("attributes"), Qualifier: fmt.Appendf(nil, "column-%d", columns), Timestamp: int64(i)}
	})
}

func sortedKeys(n int, fields func(i int) tablet.Fields) []tablet.Entry {
	out := make([]tablet.Entry, n)
	for i := range out {
		out[i].Key = tablet.NewKey(fields(i))
	}
	slices.SortFunc(out, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return out
}

var keySets = []struct {
	name string
	make func(r *rand.Rand, n int) []tablet.Entry
}{{"ci", ingestKeys}, {"long", longKeys}}

// input is what one merge is measured on.
type input struct {
	batches [][]*tablet.Batch // of each source
	entries int
	sum     uint64 // of keys, values and codes in the right order, as digest makes it
}

// dealt deals a sorted list to k sources, in stretches to another source each time. One high key keeps every source alive
// to the end.
func dealt(keys []tablet.Entry, k, stretch int) *input {
	r := rand.New(rand.NewPCG(uint64(k), uint64(stretch)))
	to := 0
	return dealtBy(keys, k, func(i int) int {
		if k > 1 && i%stretch == 0 {
			to = (to + 1 + r.IntN(k-1)) % k
		}
		return to
	})
}

// skewed deals each entry at random, four to the first source for each to one of the others.
func skewed(keys []tablet.Entry, k int) *input {
	r := rand.New(rand.NewPCG(uint64(k), 41))
	return dealtBy(keys, k, func(int) int { return max(0, r.IntN(4+k-1)-3) })
}

func dealtBy(keys []tablet.Entry, k int, source func(i int) int) *input {
	entries := make([][]tablet.Entry, k)
	for i, e := range keys {
		s := source(i)
		e.Value = fmt.Appendf(nil, "%d", i)
		entries[s] = append(entries[s], e)
	}
	in := &input{entries: len(keys) + k}
	// As many to a batch as a compaction takes, see batchEntries of compactor/job.
	size := min(max(2048/k, 32), 1024)
	for i := range entries {
		entries[i] = append(entries[i], tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "zz%05d", i)})})
		in.batches = append(in.batches, Batches(entries[i], size))
	}
	in.sum = digestOf(reference(entries))
	return in
}

func (in *input) sources() []Source {
	out := make([]Source, len(in.batches))
	for i := range out {
		out[i] = FromBatches(in.batches[i])
	}
	return out
}

// check reads all once, unmeasured, and wants every byte and code where it belongs.
func (in *input) check(tb testing.TB, mode Mode) {
	tb.Helper()
	m := NewMerge(mode, in.sources())
	defer m.Close()
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		tb.Fatal(err)
	}
	out, err := read(m, 128, -1)
	if err != nil {
		tb.Fatal(err)
	}
	sum := uint64(digestStart)
	for i := range out.entries {
		sum = digest(sum, &out.entries[i], out.codes[i])
	}
	if len(out.entries) != in.entries || sum != in.sum {
		tb.Fatalf("%v, %d sources: %d entries of digest %#x, want %d of %#x", mode, len(in.batches), len(out.entries), sum, in.entries, in.sum)
	}
}

func digestOf(entries []tablet.Entry) uint64 {
	sum := uint64(digestStart)
	for i := range entries {
		code := tablet.CodeOfFirst(&entries[i].Key)
		if i > 0 {
			code = tablet.CodeOf(&entries[i-1].Key, &entries[i].Key)
		}
		sum = digest(sum, &entries[i], code)
	}
	return sum
}

const digestStart = 14695981039346656037

// digest is FNV-1a over an entry and its code, on top of what went before.
func digest(sum uint64, e *tablet.Entry, code uint64) uint64 {
	number := func(n uint64) { sum = (sum ^ n) * 1099511628211 }
	text := func(b []byte) {
		number(uint64(len(b)))
		for _, c := range b {
			number(uint64(c))
		}
	}
	for _, b := range [][]byte{e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Key.Visibility(), e.Value} {
		text(b)
	}
	number(uint64(e.Key.Timestamp()))
	number(code)
	return sum
}

var codeSink uint64

// drainRuns reads a run source to its end, and looks at every code, as whatever stands on a merge does.
func drainRuns(tb testing.TB, s RunSource, runs []Run) (entries int) {
	most := uint64(0)
	for {
		n, err := s.Fill(ctx, runs)
		if err != nil {
			tb.Fatal(err)
		}
		if n == 0 {
			codeSink = most
			return entries
		}
		for i := range runs[:n] {
			r := &runs[i]
			entries += r.Len()
			most = max(most, r.Code)
			if r.Hi-r.Lo > 1 {
				for _, code := range s.Batch(r.Src).Codes[r.Lo+1 : r.Hi] {
					most = max(most, code)
				}
			}
		}
	}
}

// onThread keeps what it calls on one thread, and returns the processor time it took: the machine may be shared.
func onThread(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := clock.ThreadCPU()
	f()
	return clock.ThreadCPU() - start
}
