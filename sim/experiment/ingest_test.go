package experiment

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/sim/workload"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// small is a run of a few seconds that still flushes, compacts and closes loops.
var small = IngestOptions{Entries: 30_000, FlushEntries: 1000, Tablets: 3, Pairs: 2, Seed: 7,
	Properties: map[string]string{"table.file.compress.type": "snappy"}}

func TestIngest(t *testing.T) {
	var phases []string
	doc, err := Ingest(context.Background(), vfs.Mem(), small, func(p Phase) {
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
	if len(doc.Checks) != 8 {
		t.Errorf("%d checks: %+v", len(doc.Checks), doc.Checks)
	}
	want := workload.Options{FlushEntries: small.FlushEntries}.CountsAt(small.Entries)
	if doc.Ingest.Entries != want.Writes || doc.Ingest.Updates != want.Updates || doc.Verified.Entries != want.Cells() {
		t.Errorf("%+v, %+v; want %+v", doc.Ingest, doc.Verified, want)
	}
	if doc.Ingest.Flushes < want.Flushes || doc.Ingest.Compactions == 0 || doc.Ingest.WriteAmp <= 1 {
		t.Errorf("%d flushes, %d compactions, write amplification %v", doc.Ingest.Flushes, doc.Ingest.Compactions, doc.Ingest.WriteAmp)
	}
	if len(doc.Tablets) != 3 || len(doc.Rows) != 3 || doc.Rows[0].Variant != "old" || doc.Rows[1].Variant != "new" || doc.Rows[2].Variant != "tree" {
		t.Fatalf("%+v, %+v", doc.Tablets, doc.Rows)
	}
	for _, r := range doc.Rows {
		if len(r.RunsNS) != small.Pairs || r.Entries < doc.Verified.Entries || r.Written != doc.Verified.Entries ||
			r.Codec != "snappy" || r.ComparesPerEntry <= 0 || r.RunLength < 1 || r.FullNS < r.MinNS || r.FullNS > r.MaxNS {
			t.Errorf("%+v", r)
		}
	}
	if doc.Rows[1].HeapOpsPerEntry >= doc.Rows[0].HeapOpsPerEntry {
		t.Errorf("heap operations: %v with old, %v with new", doc.Rows[0].HeapOpsPerEntry, doc.Rows[1].HeapOpsPerEntry)
	}
	if r := doc.Ratios; len(r) != 2 || r[0].Variant != "new" || r[0].Over != "old" || r[1].Variant != "tree" || r[0].Median <= 0 || r[1].CPU <= 0 {
		t.Errorf("ratios %+v", r)
	}
	for _, name := range []string{"ingest", "full compactions", "verify"} {
		if !slices.Contains(phases, name) {
			t.Errorf("no progress of %q, only of %q", name, phases)
		}
	}
}

// TestIngestDocument holds the fields that scripts rely on.
func TestIngestDocument(t *testing.T) {
	b, err := json.Marshal(&IngestDocument{Document: Document[IngestRow]{Rows: []IngestRow{{}}, Checks: []Check{{}}}})
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	has := func(where string, object any, fields string) {
		t.Helper()
		for _, f := range strings.Fields(fields) {
			if _, ok := object.(map[string]any)[f]; !ok {
				t.Errorf("%s has no %q", where, f)
			}
		}
	}
	has("document", doc, "schema command settings machine rows checks ingest verified")
	has("row", doc["rows"].([]any)[0], "shape codec variant entries files full_ns cpu_ns compares_per_entry merge_share")
	has("check", doc["checks"].([]any)[0], "name ok value want")
	has("ingest", doc["ingest"], "entries bytes wall_ns cpu_ns flushes write_amp")
	has("verified", doc["verified"], "entries undefined unreferenced corrupt")
}

// TestIngestFindsLoss writes an entry that refers to a row which is not there, behind the generator's back.
func TestIngestFindsLoss(t *testing.T) {
	ctx := context.Background()
	r, err := startIngest(ctx, vfs.Mem(), small.withDefaults(), func(Phase) {})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if err := r.write(ctx); err != nil {
		t.Fatal(err)
	}
	g, err := workload.NewGenerator(workload.Options{Seed: 99, FlushEntries: 10})
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]*tablet.Mutation, 10)
	g.Fill(batch) // the first step is lost
	g.Fill(batch) // the second refers to it
	if err := r.store.Apply(ctx, ciTable, batch[:1]); err != nil {
		t.Fatal(err)
	}
	odd := tablet.NewMutation([]byte("0000000000000001"))
	odd.Put([]byte("f"), []byte("q"), nil, []byte("not a value"))
	if err := r.store.Apply(ctx, ciTable, []*tablet.Mutation{odd}); err != nil {
		t.Fatal(err)
	}
	if err := r.verify(ctx); err != nil {
		t.Fatal(err)
	}
	if r.doc.Verified.Corrupt != 1 || r.doc.Verified.Undefined != 1 {
		t.Errorf("%+v", r.doc.Verified)
	}
	err = Failed(r.doc.Checks)
	if !errors.Is(err, tablet.ErrExpectation) {
		t.Errorf("checks hold: %+v", r.doc.Checks)
	}
}

// TestIngestInterrupted ends a run at many points; nothing may hang, and the store must close.
func TestIngestInterrupted(t *testing.T) {
	for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond, 100 * time.Millisecond, 300 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(context.Background(), after)
		start := time.Now()
		_, err := Ingest(ctx, vfs.Mem(), small, nil)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", after, err)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("ended %v after %v", took, after)
		}
	}
}

func TestIngestOptions(t *testing.T) {
	f := func(o IngestOptions, want string) {
		t.Helper()
		_, err := Ingest(context.Background(), vfs.Mem(), o, nil)
		if err == nil || !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	f(IngestOptions{Entries: -1}, "entries is -1")
	f(IngestOptions{FlushEntries: 1}, "flush-entries is 1")
	f(IngestOptions{Tablets: -1}, "tablets is -1")
	f(IngestOptions{Pairs: -2}, "pairs is -2")
	f(IngestOptions{Shapes: []string{"natual"}}, `nearest is "natural"`)
	f(IngestOptions{Codecs: []string{"none", "lzo"}}, `no codec is called "lzo" here`)
	f(IngestOptions{Codecs: []string{"none", "none"}}, "codec none is there twice")
	f(IngestOptions{Properties: map[string]string{"table.file.maxx": "3"}}, "table.file.max")
	f(IngestOptions{Properties: map[string]string{"table.file.compress.type": "lzo"}}, "lzo")
}

func TestSpread(t *testing.T) {
	f := func(want time.Duration, all ...time.Duration) {
		t.Helper()
		if got := SpreadOf(all).Median(); got != want {
			t.Errorf("median of %v is %v, want %v", all, got, want)
		}
	}
	f(0)
	f(3, 3)
	f(2, 3, 1)
	f(3, 9, 1, 3)
	f(4, 9, 1, 3, 5)
	s := SpreadOf([]time.Duration{5, 2, 9})
	if s.Min() != 2 || s.Max() != 9 {
		t.Errorf("%v to %v", s.Min(), s.Max())
	}
	if m, lo, hi := medianRatio([]time.Duration{2, 9, 5}, []time.Duration{1, 3, 10}); m != 2 || lo != 0.5 || hi != 3 {
		t.Errorf("ratio %v, %v to %v", m, lo, hi)
	}
}

// TestMergeCost drains files that are there with each merge, and counts every entry.
func TestMergeCost(t *testing.T) {
	fs := vfs.Mem()
	r, err := startIngest(context.Background(), fs, small.withDefaults(), func(Phase) {})
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	if err := r.write(context.Background()); err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	for _, f := range r.files[0] {
		want += f.Entries
	}
	costs, err := measureMerges(context.Background(), fs, r.files[0], iter.Modes())
	if err != nil {
		t.Fatal(err)
	}
	for i, cost := range costs {
		if cost.entries != want || cost.drain <= 0 || cost.merge <= 0 {
			t.Errorf("%v: %+v, want %d entries", iter.Modes()[i], cost, want)
		}
	}
}
