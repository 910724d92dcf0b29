package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// golden is what is known of a golden file, as far as commands tell the same.
type golden struct {
	Size          int64           `json:"size"`
	BCFileVersion []int           `json:"bcfile_version"`
	RFileVersion  int             `json:"rfile_version"`
	Codec         string          `json:"codec"`
	Entries       int64           `json:"entries"`
	SHA256        string          `json:"merged_sha256"`
	Dump          string          `json:"dump"`
	Metas         json.RawMessage `json:"meta_blocks"`
	Groups        []goldenGroup   `json:"groups"`
	SampleGroups  []goldenGroup   `json:"sample_groups"`
}

type goldenGroup struct {
	Name     *string          `json:"name"`
	Default  bool             `json:"default"`
	Families []familyDocument `json:"column_families"`
	FirstKey *keyDocument     `json:"first_key"`
	Entries  int64            `json:"entries"`
	SHA256   string           `json:"sha256"`
	Index    struct {
		RootLevel int `json:"root_level"`
		Leaves    []struct {
			Key keyDocument `json:"key"`
		} `json:"leaves"`
	} `json:"index"`
}

// forGoldens runs a test on every golden file: those of the tree, and where they are at hand those of Accumulo.
func forGoldens(t *testing.T, test func(t *testing.T, path string, g golden)) {
	foreign := os.Getenv("MILLRACE_TESTDATA")
	if foreign == "" {
		foreign = "../../../shared/testdata"
	}
	done := map[string]bool{}
	for _, dir := range []string{goldenDir, foreign + "/rfile"} {
		paths, err := filepath.Glob(dir + "/*.rf")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			if done[filepath.Base(path)] {
				continue
			}
			done[filepath.Base(path)] = true
			t.Run(filepath.Base(path), func(t *testing.T) {
				path, err := filepath.Abs(path)
				if err != nil {
					t.Fatal(err)
				}
				var g golden
				parseJSON(t, readFile(t, strings.TrimSuffix(path, ".rf")+".golden.json"), &g)
				t.Chdir(t.TempDir())
				test(t, path, g)
			})
		}
	}
	if len(done) == 0 {
		t.Fatal("no golden files")
	}
}

func parseJSON(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
}

// sameJSON compares two values by their JSON.
func sameJSON(t *testing.T, what string, got, want any) {
	t.Helper()
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(want)
	if errA != nil || errB != nil || !bytes.Equal(a, b) {
		t.Errorf("%s: got %.500s, want %.500s", what, a, b)
	}
}

// TestGoldenVerify holds what verify prints as JSON against what is known of each file.
func TestGoldenVerify(t *testing.T) {
	forGoldens(t, func(t *testing.T, path string, want golden) {
		s := &shell{t: t}
		var v verdict
		parseJSON(t, []byte(s.ok("rfile", "verify", "--hash", "--format", "json", path)), &v)
		if !v.OK || v.File != path || v.Error != nil {
			t.Errorf("verdict %+v", v)
		}
		got := golden{Size: *v.Bytes, BCFileVersion: v.BCFileVersion, RFileVersion: v.RFileVersion, Codec: v.Codec, Entries: *v.Entries, SHA256: v.SHA256}
		for _, g := range v.Groups {
			gg := goldenGroup{Name: g.Name, Default: g.Default, Entries: g.Entries, SHA256: g.SHA256}
			gg.Index.RootLevel = g.IndexLevels
			got.Groups = append(got.Groups, gg)
		}
		if len(v.Groups) != len(want.Groups) {
			t.Fatalf("%d groups, want %d", len(v.Groups), len(want.Groups))
		}
		for i, g := range v.Groups {
			if blocks := int64(len(want.Groups[i].Index.Leaves)); g.DataBlocks != blocks {
				t.Errorf("group %d has %d data blocks, want %d", i, g.DataBlocks, blocks)
			}
			want.Groups[i].Families, want.Groups[i].FirstKey, want.Groups[i].Index.Leaves = nil, nil, nil
		}
		want.Dump, want.Metas, want.SampleGroups = "", nil, nil
		got.Groups = append([]goldenGroup{}, got.Groups...)
		sameJSON(t, "verify", got, want)
	})
}

// TestGoldenInfo does the same for info.
func TestGoldenInfo(t *testing.T) {
	forGoldens(t, func(t *testing.T, path string, want golden) {
		s := &shell{t: t}
		var got fileInfo
		parseJSON(t, []byte(s.ok("rfile", "info", "--format", "json", path)), &got)
		if got.Bytes != want.Size || got.Entries != want.Entries || got.RFileVersion != want.RFileVersion || got.Codec != want.Codec {
			t.Errorf("got %+v", got)
		}
		var metas []metaInfo
		parseJSON(t, want.Metas, &metas)
		sameJSON(t, "named blocks", got.MetaBlocks, metas)
		compareGroups(t, "group", got.Groups, want.Groups)
		compareGroups(t, "sample group", got.SampleGroups, want.SampleGroups)
	})
}

func compareGroups(t *testing.T, what string, got []*groupInfo, want []goldenGroup) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d of %s, want %d", len(got), what, len(want))
	}
	for i, g := range got {
		w := want[i]
		sameJSON(t, what+" name", g.Name, w.Name)
		sameJSON(t, what+" first key", g.FirstKey, w.FirstKey)
		if n := len(w.Index.Leaves); n > 0 {
			sameJSON(t, what+" last key", g.LastKey, w.Index.Leaves[n-1].Key)
		}
		if g.Entries != w.Entries || g.IndexLevels != w.Index.RootLevel || g.DataBlocks != int64(len(w.Index.Leaves)) {
			t.Errorf("%s %d: got %+v", what, i, g)
		}
		families := map[string]int64{}
		for _, f := range g.Families {
			families[f.Family] = f.Count
		}
		wanted := map[string]int64{}
		for _, f := range w.Families {
			wanted[f.Family] = f.Count
		}
		if (g.Families == nil) != (w.Families == nil) {
			t.Errorf("%s %d: families %v, want %v", what, i, g.Families, w.Families)
		}
		sameJSON(t, what+" families", families, wanted)
		blocks := int64(0)
		for _, b := range g.BlockBytes {
			blocks += b.Blocks
		}
		if blocks != g.DataBlocks {
			t.Errorf("%s %d: histogram of %d blocks, there are %d", what, i, blocks, g.DataBlocks)
		}
	}
}

// TestGoldenCat holds what cat prints as ndjson against the dumps, byte for byte.
func TestGoldenCat(t *testing.T) {
	forGoldens(t, func(t *testing.T, path string, want golden) {
		s := &shell{t: t}
		if got, dump := s.ok("rfile", "cat", "--format", "ndjson", path), dumpOf(t, path, want); got != dump {
			t.Errorf("got %d bytes, want %d", len(got), len(dump))
		}
	})
}

func dumpOf(t *testing.T, path string, g golden) string {
	t.Helper()
	if g.Dump == "" {
		return ""
	}
	r, err := gzip.NewReader(bytes.NewReader(readFile(t, filepath.Join(filepath.Dir(path), g.Dump))))
	if err != nil {
		t.Fatal(err)
	}
	dump, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(dump)
}

// TestGoldenRoundTrip brings the entries of each file through cat and create, and through convert in each codec and
// with another grouping: they stay the same.
func TestGoldenRoundTrip(t *testing.T) {
	forGoldens(t, func(t *testing.T, path string, want golden) {
		s := &shell{t: t}
		s.stdin = strings.NewReader(s.ok("rfile", "cat", "--format", "ndjson", path))
		s.ok("rfile", "create", "--groups-like", path, "--block-size", "1000", "created.rf")
		s.checkEntries("created.rf", want, true)
		codecs := []string{"none", "gz", "snappy", "lz4", "zstd"}
		if testing.Short() { // one a file, all of them over all files
			n := len(filepath.Base(path)) % len(codecs)
			codecs = codecs[n : n+1]
		}
		for _, codec := range codecs {
			s.ok("rfile", "convert", "--force", "--codec", codec, "--index-block-size", "500", "converted.rf", path)
			s.checkEntries("converted.rf", want, true)
		}
		s.ok("rfile", "convert", "--bcfile", "3", "--groups", "one=a,fam,cf;two=family2", "regrouped.rf", path)
		s.checkEntries("regrouped.rf", want, false)
		s.ok("rfile", "diff", "regrouped.rf", path)
	})
}

// checkEntries compares a file's entries, and those of each of its groups, with what is known.
func (s *shell) checkEntries(name string, want golden, groups bool) {
	s.t.Helper()
	var v verdict
	parseJSON(s.t, []byte(s.ok("rfile", "verify", "--hash", "--format", "json", name)), &v)
	if v.SHA256 != want.SHA256 || *v.Entries != want.Entries || v.RFileVersion != 8 || !*v.Sums {
		s.t.Errorf("%s: %+v", name, v)
	}
	if !groups {
		return
	}
	sums := map[string]string{"": emptyDigest} // a default group is always made
	for _, g := range want.Groups {
		sums[nameOf(g.Name)] = g.SHA256
	}
	got := map[string]string{}
	for _, g := range v.Groups {
		got[nameOf(g.Name)] = g.SHA256
	}
	sameJSON(s.t, name+" groups", got, sums)
}

// emptyDigest is the digest of no entries.
const emptyDigest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func nameOf(name *string) string {
	if name == nil {
		return ""
	}
	return "group " + *name
}
