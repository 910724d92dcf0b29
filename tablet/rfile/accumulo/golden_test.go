//go:build accumulo

package accumulo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// golden is the part of a golden file's description that matters here.
type golden struct {
	File   string    `json:"file"`
	BCFile [2]uint16 `json:"bcfile_version"`
	Codec  string    `json:"codec"`
	SHA256 string    `json:"merged_sha256"`
}

// goldens are the descriptions in a folder, by the path of their file.
func goldens(t *testing.T, dir string) map[string]golden {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]golden{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var g golden
		if err := json.Unmarshal(text, &g); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Join(dir, g.File)] = g
	}
	return all
}

// TestGolden has Accumulo read the golden files, and the same entries and groups written anew by us.
func TestGolden(t *testing.T) {
	all := goldens(t, "../testdata/golden")
	if len(all) < 15 {
		t.Fatalf("%d golden files found", len(all))
	}
	foreign := os.Getenv("MILLRACE_TESTDATA")
	if foreign == "" {
		foreign = "../../../../shared/testdata"
	}
	old := goldens(t, filepath.Join(foreign, "rfile"))
	if len(old) == 0 {
		t.Log("foreign golden files are not at hand: only those in the tree are read")
	}
	for path, g := range old {
		if _, err := os.Stat(filepath.Join("../testdata/golden", g.File)); err != nil {
			all[path] = g
		}
	}
	eachRelease(t, func(t *testing.T, r *release) {
		for path, g := range all {
			t.Run(g.File, func(t *testing.T) { goldenJudged(t, r, path, g) })
		}
	})
}

func goldenJudged(t *testing.T, r *release, path string, g golden) {
	f := open(t, path)
	entries := entriesIn(t, f)
	if got := tally(entries); got.sha256 != g.SHA256 {
		t.Fatalf("our digest is %s, want %s", got.sha256, g.SHA256)
	}
	families := familiesOf(f)
	switch _, err := r.judge.ask("read", path); {
	case !slices.Contains(r.reads, int(g.BCFile[0])) || !slices.Contains(r.judge.codecs, g.Codec):
		if err == nil {
			t.Errorf("Accumulo %s reads it, which it should not", r.version)
		}
	case err != nil:
		t.Error(err)
	default:
		judged(t, r, path, "golden: "+g.File, settings{}, entries, families, 60)
	}
	codec := g.Codec
	if !canWrite(codec) || !slices.Contains(r.judge.codecs, codec) {
		codec = "gz"
	}
	for _, size := range [][2]int{sizes[1], sizes[3]} {
		s := settings{codec: codec, bcfile: 1, block: size[0], index: size[1], sums: true}
		copied := newPath(t)
		if err := os.WriteFile(copied, rewrite(t, f, s.options(), byRuns), 0o600); err != nil {
			t.Fatal(err)
		}
		judged(t, r, copied, fmt.Sprintf("golden rewritten: %s, %s blocks %d/%d", g.File, codec, size[0], size[1]), s, entries, families, 60)
	}
}
