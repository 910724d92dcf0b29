package script

import (
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, text string) *Script {
	t.Helper()
	s, err := Parse("x.json", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func run(t *testing.T, text string, m Mode) Result {
	t.Helper()
	r, err := Run(t.Context(), parse(t, text), m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRunSaysWhatFailed runs scripts that expect what is not so.
func TestRunSaysWhatFailed(t *testing.T) {
	f := func(ops, op, found, expected string) {
		t.Helper()
		r := run(t, wrap(ops), Mode{})
		if r.Outcome != Failed || r.Op != op || !strings.Contains(r.Found, found) || !strings.Contains(r.Expected, expected) {
			t.Errorf("%s\n%v\nwant operation %s: found %s; expected %s", ops, r, op, found, expected)
		}
	}
	put := `{"op":"put","row":"r","ts":1,"value":"v"},`
	f(put+`{"op":"scan","expect":[]}`, "1", `1 entries ["r" "":"" "" @1 = "v"]`, "0 entries")
	f(put+`{"op":"scan","expect":[["r","","","",1,"w"]]}`, "1", `@1 = "v"]`, `@1 = "w"]`)
	f(put+`{"op":"scan","expect":[["r","","","",2,"v"]]}`, "1", `@1 = `, `@2 = `)
	f(put+`{"op":"scan","expectCount":2}`, "1", "1 entries", "2 entries")
	f(put+`{"op":"scan","expectFirst":["s","","","",1,"v"]}`, "1", `first of 1 entries ["r"`, `first "s"`)
	f(put+`{"op":"scan","range":{"row":"x"},"expectLast":["s","","","",1,"v"]}`, "1", "last of 0 entries", `last "s"`)
	f(put+`{"op":"scan","expectDigest":"00"}`, "1", "of 1 entries", "digest 00")
	f(put+`{"op":"iter","steps":[{"seek":{},"top":["r","","","",1,"v"]},{"next":1,"top":["s","","","",1,"v"]}]}`, "1.1", "no entry", `"s"`)
	f(put+`{"op":"iter","steps":[{"seek":{},"top":null}]}`, "1.0", `"r"`, "no entry")
	f(put+`{"op":"iter","steps":[{"seek":{}},{"next":2}]}`, "1.1", "next at the end", "no error")
	f(put+`{"op":"put","row":"r","cv":"(","value":"v"}`, "1", "error: ", "no error")
	f(put+`{"op":"put","row":"r","value":"v","expect":"error"}`, "1", "no error", "an error")
	f(`{"op":"batch","mutations":[{"row":"a","updates":[]}]}`, "0", `row "a"`, "no error")
	f(`{"op":"batch","mutations":[{"row":"a","updates":[{"value":"v"}],"expect":"error"}]}`, "0", `no error for the mutation of row "a"`, "an error")
	f(`{"op":"parallel","threads":[[{"op":"put","row":"a"}],[{"op":"put","row":"b"},{"op":"put","row":"c","cv":"("}]]}`, "0.1.1", "error: ", "no error")
	f(put+`{"op":"flush"},{"op":"files","expect":2}`, "2", "1 files", "2 files")
	f(put+`{"op":"flush"},{"op":"files","max":0}`, "2", "1 files", "0 files at most")
	f(`{"op":"read","id":"a","expectCount":0}`, "0", `scan "a" is not open`, "no error")
	f(`{"op":"close","id":"a"}`, "0", `scan "a" is not open`, "no error")
	f(`{"op":"open","id":"a"},{"op":"open","id":"a"}`, "1", "open already", "no error")
	f(put+`{"op":"fault","kind":"eio","on":"create","match":"data"},{"op":"flush"}`, "2", "input/output error", "no error")
	f(put+`{"op":"flush","expect":"error"}`, "1", "no error", "an error")
}

func TestRunPasses(t *testing.T) {
	f := func(ops string, m Mode) {
		t.Helper()
		if r := run(t, wrap(ops), m); r.Outcome != Passed {
			t.Errorf("%s: %v", ops, r)
		}
	}
	modes := []Mode{{}, {Small: true}, {Permuted: true, Seed: 3}}
	for _, m := range modes {
		f(`{"op":"scan","expect":[],"note":"nothing yet"}`, m)
		f(`{"op":"fill","from":9,"to":0,"step":-3,"row":"r{i:2}","ts":"i","value":"{i}"},
			{"op":"scan","expect":[["r00","","","",0,"0"],["r03","","","",3,"3"],["r06","","","",6,"6"],["r09","","","",9,"9"]],"pages":[1,2,3,4,5]},
			{"op":"scan","limit":2,"pages":[1,3],"expectCount":2},{"op":"scan","limit":0,"expect":[]}`, m)
		f(`{"op":"fill","from":9223372036854775800,"to":9223372036854775807,"step":5,"row":"r","cq":"{i}","ts":1},
			{"op":"scan","expectCount":2}`, m)
		f(`{"op":"put","row":"r","ts":1,"value":"v"},{"op":"files","expect":0},{"op":"dir"}`, m)
	}
	f(`{"op":"put","row":"r","ts":1,"value":"v"},{"op":"open","id":"s"},{"op":"open","id":"none","range":{"start":["b"],"end":["a"]}},
		{"op":"put","row":"r","ts":2,"value":"w"},{"op":"flush"},
		{"op":"read","id":"s","n":1,"expect":[["r","","","",1,"v"]]},{"op":"read","id":"s","expect":[]},{"op":"close","id":"s"},
		{"op":"read","id":"none","expect":[]}`, Mode{})
	f(`{"op":"put","row":"r","ts":1,"value":"v"},{"op":"fault","kind":"short","on":"write","match":"data","from":1,"count":1},
		{"op":"flush","expect":"error"},{"op":"flush"},{"op":"dir"}`, Mode{})
}

// A script that needs what nobody has is skipped, by name.
func TestRunSkips(t *testing.T) {
	r := run(t, `{"format":"kv-ops/1","needs":["crash","teleport"],"ops":[{"op":"scan","expectCount":9}]}`, Mode{})
	if r.Outcome != Skipped || r.Lacks != "teleport" || r.String() != "x: skipped: lacks teleport" {
		t.Errorf("%v", r)
	}
}

// An operation over its time is a failure and not a hang.
func TestRunKeepsTime(t *testing.T) {
	r := run(t, `{"format":"kv-ops/1","hints":{"opTimeoutMs":50},"ops":[{"op":"fill","from":0,"to":100000000,"row":"r"}]}`, Mode{})
	if r.Outcome != Failed || r.Op != "0" || r.Expected != "an end within 50ms" {
		t.Errorf("%v", r)
	}
}

// The caller's context ends a run, with everything put away.
func TestRunIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := parse(t, wrap(`{"op":"fill","from":0,"to":100000000,"row":"r"}`))
	time.AfterFunc(50*time.Millisecond, cancel)
	r, err := Run(ctx, s, Mode{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", r, err)
	}
}

func TestModeRuns(t *testing.T) {
	f := func(ops string, want bool) {
		t.Helper()
		if got := (Mode{Permuted: true}).Runs(parse(t, wrap(ops))); got != want {
			t.Errorf("%s: %v", ops, got)
		}
	}
	f(`{"op":"flush"}`, true)
	f(`{"op":"config","maxVersions":2}`, false)
	f(`{"op":"open","id":"s"}`, false)
	f(`{"op":"fault","kind":"eio","on":"read","match":"any"}`, false)
}

// What a run leaves behind is found by the label of its goroutines, and nobody else's.
func TestGoroutinesLeftBehind(t *testing.T) {
	stop, ended := make(chan struct{}), make(chan struct{})
	pprof.Do(t.Context(), pprof.Labels(goroutineLabel, "x 1"), func(context.Context) {
		go func() {
			<-stop
			close(ended)
		}()
	})
	if n, _ := labelled("x 1"); n != 1 {
		t.Errorf("%d goroutines of this run, want 1", n)
	}
	if n, _ := labelled("x 2"); n != 0 {
		t.Errorf("%d goroutines of another run, want none", n)
	}
	close(stop)
	<-ended
	if err := leftGoroutines("x 1"); err != nil {
		t.Error(err)
	}
}

func TestPanicsAreFound(t *testing.T) {
	err := guarded(t.Context(), func(context.Context) error { panic("boom") })
	var m *mismatch
	if !errors.As(err, &m) || !strings.Contains(m.found, "boom") || !strings.Contains(m.found, "run_test.go") {
		t.Errorf("%v", err)
	}
}
