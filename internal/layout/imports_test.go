package layout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// actorPackages are the parts of protoactor that the module uses; the rest (remote, cluster, persistence) is not built
// on.
var actorPackages = map[string]bool{"actor": true, "eventstream": true, "ctxext": true, "extensions": true}

const (
	protoactor = "github.com/asynkron/protoactor-go"
	system     = "golang.org/x/sys"
)

// importProblems says what is wrong with the imports of one file.
func importProblems(s *source) []string {
	if s.test {
		return nil
	}
	row, ok := Rows[s.pkg]
	if !ok {
		return []string{fmt.Sprintf("%s: package %s has no row in internal/layout/rows.go; a new package earns one by having a sentence", s.name, s.pkg)}
	}
	var problems []string
	for spec, imported := range s.imports {
		if why := forbidden(s.pkg, row, imported); why != "" {
			problems = append(problems, fmt.Sprintf("%s: %s must not import %s: %s", s.at(spec), s.pkg, imported, why))
		}
	}
	return problems
}

// forbidden says why a package must not import a path; "" if it may.
func forbidden(pkg string, row Row, imported string) string {
	if local, ok := strings.CutPrefix(imported, module+"/"); ok {
		return forbiddenLocal(pkg, row, local)
	}
	first, _, _ := strings.Cut(imported, "/")
	if !strings.Contains(first, ".") {
		return "" // standard library
	}
	if rest, ok := cutModule(imported, protoactor); ok {
		switch {
		case row.May&Protoactor == 0:
			return "only the actors and the simulation know actors"
		case !actorPackages[rest]:
			return "of protoactor only actor, eventstream, ctxext and extensions are used"
		}
		return ""
	}
	if _, ok := cutModule(imported, system); ok && row.May&OS != 0 {
		return ""
	}
	for _, allowed := range row.Modules {
		if _, ok := cutModule(imported, allowed); ok || allowed == "" {
			return ""
		}
	}
	return "its row names no such module"
}

func forbiddenLocal(pkg string, row Row, local string) string {
	to, ok := Rows[local]
	switch {
	case !ok:
		return "it has no row in internal/layout/rows.go"
	case local == "internal/layout":
		return "the map is for its own tests"
	case to.Rank == row.Rank:
		return fmt.Sprintf("both stand at one height (rank %d), and arrows point down", row.Rank)
	case to.Rank > row.Rank:
		return fmt.Sprintf("the arrow points up (rank %d to %d)", row.Rank, to.Rank)
	case row.Column != "" && to.Column != "" && row.Column != to.Column:
		return fmt.Sprintf("%s and %s stand beside each other and know nothing of one another; declare an interface, or let actors connect them", row.Column, to.Column)
	case local == "internal/vfs" && row.May&Files == 0:
		return "its row does not let it touch files"
	case local == "internal/clock" && row.May&Clock == 0:
		return "its row does not let it ask the time"
	case strings.HasPrefix(pkg, "tablet/rfile") && local == "tablet/iter":
		return "the file format knows nothing of iterators"
	}
	return ""
}

// cutModule returns what follows a module's path in an import path.
func cutModule(imported, prefix string) (rest string, ok bool) {
	if imported == prefix {
		return "", true
	}
	return strings.CutPrefix(imported, prefix+"/")
}

func TestImports(t *testing.T) {
	report(t, importProblems)
	written := map[string]bool{}
	for _, s := range sources(t) {
		written[s.pkg] = written[s.pkg] || !s.test
	}
	for _, pkg := range slices.Sorted(maps.Keys(Rows)) {
		if !written[pkg] {
			t.Logf("planned: %s: %s", pkg, Rows[pkg].For)
		}
	}
}

// TestRows holds the map against itself: each row has a sentence, and each package stands above the one whose
// directory it is not below by accident.
func TestRows(t *testing.T) {
	for pkg, row := range Rows {
		if !strings.HasSuffix(row.For, ".") || strings.Count(row.For, ". ") > 0 {
			t.Errorf("%s: %q is not one sentence", pkg, row.For)
		}
		if row.Column == "" && row.Rank >= part && row.Rank <= facade {
			t.Errorf("%s stands in the middle of the map without a column", pkg)
		}
		if row.Column != "" && (row.Rank < part || row.Rank > facade) {
			t.Errorf("%s has a column outside the middle of the map", pkg)
		}
	}
}

func TestImportRules(t *testing.T) {
	f := func(pkg, imported, want string) {
		t.Helper()
		s, err := parse(pkg+"/x.go", []byte("package x\nimport _ "+`"`+imported+`"`))
		if err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(importProblems(s), "\n")
		if want == "" && problems != "" {
			t.Errorf("unexpected: %s", problems)
		}
		if !strings.Contains(problems, want) {
			t.Errorf("%s imports %s: got %q, want %q", pkg, imported, problems, want)
		}
	}
	f("tablet", "fmt", "")
	f("tablet", "millrace/internal/invariant", "")
	f("tablet", "millrace/internal/vfs", "does not let it touch files")
	f("tablet", "millrace/internal/clock", "does not let it ask the time")
	f("tablet", "millrace/tablet/rfile", "tablet/x.go:2: tablet must not import millrace/tablet/rfile: the arrow points up")
	f("tablet/rfile", "millrace/tablet/rfile/bcfile", "")
	f("tablet/rfile/bcfile", "millrace/tablet/rfile", "points up")
	f("tablet/rfile", "millrace/tablet/iter", "points up")
	f("tablet/rfile", "millrace/internal/vfs", "")
	f("tablet/rfile/bcfile", "github.com/pierrec/lz4/v4", "")
	f("tablet/rfile/bcfile", "github.com/klauspost/compress/zstd", "")
	f("tablet/rfile/bcfile", "github.com/klauspost/compressor", "no such module")
	f("tablet/rfile", "github.com/google/btree", "no such module")
	f("tablet/iter", "millrace/tablet/visibility", "")
	f("tablet/iter", "millrace/tablet/memtable", "one height")
	f("tablet/visibility", "millrace/internal/vfs", "does not let it touch files")
	f("tablet/hosted", "millrace/tablet/wal", "")
	f("reader/scan", "millrace/reader/cache", "")
	f("reader/scan", "millrace/writer/binning", "know nothing of one another")
	f("compactor/job", "millrace/compactor/plan", "")
	f("compactor/plan", "millrace/compactor/job", "points up")
	f("writer", "millrace/internal/clock", "")
	f("writer", protoactor+"/actor", "only the actors")
	f("sim/experiment", protoactor+"/actor", "only the actors")
	f("actors/protocol", protoactor+"/actor", "")
	f("actors", protoactor+"/remote", "of protoactor only")
	f("actors", protoactor+"/eventstream", "")
	f("sim", "millrace/actors", "")
	f("actors", "millrace/sim", "points up")
	f("cmd/millrace", "github.com/spf13/cobra", "")
	f("cmd/millrace", "golang.org/x/sys/unix", "no such module")
	f("internal/vfs", "golang.org/x/sys/unix", "")
	f("internal/util", "fmt", "has no row")
	f("actors", "millrace/internal/util", "has no row")
	f("sim", "millrace/internal/layout", "for its own tests")
}
