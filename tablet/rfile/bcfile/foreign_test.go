package bcfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/tablet"
)

func isTyped(err error) bool {
	return errors.Is(err, tablet.ErrCorrupt) || errors.Is(err, tablet.ErrUnsupported)
}

// golden is what a fixture's description says of the container.
type golden struct {
	Version   []uint16 `json:"bcfile_version"`
	Codec     string   `json:"codec"`
	MetaIndex int64    `json:"meta_index_offset"`
	Crypto    *string  `json:"crypto_params"`
	Regions   int      `json:"bcfile_index_regions"`
	Metas     []struct {
		Name, Codec            string
		Offset, Csize, Rawsize int64
	} `json:"meta_blocks"`
	Groups []struct {
		Index struct {
			Leaves, Nodes []goldenRegion
		}
	} `json:"groups"`
}

type goldenRegion struct {
	Offset  int64 `json:"file_offset"`
	Csize   int64
	Rawsize int64
}

// TestForeignFiles reads every block of files that Accumulo wrote.
func TestForeignFiles(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(fixtures(t), "*.rf"))
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { checkForeign(t, path) })
	}
}

func checkForeign(t *testing.T, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(strings.TrimSuffix(path, ".rf") + ".golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var want golden
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, data, ReaderOptions{})
	if v := r.Version(); v != (Version{want.Version[0], want.Version[1]}) || r.Codec() != want.Codec || r.MetaIndexOffset() != want.MetaIndex || (r.Crypto() == nil) != (want.Crypto == nil) || r.Sums() != nil {
		t.Errorf("version %v, codec %s, meta index %d, crypto %x, sums %v", v, r.Codec(), r.MetaIndexOffset(), r.Crypto(), r.Sums())
	}
	if len(r.Metas()) != len(want.Metas) || len(r.DataRegions()) != want.Regions {
		t.Fatalf("%d named blocks, %d regions", len(r.Metas()), len(r.DataRegions()))
	}
	for i, m := range r.Metas() {
		w := want.Metas[i]
		if m != (MetaBlock{w.Name, w.Codec, Region{w.Offset, w.Csize, w.Rawsize}}) {
			t.Errorf("named block %+v, want %+v", m, w)
		}
		if _, err := r.ReadMeta(m); err != nil {
			t.Error(err)
		}
	}
	var regions []Region
	for _, g := range want.Groups {
		for _, block := range append(g.Index.Leaves, g.Index.Nodes...) {
			regions = append(regions, Region{block.Offset, block.Csize, block.Rawsize})
		}
	}
	if want.Regions > 0 && !slices.Equal(r.DataRegions(), regions) {
		t.Errorf("data blocks %v, want %v", r.DataRegions(), regions)
	}
	b := r.NewBlockReader()
	defer b.Close()
	for _, reg := range regions {
		if _, err := b.Read(reg); err != nil {
			t.Error(err)
		}
	}
	report, err := Verify(context.Background(), mem(data), nil)
	if err != nil || report.HasSums || report.Decoded != len(want.Metas)+want.Regions {
		t.Errorf("%+v, %v", report, err)
	}
	checkSidecar(t, data, regions)
}

// checkSidecar makes checksums for a file and flips some of its bits.
func checkSidecar(t *testing.T, data []byte, regions []Region) {
	ctx := context.Background()
	sums, err := Sidecar(ctx, mem(data), testID(4), regions)
	if err != nil {
		t.Fatal(err)
	}
	if sums.FileID() != testID(4) || len(regions) > 0 && sums.Len() < len(regions) {
		t.Fatalf("%d blocks in the sidecar, %d known", sums.Len(), len(regions))
	}
	again, err := ParseSums("s", bytes.Clone(sums.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	opts := ReaderOptions{Sidecar: again}
	report, err := VerifyWith(ctx, mem(data), opts, nil)
	if err != nil || !report.HasSums || report.Blocks != sums.Len() {
		t.Fatalf("%+v, %v", report, err)
	}
	b := mustOpen(t, data, opts).NewBlockReader()
	for _, reg := range regions {
		if _, err := b.Read(reg); err != nil {
			t.Fatal(err)
		}
	}
	for bit := 3; bit < 8*len(data); bit += max(1, len(data)/5) {
		data[bit/8] ^= 1 << (bit % 8)
		if _, err := VerifyWith(ctx, mem(data), opts, nil); !isTyped(err) {
			t.Fatalf("bit %d: %v", bit, err)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
}

// TestReproduce writes v8_none.rf again from its blocks: the same bytes.
func TestReproduce(t *testing.T) {
	dir := fixtures(t)
	data, err := os.ReadFile(filepath.Join(dir, "v8_none.rf"))
	if err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, data, ReaderOptions{})
	index, _ := r.Meta("RFile.index")
	raw, err := r.ReadMeta(index)
	if err != nil {
		t.Fatal(err)
	}
	out := mem(nil)
	w, err := NewWriter(out, WriterOptions{Codec: None, Version: V3, NoSums: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteBlock(data[firstBlock:index.Region.Offset]); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMeta("RFile.index", raw); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	sameBytes(t, "v8_none.rf", out.data, data)
}

// TestSidecarRefuses gives it blocks that cannot be.
func TestSidecarRefuses(t *testing.T) {
	f := build(t, WriterOptions{Codec: None, NoSums: true}, text(1, 100), text(2, 100))
	bad := func(regions ...Region) {
		t.Helper()
		_, err := Sidecar(context.Background(), mem(f.data), testID(1), regions)
		corruptAt(t, err, 0, int64(len(f.data))*2)
	}
	bad(Region{16, 100, 100}, Region{50, 100, 100})
	bad(Region{16, 101, 101}, Region{116, 100, 100})
	bad(Region{0, 100, 100})
	bad(Region{int64(len(f.data)), 100, 100})
	sums, err := Sidecar(context.Background(), mem(f.data), testID(1), []Region{f.regions[1], f.regions[1]})
	if err != nil || sums.Len() != 4 {
		t.Errorf("a gap, a block twice and two named ones: %v", err)
	}
}

// TestForeignSidecar holds a file against the sidecar of another.
func TestForeignSidecar(t *testing.T) {
	ctx := context.Background()
	a := build(t, WriterOptions{Codec: None, NoSums: true}, text(1, 100))
	b := build(t, WriterOptions{Codec: None, NoSums: true}, text(2, 100))
	c := build(t, WriterOptions{Codec: None, NoSums: true}, text(2, 101))
	sums, err := Sidecar(ctx, mem(a.data), testID(1), a.regions)
	if err != nil {
		t.Fatal(err)
	}
	_, err = VerifyWith(ctx, mem(b.data), ReaderOptions{Sidecar: sums}, nil)
	corruptAt(t, err, 16, 116)
	_, err = Open(mem(c.data), ReaderOptions{Sidecar: sums})
	corruptAt(t, err, 0, int64(len(c.data)))
}
