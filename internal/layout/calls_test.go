package layout

import (
	"fmt"
	"go/ast"
	"path"
	"strings"
	"testing"
)

// ban is a set of functions of one package that only one package of the module may call.
type ban struct {
	imported string
	names    string // separated by spaces; empty for all
	owner    string
	except   string // one more package that may
	instead  string
}

var bans = []ban{
	{
		imported: "os",
		names: "Open OpenFile OpenInRoot OpenRoot Create CreateTemp NewFile ReadFile WriteFile ReadDir DirFS CopyFS " +
			"Remove RemoveAll Rename Mkdir MkdirAll MkdirTemp Stat Lstat Truncate Link Symlink Readlink Chmod Chown Lchown " +
			"Chtimes Chdir Root",
		owner:   "internal/vfs",
		instead: "files are opened through internal/vfs alone, or the simulator could not stand in",
	},
	{
		imported: "path/filepath",
		names:    "Walk WalkDir Glob EvalSymlinks",
		owner:    "internal/vfs",
		instead:  "directories are read through internal/vfs alone",
	},
	{imported: "io/ioutil", owner: "internal/vfs", instead: "files are opened through internal/vfs alone"},
	{imported: "syscall", names: "Open Openat Creat Unlink Rename Mkdir Rmdir Stat Lstat Flock", owner: "internal/vfs",
		instead: "files are opened through internal/vfs alone"},
	{
		imported: "time",
		names:    "Now Since Until After AfterFunc Sleep Tick NewTimer NewTicker",
		owner:    "internal/clock",
		except:   "actors/actortest", // runs inside testing/synctest, where package time itself is virtual
		instead:  "time comes from a clock.Clock, or the simulator could not stand in",
	},
}

// callProblems says which uses of one file are banned. Uses count, not calls, so that a function value is no way round.
func callProblems(s *source) []string {
	if s.test {
		return nil
	}
	var problems []string
	for _, b := range bans {
		if s.pkg == b.owner || s.pkg == b.except {
			continue
		}
		for spec, imported := range s.imports {
			if imported == b.imported {
				problems = append(problems, b.uses(s, spec)...)
			}
		}
	}
	return problems
}

func (b ban) uses(s *source, spec *ast.ImportSpec) []string {
	local := path.Base(b.imported)
	if spec.Name != nil {
		local = spec.Name.Name
	}
	if local == "." || b.names == "" {
		return []string{fmt.Sprintf("%s: import of %s: %s", s.at(spec), b.imported, b.instead)}
	}
	var problems []string
	ast.Inspect(s.file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok && id.Name == local && strings.Contains(" "+b.names+" ", " "+sel.Sel.Name+" ") {
			problems = append(problems, fmt.Sprintf("%s: %s.%s: %s", s.at(sel), b.imported, sel.Sel.Name, b.instead))
		}
		return true
	})
	return problems
}

func TestOneDoor(t *testing.T) { report(t, callProblems) }

func TestCallRules(t *testing.T) {
	f := func(name, text, want string) {
		t.Helper()
		s, err := parse(name, []byte("package x\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		problems := strings.Join(callProblems(s), "\n")
		if want == "" && problems != "" {
			t.Errorf("%s: unexpected: %s", text, problems)
		}
		if !strings.Contains(problems, want) {
			t.Errorf("%s: got %q, want %q", text, problems, want)
		}
	}
	f("sim/x.go", `import "os"; var f, _ = os.Open("x")`, "sim/x.go:2: os.Open: files are opened")
	f("sim/x.go", `import "os"; var open = os.OpenFile`, "os.OpenFile")
	f("sim/x.go", `import o "os"; var f, _ = o.Open("x")`, "os.Open")
	f("sim/x.go", `import . "os"`, "import of os")
	f("sim/x.go", `import "io/ioutil"`, "import of io/ioutil")
	f("sim/x.go", `import "os"; var a = os.Args`, "")
	f("sim/x.go", `import os "fmt"; var a = os.Open`, "")
	f("sim/x_test.go", `import "os"; var f, _ = os.Open("x")`, "")
	f("internal/vfs/x.go", `import "os"; var f, _ = os.Open("x")`, "")
	f("internal/clock/x.go", `import "os"; var f, _ = os.Open("x")`, "os.Open")
	f("sim/x.go", `import "time"; var t = time.Now()`, "time.Now: time comes from a clock.Clock")
	f("sim/x.go", `import "time"; func f() { time.Sleep(time.Second) }`, "time.Sleep")
	f("sim/x.go", `import "time"; var d = time.Second; var t = time.Unix(1, 0)`, "")
	f("internal/clock/x.go", `import "time"; var t = time.Now()`, "")
	f("actors/actortest/x.go", `import "time"; var t = time.Now()`, "")
	f("actors/actortest/x.go", `import "os"; var f, _ = os.Open("x")`, "os.Open")
	f("internal/vfs/x.go", `import "time"; var t = time.Now()`, "time.Now")
	f("sim/x.go", `import "path/filepath"; var j, g = filepath.Join("a"), filepath.Glob`, "path/filepath.Glob")
}
