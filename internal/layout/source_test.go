package layout

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const module = "millrace"

// source is one Go file of the module.
type source struct {
	pkg  string // directory, relative to the module's root
	name string // path, relative to the module's root
	test bool
	text []byte
	fset *token.FileSet
	file *ast.File
}

// at is where a node stands, for messages.
func (s *source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.name, s.fset.Position(n.Pos()).Line)
}

// imports yields the path of each import.
func (s *source) imports(yield func(spec *ast.ImportSpec, importPath string) bool) {
	for _, spec := range s.file.Imports {
		if !yield(spec, strings.Trim(spec.Path.Value, "\"`")) {
			return
		}
	}
}

// parse makes a source of a text; tests of the rules use it with texts of their own.
func parse(name string, text []byte) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		return nil, err
	}
	return &source{pkg: path.Dir(name), name: name, test: strings.HasSuffix(name, "_test.go"), text: text, fset: fset, file: file}, nil
}

// sources reads every Go file of the module but for testdata and hidden directories.
func sources(t *testing.T) []*source {
	t.Helper()
	const root = "../.."
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("this test reads the module's source: %v", err)
	}
	var all []*source
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(file) != ".go" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		s, err := parse(filepath.ToSlash(name), text)
		if err != nil {
			return err
		}
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("found only %d Go files", len(all))
	}
	return all
}

// report runs a rule over the whole module.
func report(t *testing.T, rule func(*source) []string) {
	t.Helper()
	for _, s := range sources(t) {
		for _, problem := range rule(s) {
			t.Error(problem)
		}
	}
}
