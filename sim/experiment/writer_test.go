package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/writer"
)

// smallWriter is a run of a second or two. The last set of each memory is half full, as with the ticket's numbers.
var smallWriter = WriterOptions{Mutations: 6300, Threads: []int{1, 3}, MemoryBytes: []int64{1 << 17, 1 << 19}, StoreTablets: 3, Tablets: []int{5, 40},
	Runs: 2, WarmUps: 1, Seed: 7}

func TestWriter(t *testing.T) {
	var phases []string
	doc, err := Writer(context.Background(), vfs.Mem(), smallWriter, func(p Phase) {
		if len(phases) == 0 || phases[len(phases)-1] != p.Name {
			phases = append(phases, p.Name)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Failed(doc.Checks); err != nil {
		t.Error(err)
	}
	// Into the store; two numbers of tablets and the map forgotten; with ample memory.
	places := 4 + 3*4 + 2
	if len(doc.Rows) != places*4 || len(doc.Ratios) != places*3 || len(doc.Checks) != 4+2*3+2 {
		t.Errorf("%d rows, %d ratios, %d checks", len(doc.Rows), len(doc.Ratios), len(doc.Checks))
	}
	sets := map[int64]int64{1 << 17: 26, 1 << 19: 7}
	for _, r := range doc.Rows {
		if r.TotalNS < r.MinNS || r.TotalNS > r.MaxNS || r.AddNS > r.MaxNS || len(r.RunsNS) != 2 || r.MutationsPerS <= 0 || r.Timed < 2*100 ||
			(r.MapsMade > 0) != (r.Map == mapCold) || r.AddP50NS > r.AddP999NS || r.AddP999NS > r.AddMaxNS*102/100 || r.MemoryMax > r.MemoryBytes+270 {
			t.Errorf("%+v", r)
		}
		if want := sets[r.MemoryBytes]; want > 0 && r.Variant != "actors" && r.Variant != "nosync" && r.Sets != want {
			t.Errorf("%d sets, want %d: %+v", r.Sets, want, r)
		}
	}
	for _, name := range []string{"mutations", "into a store", "applied for free"} {
		if !slices.Contains(phases, name) {
			t.Errorf("no progress of %q, only of %q", name, phases)
		}
	}
}

// TestWriterDocument holds the fields that scripts rely on.
func TestWriterDocument(t *testing.T) {
	b, err := json.Marshal(&WriterDocument{Document: Document[WriterRow]{Rows: []WriterRow{{}}, Checks: []Check{{}}}, Ratios: []WriterRatio{{}}})
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	has := func(object any, fields string) {
		t.Helper()
		for _, f := range strings.Fields(fields) {
			if _, ok := object.(map[string]any)[f]; !ok {
				t.Errorf("no %q", f)
			}
		}
	}
	has(doc, "schema command settings machine rows checks ratios clock ticket bars")
	has(doc["rows"].([]any)[0], "variant threads memory_bytes tablets apply total_ns add_ns sets add_max_ns add_p999_ns wait_ns binning_waits mutations_per_s cpu_ns")
	has(doc["ratios"].([]any)[0], "over threads memory_bytes tablets apply map pairs median cpu")
}

// TestWriterFindsLoss writes one mutation too few, one twice, and one with another value.
func TestWriterFindsLoss(t *testing.T) {
	ctx := context.Background()
	o := smallWriter.withDefaults()
	all := testMutations(t, o.Mutations, 1)
	odd := tablet.NewMutation(all[3].Row())
	odd.Put([]byte("cf"), []byte("qual"), nil, []byte("0000000000"))
	var tally storeTally
	s, err := openStoreStage(ctx, vfs.Mem(), o, &tally)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	f := func(mutations []*tablet.Mutation, counted, scanned int) {
		t.Helper()
		tally = storeTally{}
		w, err := s.open(ctx, writer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutations {
			if err := w.Add(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if err := s.finish(ctx, true); err != nil {
			t.Fatal(err)
		}
		if want := (storeTally{runs: 1, counted: counted, scans: 1, scanned: scanned}); tally != want {
			t.Errorf("%+v, want %+v", tally, want)
		}
	}
	f(all, 1, 1)
	f(all[1:], 0, 0)
	last := slices.IndexFunc(all, func(m *tablet.Mutation) bool { return string(m.Row()) == "0000006299" })
	f(slices.Delete(slices.Clone(all), last, last+1), 0, 0)
	f(append(slices.Clone(all), all[0]), 0, 1) // a scan gives the newest version alone
	f(append([]*tablet.Mutation{odd}, slices.Delete(slices.Clone(all), 3, 4)...), 1, 0)
	names, err := s.store.Tables(ctx)
	if err != nil || len(names) > 0 {
		t.Errorf("tables %q left, %v", names, err)
	}
}

// TestWriterLeftTables finds what a killed run has left, and only that, gone.
func TestWriterLeftTables(t *testing.T) {
	ctx, fs := context.Background(), vfs.Mem()
	o := smallWriter.withDefaults()
	store, err := actors.Open(ctx, "", actors.WithFS(fs))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes", writerTable + "3"} {
		if err := store.CreateTable(ctx, name, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(ctx); err != nil {
		t.Fatal(err)
	}
	s, err := openStoreStage(ctx, fs, o, &storeTally{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if names, err := s.store.Tables(ctx); err != nil || !slices.Equal(names, []string{"notes"}) {
		t.Errorf("tables %q, %v", names, err)
	}
}

// TestWriterInterrupted ends a run at many points; nothing may hang, and the store must close.
func TestWriterInterrupted(t *testing.T) {
	o := smallWriter
	o.Mutations = 60_000
	for _, after := range []time.Duration{0, time.Millisecond, 30 * time.Millisecond, 150 * time.Millisecond, 400 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		start := time.Now()
		_, err := Writer(ctx, vfs.Mem(), o, nil)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", after, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("ended %v after %v", took, after)
		}
	}
}

func TestWriterOptions(t *testing.T) {
	f := func(o WriterOptions, want string) {
		t.Helper()
		_, err := Writer(context.Background(), vfs.Mem(), o, nil)
		if err == nil || !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	f(WriterOptions{Mutations: -1}, "mutations is -1")
	f(WriterOptions{Threads: []int{3, 0}}, "threads are [0 3]")
	f(WriterOptions{Threads: []int{2000}}, "threads are [2000]")
	f(WriterOptions{MemoryBytes: []int64{5, -1}}, "memory is -1")
	f(WriterOptions{StoreTablets: 5000}, "tablets are 5000")
	f(WriterOptions{Tablets: []int{-7}}, "tablets are [-7]")
	f(WriterOptions{Runs: -2}, "runs is -2")
	f(WriterOptions{Mutations: 10, Properties: map[string]string{"table.file.maxx": "3"}}, "table.file.max")
}

// TestWriterPlaces counts places, and finds those that bars are about among the few of Brief.
func TestWriterPlaces(t *testing.T) {
	o := WriterOptions{}.withDefaults()
	const ample = 300 << 20
	if n, m := len(o.realPlaces()), len(o.freePlaces(ample)); n != 15 || m != 3*15+5 {
		t.Errorf("%d and %d places", n, m)
	}
	o.Brief = true
	all := append(o.realPlaces(), o.freePlaces(ample)...)
	if len(all) > 30 {
		t.Errorf("%d places", len(all))
	}
	f := func(at WriterPlace) {
		t.Helper()
		if !slices.Contains(all, at) {
			t.Errorf("%+v is missing", at)
		}
	}
	for _, memory := range o.MemoryBytes {
		f(WriterPlace{8, memory, 10_000, applyFree, mapWarm})
		f(WriterPlace{16, memory, 8, applyReal, mapWarm})
	}
	for _, threads := range []int{1, 16} {
		f(WriterPlace{threads, 10 << 20, 8, applyReal, mapWarm})
		f(WriterPlace{threads, 10 << 20, 10_000, applyFree, mapWarm})
	}
	f(WriterPlace{8, 10 << 20, 10_000, applyFree, mapCold})
	f(WriterPlace{8, ample, 10_000, applyFree, mapWarm})
}

func testMutations(t *testing.T, n int, seed uint64) []*tablet.Mutation {
	t.Helper()
	all, err := makeMutations(context.Background(), n, seed, func(Phase) {})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestWriterMutations holds what the ticket's numbers of sets follow from.
func TestWriterMutations(t *testing.T) {
	all := testMutations(t, 1000, 3)
	rows := map[string]bool{}
	ascending := true
	for i, m := range all {
		rows[string(m.Row())] = true
		if m.EstimatedMemory() != 270 || m.Updates() != 1 {
			t.Fatalf("%d bytes, %d updates", m.EstimatedMemory(), m.Updates())
		}
		ascending = ascending && (i == 0 || string(all[i-1].Row()) < string(m.Row()))
	}
	if len(rows) != 1000 || ascending {
		t.Errorf("%d rows, ascending %v", len(rows), ascending)
	}
	for memory, want := range map[int64]int64{1 << 20: 515, 10 << 20: 52, 100 << 20: 6} {
		if got := setsWanted(1_000_000, 270, memory, 0); got != want {
			t.Errorf("%d sets with %d bytes, want %d", got, memory, want)
		}
	}
}

// TestAdders counts what is timed, and ends all threads when one fails.
func TestAdders(t *testing.T) {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(context.Background())
	a := adders{clock: clock.Real{}}
	mutations := testMutations(t, 5000, 1)
	s := newFreeStage(rt, len(mutations), WriterPlace{Tablets: 4, Map: mapWarm})
	w, err := s.open(context.Background(), writer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	began := 0
	if err := a.add(context.Background(), w, mutations, 3, func() { began++ }); err != nil || began != 1 {
		t.Errorf("%v, began %d times", err, began)
	}
	timed := int64(0)
	for _, h := range a.hists {
		timed += h.TotalCount()
	}
	if want := int64(5000 / timedEach); timed < want || timed > want+3 {
		t.Errorf("%d of 5000 timed", timed)
	}
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := a.add(context.Background(), w, mutations, 3, func() {}); !errors.Is(err, tablet.ErrClosed) {
		t.Errorf("adding to a closed writer: %v", err)
	}
	if c := clockCost(clock.Real{}); c.PairNS <= 0 || c.PerAddNS != c.PairNS/timedEach {
		t.Errorf("%+v", c)
	}
}

func TestTurnWhole(t *testing.T) {
	f := func(s writer.Stats, want bool) {
		t.Helper()
		if got := (&turn{stats: s}).whole(5); got != want {
			t.Errorf("%+v: %v", s, got)
		}
	}
	f(writer.Stats{Mutations: 5, Acknowledged: 5}, true)
	f(writer.Stats{Mutations: 5, Acknowledged: 4}, false)
	f(writer.Stats{Mutations: 6, Acknowledged: 5}, false)
	f(writer.Stats{Mutations: 5, Acknowledged: 5, Failed: 1}, false)
}

// TestColdMap forgets where tablets are, equally often with small sets and large ones.
func TestColdMap(t *testing.T) {
	rt, err := actors.NewRuntime(actors.RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(context.Background())
	mutations := testMutations(t, 20_000, 1)
	s := newFreeStage(rt, len(mutations), WriterPlace{Tablets: 30, Map: mapCold})
	a := adders{clock: clock.Real{}}
	for _, o := range []writer.Options{
		{Variant: writer.Locked, MemoryBytes: 300 * 270}, {Variant: writer.Locked, MemoryBytes: 2 * 3900 * 270}, {MemoryBytes: 3000 * 270},
	} {
		w, err := s.open(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := a.turn(context.Background(), w, mutations, 2); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < forgotten*answerWait {
			t.Errorf("%+v: over after %v", o, took)
		}
		if s.maps() != forgotten {
			t.Errorf("%+v: found out %d times", o, s.maps())
		}
	}
}
