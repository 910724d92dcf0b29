package experiment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"millrace/internal/vfs"
	"millrace/sim/workload"
	"millrace/tablet"
	"millrace/tablet/storage"
)

// tiny is a run of many steps and of two cycles.
func tiny(durability string) IngestOptions {
	properties := maps.Clone(small.Properties)
	properties["table.durability"] = durability
	properties["tserver.wal.max.size"] = "256K"
	return IngestOptions{Entries: 12_000, FlushEntries: 240, BatchEntries: 10, Tablets: 3, Pairs: 1, Seed: 7, Properties: properties}
}

// TestIngestGoesOn takes images of the files all through a run, of a killed process or of a power cut, and goes on from
// each: everything acknowledged is there, nothing is undefined, and the store is sound.
func TestIngestGoesOn(t *testing.T) {
	images := 6
	if testing.Short() {
		images = 3
	}
	for _, durability := range []string{"none", "log", "flush", "sync"} {
		t.Run(durability, func(t *testing.T) {
			mem := vfs.Mem()
			var all []*vfs.MemFS
			traced := func(every uint64) vfs.FS {
				return vfs.Trace(mem, vfs.TraceOptions{Before: func(e vfs.Event) {
					if every > 0 && e.Number%every == every/2 {
						mode := vfs.ImageAll
						if durability != "flush" && len(all)%2 == 1 {
							mode = vfs.ImageRandom
						}
						all = append(all, mem.Image(vfs.ImageOptions{Mode: mode, P: 0.5, Seed: e.Number}))
					}
				}})
			}
			fs := traced(0)
			if _, err := Ingest(context.Background(), fs, tiny(durability), nil); err != nil {
				t.Fatal(err)
			}
			calls := fs.(*vfs.TraceFS).Last()
			mem = vfs.Mem()
			if _, err := Ingest(context.Background(), traced(calls/uint64(images)), tiny(durability), nil); err != nil {
				t.Fatal(err)
			}
			behind := 0
			for i, image := range all {
				doc, err := Ingest(context.Background(), image, tiny(durability), nil)
				if err != nil {
					t.Fatalf("image %d of %d: %v", i, len(all), err)
				}
				if err := Failed(doc.Checks); err != nil {
					t.Errorf("image %d of %d: %v", i, len(all), err)
				}
				if r := doc.Resumed; r != nil && r.Acknowledged > r.Entries {
					behind++
				}
				clean(t, image)
			}
			if len(all) < images-1 {
				t.Errorf("%d images of %d calls", len(all), calls)
			}
			if noted := durability == "flush" || durability == "sync"; noted != (behind > 0) {
				t.Errorf("in %d images the journal knew of entries beyond the last flush", behind)
			}
		})
	}
}

// clean wants a store that was closed, and holds nothing beside.
func clean(t *testing.T, fs vfs.FS) {
	t.Helper()
	report, err := storage.Check(context.Background(), fs, storage.CheckOptions{Deep: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Findings) > 0 || !report.Closed {
		t.Errorf("closed %v, findings %v", report.Closed, report.Findings)
	}
}

// TestIngestTwice runs to the end twice, and then further.
func TestIngestTwice(t *testing.T) {
	mem := vfs.Mem()
	o := tiny("sync")
	f := func(before, entries int64) {
		t.Helper()
		doc, err := Ingest(context.Background(), mem, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := Failed(doc.Checks); err != nil {
			t.Error(err)
		}
		if doc.Ingest.Entries != entries || before > 0 && (doc.Resumed == nil || doc.Resumed.Entries != before || doc.Resumed.Missing != 0) {
			t.Errorf("%+v, %+v; want %d before and %d entries", doc.Resumed, doc.Ingest, before, entries)
		}
	}
	all := workload.Options{FlushEntries: o.FlushEntries}.CountsAt(o.Entries).Writes
	f(0, all)
	f(all, 0)
	o.Entries = 15_000
	more := workload.Options{FlushEntries: o.FlushEntries}.CountsAt(o.Entries).Writes
	f(all, more-all)
}

// TestIngestElsewhere does not go on with what another run, or somebody else, has begun.
func TestIngestElsewhere(t *testing.T) {
	mem := vfs.Mem()
	if _, err := Ingest(context.Background(), mem, tiny("none"), nil); err != nil {
		t.Fatal(err)
	}
	f := func(change func(*IngestOptions), want string) {
		t.Helper()
		o := tiny("none")
		change(&o)
		_, err := Ingest(context.Background(), mem, o, nil)
		if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f(func(o *IngestOptions) { o.Seed = 8 }, "the store is of a run with --seed 7, not 8")
	f(func(o *IngestOptions) { o.FlushEntries = 300 }, "--flush-entries 240, not 300")
	f(func(o *IngestOptions) { o.Tablets = 1 }, "--tablets 3, not 1")
	f(func(o *IngestOptions) { o.Entries = 100 }, "12239 entries in files")
	mem = vfs.Mem()
	r, err := startIngest(context.Background(), mem, tiny("none"), func(Phase) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.store.DeleteTable(context.Background(), journalTable); err != nil {
		t.Fatal(err)
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	f(func(*IngestOptions) {}, `the store is of something else: it has a table "ci"`)
}

// TestIngestMisses takes acknowledged entries away behind the journal's back.
func TestIngestMisses(t *testing.T) {
	mem := vfs.Mem()
	ctx := context.Background()
	o := tiny("sync").withDefaults()
	r, err := startIngest(ctx, mem, o, func(Phase) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.write(ctx); err != nil {
		t.Fatal(err)
	}
	g, err := workload.NewGenerator(r.options)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5000 {
		w, _ := g.Next()
		if n != 3 && n < 4900 { // the fourth was written again, in another entry
			continue
		}
		m := tablet.NewMutation(w.Row)
		m.Delete(w.Family, w.Qualifier, w.Visibility)
		if err := r.store.Apply(ctx, ciTable, []*tablet.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	doc, err := Ingest(ctx, mem, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if doc.Resumed.Missing != 102 { // with the entry that the fourth was written again in
		t.Errorf("%+v", doc.Resumed)
	}
	if err := Failed(doc.Checks); !errors.Is(err, tablet.ErrExpectation) || !strings.Contains(err.Error(), "acknowledged entries that are missing") {
		t.Errorf("%v", err)
	}
}
