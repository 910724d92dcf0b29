package rfile

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// goldenFile is the part of a NAME.golden.json that the tests hold a file against.
type goldenFile struct {
	File         string        `json:"file"`
	Size         int64         `json:"size"`
	BCFile       [2]uint16     `json:"bcfile_version"`
	RFile        int           `json:"rfile_version"`
	Codec        string        `json:"codec"`
	MetaOffset   int64         `json:"meta_index_offset"`
	Regions      int           `json:"bcfile_index_regions"`
	Entries      int64         `json:"entries"`
	MergedSHA256 string        `json:"merged_sha256"`
	Dump         string        `json:"dump"`
	Groups       []goldenGroup `json:"groups"`
	SampleGroups []goldenGroup `json:"sample_groups"`
	Sampler      *struct {
		Class   string            `json:"class"`
		Options map[string]string `json:"options"`
	} `json:"sampler"`
}

type goldenGroup struct {
	Name     *string `json:"name"`
	Default  bool    `json:"default"`
	Families []struct {
		CF    hexBytes `json:"cf"`
		Count int64    `json:"count"`
	} `json:"column_families"`
	FirstKey *goldenKey `json:"first_key"`
	Entries  int64      `json:"entries"`
	SHA256   string     `json:"sha256"`
	Index    struct {
		TotalAdded  int `json:"total_added"`
		RootLevel   int `json:"root_level"`
		RootEntries int `json:"root_entries"`
		Nodes       []struct {
			Level, Offset int
			HasNext       bool `json:"has_next"`
			Entries       int
			FileOffset    int64 `json:"file_offset"`
			CSize         int64
			RawSize       int64
			LastKey       goldenKey `json:"last_key"`
		} `json:"nodes"`
		Leaves []struct {
			Key        goldenKey `json:"key"`
			NumEntries int       `json:"num_entries"`
			FileOffset int64     `json:"file_offset"`
			CSize      int64
			RawSize    int64
		} `json:"leaves"`
	} `json:"index"`
}

type hexBytes []byte

func (h *hexBytes) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	v, err := hex.DecodeString(s)
	*h = v
	return err
}

type goldenKey struct {
	Row, CF, CQ, CV hexBytes
	TS              string
	Del             bool
}

func (g goldenKey) key() tablet.Key {
	ts, err := strconv.ParseInt(g.TS, 10, 64)
	if err != nil {
		panic(err)
	}
	return tablet.NewKey(tablet.Fields{Row: g.Row, Family: g.CF, Qualifier: g.CQ, Visibility: g.CV, Timestamp: ts, Deleted: g.Del})
}

// goldenEntry is a line of a dump.
type goldenEntry struct {
	goldenKey
	Val hexBytes
	G   int
}

// goldenDirs are the places of golden files: those made for this project, and foreign ones where they are at hand.
func goldenDirs(t testing.TB) []string {
	dirs := []string{"testdata/golden"}
	if dir := foreignTestdata(); dir != "" {
		dirs = append(dirs, filepath.Join(dir, "rfile"))
	} else {
		t.Log("foreign golden files are not at hand: only those in the tree are read")
	}
	return dirs
}

// foreignTestdata is the folder of fixtures that belong to other projects, empty if there is none.
func foreignTestdata() string {
	for _, dir := range []string{os.Getenv("MILLRACE_TESTDATA"), "../../../shared/testdata"} {
		if dir == "" {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "rfile")); err == nil {
			return dir
		}
	}
	return ""
}

func goldenPaths(t testing.TB) []string {
	var all []string
	seen := map[string]bool{}
	for _, dir := range goldenDirs(t) {
		paths, err := filepath.Glob(filepath.Join(dir, "*.golden.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths {
			if !seen[filepath.Base(p)] {
				seen[filepath.Base(p)] = true
				all = append(all, p)
			}
		}
	}
	if len(all) < 15 {
		t.Fatalf("%d golden files found", len(all))
	}
	return all
}

func loadGolden(t testing.TB, path string) goldenFile {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var g goldenFile
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return g
}

func loadDump(t testing.TB, path string) []goldenEntry {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var entries []goldenEntry
	in := bufio.NewScanner(z)
	in.Buffer(nil, 4<<20)
	for in.Scan() {
		var e goldenEntry
		if err := json.Unmarshal(in.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return entries
}

func openPath(t testing.TB, path string) *Reader {
	t.Helper()
	f, err := vfs.OpenPath(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(f, ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// collect reads a group from a place in batches of a size, and checks that the codes are right.
func collect(t testing.TB, r *Reader, g *Group, batch int, rng tablet.Range, f tablet.Families) []tablet.Entry {
	t.Helper()
	c := r.Cursor(g, CursorOptions{BatchEntries: batch})
	defer c.Close()
	if err := c.Seek(context.Background(), rng, f); err != nil {
		t.Fatal(err)
	}
	return drain(t, c, rng)
}

func drain(t testing.TB, c *Cursor, rng tablet.Range) []tablet.Entry {
	t.Helper()
	var all []tablet.Entry
	for {
		b, err := c.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if b == nil {
			return all
		}
		for i := range b.Refs {
			e := b.Entry(i).Clone()
			want := uint64(0)
			switch start, ok := rng.Start(); {
			case len(all) > 0:
				want = tablet.CodeOf(&all[len(all)-1].Key, &e.Key)
			case ok && start.Inclusive:
				want = tablet.CodeOf(&start.Key, &e.Key)
			default:
				want = tablet.CodeOfFirst(&e.Key)
			}
			if b.Codes[i] != want {
				t.Fatalf("code of entry %d, %v: %016x, want %016x", len(all), e.Key, b.Codes[i], want)
			}
			all = append(all, e)
		}
	}
}

// TestGolden holds every golden file against what is known of it: structure, every entry, hashes, index shape.
func TestGolden(t *testing.T) {
	for _, path := range goldenPaths(t) {
		g := loadGolden(t, path)
		t.Run(g.File, func(t *testing.T) {
			r := openPath(t, filepath.Join(filepath.Dir(path), g.File))
			checkStructure(t, r, &g)
			reports, err := verifyAll(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			for i, report := range reports {
				if report.SHA256 != g.Groups[i].SHA256 || report.Entries != g.Groups[i].Entries {
					t.Errorf("group %d: %d entries, %s; want %d, %s", i, report.Entries, report.SHA256, g.Groups[i].Entries, g.Groups[i].SHA256)
				}
			}
			checkEntries(t, r, &g, filepath.Dir(path))
		})
	}
}

func checkStructure(t *testing.T, r *Reader, g *goldenFile) {
	bc := r.Container()
	if v := bc.Version(); v.Major != g.BCFile[0] || v.Minor != g.BCFile[1] {
		t.Errorf("BCFile version %v, want %v", v, g.BCFile)
	}
	if r.Version() != g.RFile || bc.Codec() != g.Codec || bc.MetaIndexOffset() != g.MetaOffset || len(bc.DataRegions()) != g.Regions {
		t.Errorf("version %d codec %s meta %d regions %d", r.Version(), bc.Codec(), bc.MetaIndexOffset(), len(bc.DataRegions()))
	}
	if len(r.Groups()) != len(g.Groups) || len(r.Samples()) != len(g.SampleGroups) {
		t.Fatalf("%d groups, %d samples; want %d, %d", len(r.Groups()), len(r.Samples()), len(g.Groups), len(g.SampleGroups))
	}
	for i := range g.Groups {
		checkGroup(t, r, r.Groups()[i], &g.Groups[i])
	}
	for i := range g.SampleGroups {
		checkGroup(t, r, r.Samples()[i], &g.SampleGroups[i])
	}
	if (r.Sampler() == nil) != (g.Sampler == nil) {
		t.Errorf("sampler %v", r.Sampler())
	}
	if g.Sampler != nil && (r.Sampler().Class != g.Sampler.Class || len(r.Sampler().Options) != len(g.Sampler.Options)) {
		t.Errorf("sampler %v", r.Sampler())
	}
}

func checkGroup(t *testing.T, r *Reader, got *Group, want *goldenGroup) {
	name := ""
	if want.Name != nil {
		name = *want.Name
	}
	if got.Name != name || got.Default != want.Default || got.Tracked != (want.Families != nil) {
		t.Errorf("group %q default %v tracked %v", got.Name, got.Default, got.Tracked)
	}
	families := slices.Clone(got.Families)
	slices.SortFunc(families, func(a, b FamilyCount) int { return bytes.Compare(a.Family, b.Family) })
	for i, f := range families {
		if w := want.Families[i]; !bytes.Equal(f.Family, w.CF) || f.Count != w.Count {
			t.Errorf("%v: family %q with %d, want %q with %d", got, f.Family, f.Count, w.CF, w.Count)
		}
	}
	if len(families) != len(want.Families) || got.HasFirstKey != (want.FirstKey != nil) {
		t.Errorf("%v: %d families, first key %v", got, len(families), got.HasFirstKey)
	}
	if want.FirstKey != nil {
		if k := want.FirstKey.key(); tablet.Compare(&got.FirstKey, &k) != 0 {
			t.Errorf("%v: first key %v, want %v", got, got.FirstKey, k)
		}
	}
	checkIndex(t, r, got, want)
}

func checkIndex(t *testing.T, r *Reader, got *Group, want *goldenGroup) {
	if got.Blocks != want.Index.TotalAdded || got.IndexLevel() != want.Index.RootLevel || got.root.n != want.Index.RootEntries {
		t.Errorf("%v: %d blocks, level %d, %d root entries", got, got.Blocks, got.IndexLevel(), got.root.n)
	}
	nodes, leaves := 0, 0
	err := r.Walk(context.Background(), got, Visitor{
		Node: func(n NodeInfo) error {
			w := want.Index.Nodes[nodes]
			nodes++
			last := w.LastKey.key()
			if n.Level != w.Level || n.Offset != w.Offset || n.HasNext != w.HasNext || n.Entries != w.Entries ||
				n.Region.Offset != w.FileOffset || n.Region.Stored != w.CSize || n.Region.Raw != w.RawSize ||
				tablet.Compare(&n.LastKey, &last) != 0 {
				t.Errorf("%v: node %d: %+v, want %+v", got, nodes, n, w)
			}
			return nil
		},
		Leaf: func(l LeafInfo) error {
			w := want.Index.Leaves[leaves]
			leaves++
			key := w.Key.key()
			if l.Entries != w.NumEntries || l.Region.Offset != w.FileOffset || l.Region.Stored != w.CSize ||
				l.Region.Raw != w.RawSize || tablet.Compare(&l.Key, &key) != 0 {
				t.Errorf("%v: leaf %d: %+v, want %+v", got, leaves, l, w)
			}
			return nil
		},
	})
	if err != nil {
		t.Error(err)
	}
	if nodes != len(want.Index.Nodes) || leaves != len(want.Index.Leaves) {
		t.Errorf("%v: %d nodes, %d leaves; want %d, %d", got, nodes, leaves, len(want.Index.Nodes), len(want.Index.Leaves))
	}
}

// checkEntries holds every entry against the dump, and the hash over all groups merged.
func checkEntries(t *testing.T, r *Reader, g *goldenFile, dir string) {
	dump := loadDump(t, filepath.Join(dir, g.Dump))
	var all []tablet.Entry
	at := 0
	for i, group := range r.Groups() {
		for _, e := range collect(t, r, group, 7, tablet.Range{}, tablet.Families{}) {
			w := dump[at]
			at++
			key := w.key()
			if w.G != i || tablet.Compare(&e.Key, &key) != 0 || !bytes.Equal(e.Value, w.Val) {
				t.Fatalf("entry %d of group %d: %v, want %v of group %d", at, i, e.Key, key, w.G)
			}
			all = append(all, e)
		}
	}
	if at != len(dump) || int64(at) != g.Entries {
		t.Errorf("%d entries, dump holds %d, golden says %d", at, len(dump), g.Entries)
	}
	slices.SortStableFunc(all, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	d := NewDigest()
	for i := range all {
		d.Add(&all[i].Key, all[i].Value)
	}
	if d.Hex() != g.MergedSHA256 {
		t.Errorf("merged hash %s, want %s", d.Hex(), g.MergedSHA256)
	}
}

// TestReproduce writes v8_none.rf from its dump, byte for byte.
func TestReproduce(t *testing.T) {
	want, err := os.ReadFile("testdata/golden/v8_none.rf")
	if err != nil {
		t.Fatal(err)
	}
	golden := openPath(t, "testdata/golden/v8_none.rf")
	var order [][]byte
	for _, f := range golden.Groups()[0].Families {
		order = append(order, f.Family)
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{Codec: "none", BlockBytes: 4096, IndexBlockBytes: DefaultIndexBlockBytes, BCFile: 3, NoSums: true, FamilyOrder: order})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range loadDump(t, "testdata/golden/v8_none.jsonl.gz") {
		k := e.key()
		if err := w.Append(&k, e.Val); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		at := tablet.CommonPrefix(out.Bytes(), want)
		t.Fatalf("written %d bytes, want %d; they differ from byte %d on", out.Len(), len(want), at)
	}
}

// TestSameShape writes the entries of Accumulo's files again and holds blocks, index keys and nodes against them.
func TestSameShape(t *testing.T) {
	f := func(name string, block, index int) {
		t.Helper()
		g := loadGolden(t, "testdata/golden/"+name+".golden.json")
		var out bytes.Buffer
		o := WriterOptions{Codec: "none", BlockBytes: block, IndexBlockBytes: index}
		if g.Sampler != nil {
			o.Sampler = &Sampler{Class: g.Sampler.Class, Options: g.Sampler.Options}
		}
		w, err := NewWriter(&out, o)
		if err != nil {
			t.Fatal(err)
		}
		group := -1
		for _, e := range loadDump(t, "testdata/golden/"+g.Dump) {
			for ; group < e.G; group++ {
				startLike(t, w, &g.Groups[group+1])
			}
			k := e.key()
			if err := w.Append(&k, e.Val); err != nil {
				t.Fatal(err)
			}
		}
		for ; group < len(g.Groups)-1; group++ {
			startLike(t, w, &g.Groups[group+1])
		}
		if _, err := w.Finish(); err != nil {
			t.Fatal(err)
		}
		sameShape(t, name, readBytes(t, out.Bytes()), &g)
	}
	f("v8_none", 4096, DefaultIndexBlockBytes)
	f("v8_multilevel", 1000, 400)
	f("v8_edge", 300, DefaultIndexBlockBytes)
	f("v8_lgs_sample", 2000, 600)
	f("v8_snappy", DefaultBlockBytes, DefaultIndexBlockBytes)
	f("v8_cf1000", DefaultBlockBytes, DefaultIndexBlockBytes)
	f("v8_cf1001", DefaultBlockBytes, DefaultIndexBlockBytes)
	f("v8_cf1002", DefaultBlockBytes, DefaultIndexBlockBytes)
}

func startLike(t *testing.T, w *Writer, g *goldenGroup) {
	t.Helper()
	var err error
	if g.Default {
		err = w.StartDefaultGroup()
	} else {
		var families [][]byte
		for _, f := range g.Families {
			families = append(families, f.CF)
		}
		err = w.StartGroup(*g.Name, families)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func sameShape(t *testing.T, name string, r *Reader, g *goldenFile) {
	t.Helper()
	if len(r.Groups()) != len(g.Groups) || len(r.Samples()) != len(g.SampleGroups) {
		t.Fatalf("%s: %d groups, %d samples", name, len(r.Groups()), len(r.Samples()))
	}
	shapes := append(slices.Clone(g.Groups), g.SampleGroups...)
	for i, group := range append(slices.Clone(r.Groups()), r.Samples()...) {
		want := &shapes[i]
		digest := NewDigest()
		for _, e := range collect(t, r, group, 100, tablet.Range{}, tablet.Families{}) {
			digest.Add(&e.Key, e.Value)
		}
		if digest.Hex() != want.SHA256 {
			t.Errorf("%s, %v: entries hash to %s, want %s", name, group, digest.Hex(), want.SHA256)
		}
		if group.Tracked != (want.Families != nil) || len(group.Families) != len(want.Families) {
			t.Errorf("%s, %v: tracked %v with %d families", name, group, group.Tracked, len(group.Families))
		}
		nodes, leaves := 0, 0
		err := r.Walk(context.Background(), group, Visitor{
			Node: func(n NodeInfo) error {
				w := want.Index.Nodes[nodes]
				nodes++
				if last := w.LastKey.key(); n.Level != w.Level || n.Offset != w.Offset || n.HasNext != w.HasNext ||
					n.Entries != w.Entries || tablet.Compare(&n.LastKey, &last) != 0 {
					t.Errorf("%s, %v: node %d: %+v, want %+v", name, group, nodes, n, w)
				}
				return nil
			},
			Leaf: func(l LeafInfo) error {
				w := want.Index.Leaves[leaves]
				leaves++
				if key := w.Key.key(); l.Entries != w.NumEntries || l.Region.Raw != w.RawSize || tablet.Compare(&l.Key, &key) != 0 {
					t.Errorf("%s, %v: leaf %d: %+v, want %+v", name, group, leaves, l, w)
				}
				return nil
			},
		})
		if err != nil {
			t.Error(err)
		}
		if leaves != len(want.Index.Leaves) || nodes != len(want.Index.Nodes) {
			t.Errorf("%s, %v: %d leaves, %d nodes", name, group, leaves, nodes)
		}
	}
}

// readBytes opens a file that is in memory.
func readBytes(t testing.TB, b []byte) *Reader {
	t.Helper()
	r, err := Open(memFileOf(t, b), ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
