package layout

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mayBlock are functions that Receive methods may reach although they wait, each with why it is no wait for another actor.
var mayBlock = map[string]string{
	"(*millrace/actors/protocol.Port).put": "its channel has a place for the one answer",
}

// mayRead are the actors that may touch files in Receive: they run on goroutines of their own for that.
var mayRead = map[string]string{
	"jobActor":      "a job reads and writes files in steps",
	"scanActor":     "a session reads files, a page a message",
	"logActor":      "it owns the log",
	"manifestActor": "it owns the manifest",
	"filesActor":    "it closes and removes files",
}

// TestReceiveNeverWaits follows every call from every Receive method of the actors, through interfaces to whatever of the
// module implements them, and wants none that waits for somebody: for a channel, a condition, an answer or a time; none that
// sends under a lock; and of files only from the actors that are there for it.
func TestReceiveNeverWaits(t *testing.T) {
	p, err := loadProgram("millrace/actors")
	if err != nil {
		var missing *exec.Error
		if errors.As(err, &missing) {
			t.Skip("no command go")
		}
		t.Fatal(err)
	}
	roots := p.receivers("millrace/actors")
	if len(roots) < 10 {
		t.Fatalf("only %d Receive methods", len(roots))
	}
	used := map[string]bool{}
	waits := 0
	for _, root := range roots {
		for _, w := range p.waits(root) {
			name := w.in.FullName()
			switch {
			case w.file && mayRead[receiverName(root)] != "":
			case mayBlock[name] != "":
				used[name] = true
			default:
				waits++
				t.Errorf("%s: %s: %s, reached by %s", p.fset.Position(w.pos), name, w.what, strings.Join(w.path, " > "))
			}
		}
	}
	for name := range mayBlock {
		if !used[name] {
			t.Errorf("%s is allowed to wait, and no Receive reaches it", name)
		}
	}
	fmt.Fprintf(os.Stdout, "R5A receivers=%d functions=%d waits=%d\n", len(roots), p.reached, waits)
}

// program is the module's packages with their types.
type program struct {
	fset      *token.FileSet
	packages  map[string]*types.Package
	infos     map[string]*types.Info
	functions map[*types.Func]*ast.FuncDecl
	named     []*types.Named // of the module
	reached   int
}

// listed is what the go command tells of a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// loadProgram type-checks a package and all of the module that it imports; other packages are read as they were compiled.
func loadProgram(path string) (*program, error) {
	out, err := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", path).Output()
	if err != nil {
		return nil, err
	}
	p := &program{fset: token.NewFileSet(), packages: map[string]*types.Package{}, infos: map[string]*types.Info{}, functions: map[*types.Func]*ast.FuncDecl{}}
	exports := map[string]string{}
	compiled := importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for d := json.NewDecoder(bytes.NewReader(out)); ; { // dependencies come first
		var l listed
		if err := d.Decode(&l); err == io.EOF {
			return p, nil
		} else if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(l.ImportPath, module+"/") {
			exports[l.ImportPath] = l.Export
			continue
		}
		if err := p.check(l, compiled); err != nil {
			return nil, err
		}
	}
}

// importing finds packages of the module among those that were checked.
type importing struct {
	p        *program
	compiled types.Importer
}

func (i importing) Import(path string) (*types.Package, error) {
	if own := i.p.packages[path]; own != nil {
		return own, nil
	}
	return i.compiled.Import(path)
}

func (p *program) check(l listed, compiled types.Importer) error {
	var files []*ast.File
	for _, name := range l.GoFiles {
		f, err := parser.ParseFile(p.fset, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}}
	pkg, err := (&types.Config{Importer: importing{p, compiled}}).Check(l.ImportPath, p.fset, files, info)
	if err != nil {
		return err
	}
	p.packages[l.ImportPath], p.infos[l.ImportPath] = pkg, info
	for _, f := range files {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok {
				p.functions[info.Defs[fd.Name].(*types.Func)] = fd
			}
		}
	}
	for _, name := range pkg.Scope().Names() {
		if tn, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok {
			if n, ok := tn.Type().(*types.Named); ok && !types.IsInterface(n) && n.TypeParams().Len() == 0 {
				p.named = append(p.named, n)
			}
		}
	}
	return nil
}

// receivers are the Receive methods of a package that take an actor's context.
func (p *program) receivers(path string) (all []*types.Func) {
	for f := range p.functions {
		if f.Pkg().Path() != path || f.Name() != "Receive" {
			continue
		}
		if sig := f.Signature(); sig.Recv() != nil && sig.Params().Len() == 1 && strings.HasSuffix(sig.Params().At(0).Type().String(), "actor.Context") {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *types.Func) int { return strings.Compare(a.FullName(), b.FullName()) })
	return all
}

func receiverName(f *types.Func) string {
	name := f.Signature().Recv().Type().String()
	return name[strings.LastIndexByte(name, '.')+1:]
}

// wait is a place that waits, or touches a file, and how it is reached.
type wait struct {
	in   *types.Func
	pos  token.Pos
	what string
	file bool
	path []string
}

// waits follows all calls from a function.
func (p *program) waits(root *types.Func) (all []wait) {
	from := map[*types.Func]*types.Func{root: nil}
	for queue := []*types.Func{root}; len(queue) > 0; queue = queue[1:] {
		f := queue[0]
		b := body{program: p, in: f, info: p.infos[f.Pkg().Path()]}
		b.walk(p.functions[f].Body)
		b.sendsUnderLock(p.functions[f].Body)
		for _, w := range b.found {
			for at := f; at != nil; at = from[at] {
				w.path = append(w.path, at.Name())
			}
			slices.Reverse(w.path)
			all = append(all, w)
		}
		for _, next := range b.calls {
			if _, seen := from[next]; !seen {
				from[next] = f
				queue = append(queue, next)
			}
		}
	}
	p.reached = max(p.reached, len(from))
	return all
}

// body is one function being read.
type body struct {
	*program
	in    *types.Func
	info  *types.Info
	calls []*types.Func
	found []wait
}

func (b *body) find(pos token.Pos, file bool, what string) {
	b.found = append(b.found, wait{in: b.in, pos: pos, what: what, file: file})
}

// walk looks at everything in a function that runs on its goroutine, function literals included, as they may be called.
func (b *body) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			for _, arg := range n.Call.Args {
				b.walk(arg)
			}
			return false
		case *ast.SelectStmt:
			b.choose(n)
			return false
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				b.find(n.Pos(), false, "receives from a channel")
			}
		case *ast.SendStmt:
			b.find(n.Pos(), false, "sends on a channel")
		case *ast.RangeStmt:
			if _, ok := b.info.TypeOf(n.X).Underlying().(*types.Chan); ok {
				b.find(n.Pos(), false, "ranges over a channel")
			}
		case *ast.Ident:
			if f, ok := b.info.Uses[n].(*types.Func); ok { // called, or taken as a value and perhaps called
				b.use(n.Pos(), f.Origin())
			}
		}
		return true
	})
}

// choose looks at a select: with a default it does not wait.
func (b *body) choose(s *ast.SelectStmt) {
	waits := true
	for _, c := range s.Body.List {
		if c.(*ast.CommClause).Comm == nil {
			waits = false
		}
		for _, stmt := range c.(*ast.CommClause).Body {
			b.walk(stmt)
		}
	}
	if waits {
		b.find(s.Pos(), false, "waits in a select")
	}
}

// slow are functions of other modules that wait.
var slow = map[string]string{
	"(*sync.WaitGroup).Wait": "waits for goroutines", "(*sync.Cond).Wait": "waits for a condition", "time.Sleep": "sleeps",
	"(*github.com/asynkron/protoactor-go/actor.Future).Result": "waits for an answer",
	"(*github.com/asynkron/protoactor-go/actor.Future).Wait":   "waits for an answer",
	"(*os/exec.Cmd).Wait": "waits for a process", "(*os/exec.Cmd).Run": "waits for a process",
}

func (b *body) use(pos token.Pos, f *types.Func) {
	if what := slow[f.FullName()]; what != "" {
		b.find(pos, false, what)
	}
	if f.Pkg() == nil || !strings.HasPrefix(f.Pkg().Path(), module+"/") {
		return
	}
	if recv := f.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
		if f.Pkg().Path() == module+"/internal/vfs" {
			b.find(pos, true, "touches a file by "+f.Name())
			return
		}
		b.implementers(f, recv.Type())
		return
	}
	if b.functions[f] != nil && b.functions[f].Body != nil {
		b.calls = append(b.calls, f)
	}
}

// implementers are the methods that a call of an interface's may reach.
func (b *body) implementers(f *types.Func, iface types.Type) {
	i, ok := iface.Underlying().(*types.Interface)
	if !ok {
		return
	}
	for _, n := range b.named {
		for _, t := range []types.Type{n, types.NewPointer(n)} {
			if !types.Implements(t, i) {
				continue
			}
			if m, _, _ := types.LookupFieldOrMethod(t, true, f.Pkg(), f.Name()); m != nil {
				if own := m.(*types.Func).Origin(); b.functions[own] != nil {
					b.calls = append(b.calls, own)
				}
			}
		}
	}
}

// sendsUnderLock looks for a message sent between the Lock of a mutex and its Unlock, or behind a Lock whose Unlock is
// deferred, in one function.
func (b *body) sendsUnderLock(n *ast.BlockStmt) {
	var held token.Pos
	deferred := map[*ast.CallExpr]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if d, ok := n.(*ast.DeferStmt); ok {
			deferred[d.Call] = true
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		f, ok := b.info.Uses[sel.Sel].(*types.Func)
		if !ok {
			return true
		}
		switch name := f.FullName(); {
		case name == "(*sync.Mutex).Lock" || name == "(*sync.RWMutex).Lock" || name == "(*sync.RWMutex).RLock":
			held = call.Pos()
		case strings.HasSuffix(name, "Unlock") && !deferred[call]:
			held = token.NoPos
		case f.Name() == "Send" && held != token.NoPos:
			b.find(call.Pos(), false, "sends a message under a lock")
		}
		return true
	})
}
