package main

import (
	"strings"
	"testing"
)

// TestComplete asks for completions as shells do.
func TestComplete(t *testing.T) {
	s := newShell(t, "v8_lgs_sample.rf")
	f := func(want string, args ...string) {
		t.Helper()
		r := s.run(append([]string{"__complete"}, args...)...)
		if got := strings.Join(strings.Fields(r.out), " "); r.code != 0 || got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
	const filter, dirs, fixed, open = ":8", ":16", ":4", ":6"
	for _, command := range []string{"info", "cat", "verify", "diff", "create", "compact", "convert", "splits", "extents", "sums"} {
		f("rf "+filter, "rfile", command, "")
	}
	f(dirs, "rfile", "split", "")
	f("rf "+filter, "rfile", "split", "out", "")
	f(`lg1 gr\xc3\xbcppe\x00\xf0\x9f\x98\x80 emptygroup `+fixed, "rfile", "cat", "v8_lgs_sample.rf", "--group", "")
	f(fixed, "rfile", "cat", "missing.rf", "--group", "")
	f(fixed, "rfile", "cat", "--group", "")
	f("none gz snappy lz4 zstd "+fixed, "rfile", "convert", "--codec", "")
	f("rf "+filter, "rfile", "create", "--groups-like", "")
	f("none RowSampler RowColumnSampler "+open, "rfile", "create", "--sampler", "")
	f(fixed, "rfile", "create", "--sampler", "RowSampler,")
	f("none RowFunctor ColumnFamilyFunctor ColumnQualifierFunctor "+open, "rfile", "split", "--bloom", "")
	f("TABLE FILE "+fixed, "rfile", "extents", "--plan-type", "")
	f("text json ndjson csv markdown "+fixed, "rfile", "info", "--format", "")
	f("bash zsh fish powershell "+fixed, "completion", "")
	f(open, "rfile", "compact", "--iter", "sum=10,")
	f("x,fam x,unused x,family1 x,family2 x,nothing x,zother x,another "+open, "rfile", "cat", "v8_lgs_sample.rf", "-c", "x,f")

	classes := s.run("__complete", "rfile", "compact", "--iter", "").out
	if !strings.Contains(classes, "\nSummingCombiner=\n") {
		t.Errorf("iterators: %s", classes)
	}
	classes = s.run("__complete", "rfile", "compact", "--iter", "sum=10,class=").out
	if !strings.Contains(classes, "\nsum=10,class=SummingCombiner\n") {
		t.Errorf("classes: %s", classes)
	}
}
