package iter

import (
	"runtime"
	"testing"
	"time"

	"millrace/internal/clock"
	"millrace/sim/workload"
	"millrace/tablet"
)

// benchEntries is how many entries a measured merge has.
const benchEntries = 1 << 16

var keySets = workload.KeySets()

var ingestKeys = workload.IngestKeys

// input is what one merge is measured on.
type input struct {
	batches [][]*tablet.Batch // of each source
	entries int
	sum     workload.Digest
}

// dealt deals a sorted list to k sources, in stretches to another source each time.
func dealt(keys []tablet.Entry, k, stretch int) *input {
	return inputOf(workload.DealStretches(keys, k, stretch))
}

// skewed deals each entry at random, four to the first source for each to one of the others.
func skewed(keys []tablet.Entry, k int) *input { return inputOf(workload.DealSkewed(keys, k)) }

func inputOf(entries [][]tablet.Entry) *input {
	in := &input{sum: workload.DigestOf(workload.Merged(entries))}
	in.entries = in.sum.Entries
	// As many to a batch as a compaction takes, see batchEntries of compactor/job.
	size := min(max(2048/len(entries), 32), 1024)
	for i := range entries {
		in.batches = append(in.batches, Batches(entries[i], size))
	}
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
	var sum workload.Digest
	for i := range out.entries {
		sum.Add(&out.entries[i].Key, out.entries[i].Value, out.codes[i])
	}
	if sum != in.sum {
		tb.Fatalf("%v, %d sources: digest %v, want %v", mode, len(in.batches), sum, in.sum)
	}
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
