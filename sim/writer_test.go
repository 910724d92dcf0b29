package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"millrace/actors"
	"millrace/tablet"
	"millrace/writer"
)

// writerRun is clients that share a batch writer, while the table is split, tablets and workers panic, and the engine
// crashes.
type writerRun struct {
	w         *World
	again     bool
	added     map[string]bool // taken by Add, by row
	written   map[string]bool // added before a flush that said it is written
	failed    map[string]bool // named in a rejection: true if unknown
	rejected  int
	lastError error
}

// hotRow is in the names of rows that are written again and again.
const hotRow = "hot"

// row is one of a client's, somewhere in the table.
func (r *writerRun) row(client, n int) string {
	return fmt.Sprintf("%03d.%d.%d", n*389%1000, client, n)
}

func (r *writerRun) client(w *writer.BatchWriter, number, count, flushEvery int) func(c *Client) {
	return func(c *Client) {
		flushed := 0
		note := func(err error, upTo int) bool {
			var rejection *writer.RejectedError
			switch {
			case err == nil:
				for ; flushed < upTo; flushed++ {
					r.written[r.row(number, flushed)] = true
				}
				return true
			case errors.As(err, &rejection):
				for _, f := range rejection.Failed {
					r.failed[string(f.Mutation.Row())] = f.Unknown
				}
				r.rejected++
			}
			r.lastError = err
			return false
		}
		for n := range count {
			m := tablet.NewMutation([]byte(r.row(number, n)))
			m.Put([]byte("f"), nil, nil, []byte("v"))
			r.added[string(m.Row())] = true // a crash may come in the middle
			if err := w.Add(context.Background(), m); err != nil {
				if !Crashed(err) {
					delete(r.added, string(m.Row()))
				}
				note(err, 0)
				return
			}
			hot := tablet.NewMutation(fmt.Appendf(nil, "%03d.%s%d", number*333, hotRow, number)) // of one row, in order
			hot.Put([]byte("f"), nil, nil, fmt.Appendf(nil, "%03d", n))
			if err := w.Add(context.Background(), hot); err != nil {
				note(err, 0)
				return
			}
			if n%flushEvery == flushEvery-1 && !note(w.Flush(context.Background()), n+1) {
				return
			}
			if c.Pause() != nil {
				return
			}
		}
		note(w.Flush(context.Background()), count)
	}
}

// play runs clients and a splitter. It returns whether the engine has crashed.
func (r *writerRun) play(t *testing.T, rng *rand.Rand, v writer.Variant) (crashed bool) {
	s := r.w.Store()
	p := map[string]string{"table.file.compress.type": "none"}
	for _, scope := range []string{"scan", "minc", "majc"} {
		p["table.iterator."+scope+".vers"] = ""
	}
	if err := s.CreateTable(context.Background(), "t", [][]byte{[]byte("5")}, p); err != nil {
		return Crashed(err)
	}
	w, err := s.NewWriter("t", writer.Options{
		Variant: v, Binners: 2 * rng.IntN(2), MemoryBytes: 1 + int64(rng.IntN(8000)), Latency: time.Duration(1+rng.IntN(2000)) * time.Millisecond, AtLeastOnce: r.again,
		Durability: tablet.DurabilitySync,
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		r.w.Go(fmt.Sprint("adder ", n), r.client(w, n, 40, 1+rng.IntN(30)))
	}
	r.w.Go("splitter", func(c *Client) {
		for i := range 6 {
			if c.Sleep(time.Duration(rng.IntN(300))*time.Millisecond) != nil {
				return
			}
			s.AddSplits(context.Background(), "t", [][]byte{fmt.Appendf(nil, "%03d", i*177%1000)})
		}
	})
	if err := r.w.Run(); err != nil {
		if !Crashed(err) {
			t.Fatalf("%v\n%s", err, r.w.Report())
		}
		return true
	}
	err = w.Close(context.Background())
	var rejection *writer.RejectedError
	if errors.As(err, &rejection) {
		for _, f := range rejection.Failed {
			r.failed[string(f.Mutation.Row())] = f.Unknown
		}
	} else if err != nil && !Crashed(err) {
		t.Fatalf("close: %v", err)
	}
	if err == nil {
		for row := range r.added {
			r.written[row] = true
		}
	}
	return Crashed(err)
}

// check holds what is there against what the clients know.
func (r *writerRun) check(t *testing.T, settled bool, when string) {
	t.Helper()
	sc, err := r.w.Store().Scan(context.Background(), "t", actors.ScanOptions{Versions: -1})
	if err != nil {
		if len(r.written) > 0 {
			t.Fatalf("%s: %v", when, err)
		}
		return // crashed before there was a table
	}
	entries, err := ReadAll(sc)
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	times := map[string]int{}
	newer := map[string]string{} // by hot row, the value before, which is newer
	for _, e := range entries {
		row, value := string(e.Key.Row()), string(e.Value)
		if !strings.Contains(row, hotRow) {
			times[row]++
			continue
		}
		if last, ok := newer[row]; ok && value >= last && !r.again { // what is sent again is there twice
			t.Errorf("%s: of %s the value %s is older than %s", when, row, value, last)
		}
		newer[row] = value
	}
	for row := range r.added {
		unknown, failed := r.failed[row]
		switch n := times[row]; {
		case n == 0 && r.written[row]:
			t.Errorf("%s: %s was said to be written, and is not there", when, row)
		case n == 0 && settled && !failed:
			t.Errorf("%s: %s is not there, and nobody was told", when, row)
		case n > 0 && failed && !unknown:
			t.Errorf("%s: %s is there, and was said never to be", when, row)
		case n > 1 && !r.again:
			t.Errorf("%s: %s is there %d times", when, row, n)
		}
		delete(times, row)
	}
	if len(times) > 0 {
		t.Errorf("%s: there is what was never added: %v", when, times)
	}
}

// TestWriterCrashes: what a flush has promised is there after a power cut, once; what was named as failed is not; whatever the
// schedule, and while tablets, the log, the binner and the writer's own actors panic.
func TestWriterCrashes(t *testing.T) {
	n := runs(240)
	if testing.Short() {
		n = 60
	}
	var crashes, rejections, written int64
	for i := range n {
		seed := firstSeed() + uint64(i)
		rng := rand.New(rand.NewPCG(seed, 7))
		var faults []Fault
		if rng.IntN(4) > 0 {
			faults = []Fault{{Kind: Crash, At: uint64(1 + rng.IntN(2000))}}
		}
		if actor := []string{"", "tablet", "log", "binner", "writer"}[rng.IntN(5)]; actor != "" {
			faults = append(faults, Fault{Kind: Panic, Actor: actor, Chance: 0.01, Most: 3})
		}
		r := &writerRun{
			w:     New(Options{Seed: seed, Schedule: ScheduleFor(seed), Faults: faults}),
			again: rng.IntN(2) == 0, added: map[string]bool{}, written: map[string]bool{}, failed: map[string]bool{},
		}
		if err := r.w.Open(); err != nil && !Crashed(err) {
			t.Fatal(err)
		}
		when := fmt.Sprintf("seed %d, %v", seed, faults)
		crashed := r.w.Store() == nil || r.play(t, rng, writer.Variants[rng.IntN(len(writer.Variants))])
		crashed = crashed || r.w.loop.crashed
		r.w.loop.faults.all = nil // what has not come by now does not
		if crashed {
			crashes++
			r.w.Crash(Image(Op{Kind: PowerCut, Pick: rng.Uint64()}, r.w.FS()))
			if err := r.w.Open(); err != nil {
				t.Fatalf("%s: %v", when, err)
			}
		}
		if err := r.w.Sleep(time.Minute); err != nil {
			t.Fatal(err)
		}
		r.check(t, !crashed, when)
		rejections += int64(r.rejected)
		written += int64(len(r.written))
		r.w.End()
		if t.Failed() {
			return
		}
	}
	if crashes == 0 || rejections == 0 || crashes == int64(n) {
		t.Errorf("%d crashes and %d rejections in %d runs: that tests little", crashes, rejections, n)
	}
	lastLine(t, "WRITER", figure{name: "runs", value: int64(n)}, figure{name: "crashes", value: crashes},
		figure{name: "rejections", value: rejections}, figure{name: "written", value: written})
}

// TestWriterRepeats: the same seed gives the same run, with a batch writer in it.
func TestWriterRepeats(t *testing.T) {
	for seed := range uint64(8) {
		digest := func() string {
			rng := rand.New(rand.NewPCG(seed, 7))
			r := &writerRun{w: New(Options{Seed: seed, Schedule: ScheduleFor(seed), Faults: []Fault{{Kind: Panic, Actor: "tablet", Chance: 0.003, Most: 2}}}),
				added: map[string]bool{}, written: map[string]bool{}, failed: map[string]bool{}}
			defer r.w.End()
			if err := r.w.Open(); err != nil {
				t.Fatal(err)
			}
			r.play(t, rng, writer.Variants[seed%4])
			r.check(t, true, fmt.Sprint("seed ", seed))
			return r.w.Digest()
		}
		if a, b := digest(), digest(); a != b {
			t.Errorf("seed %d gave %s and %s", seed, a, b)
		}
	}
}
