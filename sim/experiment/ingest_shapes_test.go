package experiment

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// shaped is a run of all shapes in two codecs.
func shaped() IngestOptions {
	o := small
	o.Entries, o.FlushEntries, o.Pairs = 12_000, 480, 1
	o.Properties = nil
	o.Shapes, o.Codecs = IngestShapes(), []string{"none", "lz4"}
	return o
}

func TestIngestShapes(t *testing.T) {
	mem := vfs.Mem()
	doc, err := Ingest(context.Background(), mem, shaped(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Failed(doc.Checks); err != nil {
		t.Error(err)
	}
	if len(doc.Checks) != 10 || len(doc.FileSets) != 6 || len(doc.Rows) != 18 || len(doc.Ratios) != 12 {
		t.Fatalf("%d checks, %d sets, %d rows, %d ratios", len(doc.Checks), len(doc.FileSets), len(doc.Rows), len(doc.Ratios))
	}
	natural := 0
	for _, tablet := range doc.Tablets {
		natural += tablet.Files
	}
	for _, s := range doc.FileSets {
		if want := map[bool]int{true: natural, false: 3 * shapeFiles}[s.Shape == ShapeNatural]; s.Files != want || s.Bytes == 0 {
			t.Errorf("%+v, want %d files", s, want)
		}
		if s.Shape == ShapeEqual && math.Abs(s.SameFile-0.1) > 0.001 || s.Shape == ShapeNatural && (s.SameFile < 0.2 || s.SameFile > 1) {
			t.Errorf("%s: the same file with a chance of %v", s.Shape, s.SameFile)
		}
		if spread := float64(s.MostFile) / float64(s.LeastFile); (s.Shape != ShapeNatural) != (spread < 1.2) {
			t.Errorf("%s: files of %d to %d bytes", s.Shape, s.LeastFile, s.MostFile)
		}
	}
	for _, r := range doc.Rows {
		switch r.Shape {
		case ShapeEqual:
			if want := 10.0 / 9; math.Abs(r.RunLength-want) > 0.1*want && r.Variant != "old" {
				t.Errorf("%s, %s: runs of %.2f entries, want %.2f", r.Shape, r.Variant, r.RunLength, want)
			}
		case ShapeLongRun:
			if r.Variant == "new" && (r.RunLength < 20 || r.ComparesPerEntry > 1.5) {
				t.Errorf("%+v", r)
			}
		}
		if r.Entries != doc.FileSets[0].Entries || r.Written != doc.Verified.Entries {
			t.Errorf("%+v", r)
		}
	}
	if none, lz4 := doc.FileSets[0], doc.FileSets[1]; none.Codec != "none" || lz4.Codec != "lz4" || none.Bytes < lz4.Bytes {
		t.Errorf("%+v, %+v", none, lz4)
	}
	clean(t, mem)
	onlyIngest(t, mem)
}

// TestIngestShapesPass has blocks so small that compactions of long runs take many over as they are stored, which then end
// where they did.
func TestIngestShapesPass(t *testing.T) {
	o := shaped()
	o.Shapes, o.Codecs, o.Variants = []string{ShapeEqual, ShapeLongRun}, []string{"lz4"}, []iter.Mode{iter.Tree}
	o.Properties = map[string]string{"table.file.compress.blocksize": "1K"}
	doc, err := Ingest(context.Background(), vfs.Mem(), o, nil)
	if err == nil {
		err = Failed(doc.Checks)
	}
	if err != nil {
		t.Error(err)
	}
}

// onlyIngest wants no table beside those of the ingest.
func onlyIngest(t *testing.T, fs vfs.FS) {
	t.Helper()
	store, err := actors.Open(context.Background(), "", actors.WithFS(fs))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := store.Tables(context.Background())
	if err = errors.Join(err, store.Close(context.Background())); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(tables); !slices.Equal(tables, []string{ciTable, journalTable}) {
		t.Errorf("tables are %q", tables)
	}
}

// TestIngestShapesGoOn ends a run while files of a shape are there, and lets the next one clear them away.
func TestIngestShapesGoOn(t *testing.T) {
	mem := vfs.Mem()
	o := shaped()
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Ingest(ctx, mem, o, func(p Phase) {
		if p.Name == "full compactions" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	o.Shapes, o.Codecs = []string{ShapeLongRun}, []string{"none"}
	doc, err := Ingest(context.Background(), mem, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := Failed(doc.Checks); err != nil || doc.Resumed == nil || len(doc.Checks) != 9 {
		t.Errorf("%v, %+v, %d checks", err, doc.Resumed, len(doc.Checks))
	}
	clean(t, mem)
	onlyIngest(t, mem)
}

// TestIngestShapesTooLarge has less memory than a file's entries of every tablet want.
func TestIngestShapesTooLarge(t *testing.T) {
	o := shaped()
	o.Entries, o.FlushEntries = 60_000, 2400
	o.Shapes, o.Codecs, o.Variants = []string{ShapeEqual}, []string{"none"}, []iter.Mode{iter.Tree}
	o.Properties = map[string]string{"tserver.memory.maps.max": "200K", "table.file.max": "1000", "table.compaction.major.ratio": "1000"}
	_, err := Ingest(context.Background(), vfs.Mem(), o, nil)
	if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), "--memory-limit") {
		t.Errorf("%v", err)
	}
}

// TestDealer deals all entries, to files of one size.
func TestDealer(t *testing.T) {
	f := func(shape string, entries int64, wantFiles, wantRuns int) {
		t.Helper()
		d := dealer{shape: shape, rng: newSeeded(1)}
		d.begin(entries)
		got := make([]int64, len(d.left))
		runs, last := 0, -1
		for range entries {
			to := d.next()
			got[to]++
			if to != last {
				runs++
			}
			last = to
		}
		if len(got) != wantFiles || slices.Max(got)-slices.Min(got) > entries/40+1 || math.Abs(float64(runs-wantRuns)) > float64(wantRuns)/20 {
			t.Errorf("%s: %v in %d runs, want %d files and %d runs", shape, got, runs, wantFiles, wantRuns)
		}
	}
	f(ShapeEqual, 10_000, 10, 9_000)
	f(ShapeEqual, 3, 3, 3)
	f(ShapeLongRun, 10_000, 10, 40)
	f(ShapeLongRun, 10_007, 10, 40)
	f(ShapeLongRun, 7, 7, 7)
}
