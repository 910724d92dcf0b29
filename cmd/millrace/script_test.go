package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"millrace/actors"
	"millrace/tablet"
)

// TestMain lets scripts call the program as millrace, and wants no goroutine to be left behind the tests.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"millrace": main})
}

type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "goleak:", err)
			return 1
		}
	}
	return code
}

// TestScript runs testdata/script/*: the program as a shell sees it, in a process of its own. $GOLDEN is the directory
// with the golden files. Besides the commands of testscript there are
//
//	exits CODE COMMAND ARGS...   the command ends with the code, and if that is not 0 says one line on standard error
//	flip FILE OFFSET BIT         changes one bit of a file
//	cut FILE BYTES               keeps so many bytes of a file
//	alone NAME...                the directory holds just these names, hidden ones counted
func TestScript(t *testing.T) {
	golden, err := filepath.Abs(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOLDEN", golden)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": cmdExits, "flip": cmdFlip, "cut": cmdCut, "alone": cmdAlone, "logged": cmdLogged,
		},
	})
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
	stderr := ts.ReadFile("stderr")
	if lines := strings.Count(stderr, "\n"); code != 0 && lines != 1 || code == 0 && lines != 0 {
		ts.Fatalf("%d lines on standard error with exit code %d", lines, code)
	}
}

// cmdLogged makes a store whose log holds one group of entries for each row, in one segment: the program itself would
// put what it can into one group, and would flush what an earlier run of it has logged whenever it comes to it.
func cmdLogged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: logged STORE TABLE ROWS...")
	}
	ctx := context.Background()
	store, err := actors.Open(ctx, ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(store.CreateTable(ctx, args[1], nil, nil))
	for _, row := range args[2:] {
		m := tablet.NewMutation([]byte(row))
		m.Put([]byte("f"), []byte("q"), nil, []byte("v"))
		ts.Check(store.Apply(ctx, args[1], []*tablet.Mutation{m}))
	}
	ts.Check(store.Close(ctx))
}

func cmdFlip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: flip FILE OFFSET BIT")
	}
	content := []byte(ts.ReadFile(args[0]))
	content[number(ts, args[1])] ^= 1 << number(ts, args[2])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), content, 0o600))
}

func cmdCut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cut FILE BYTES")
	}
	ts.Check(os.Truncate(ts.MkAbs(args[0]), int64(number(ts, args[1]))))
}

func cmdAlone(ts *testscript.TestScript, neg bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs("."))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		if e.Name() != ".tmp" { // testscript's own
			names = append(names, e.Name())
		}
	}
	if neg || strings.Join(names, " ") != strings.Join(args, " ") {
		ts.Fatalf("the directory holds %q, want %q", names, args)
	}
}

func number(ts *testscript.TestScript, text string) int {
	n, err := strconv.Atoi(text)
	ts.Check(err)
	return n
}
