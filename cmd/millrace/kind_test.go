package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"millrace/sim/experiment"
)

// TestOutputOfAnotherKind gives each command that writes a file a pipe, or a link to one, where its output is to be, as
// whoever names /dev/stdout does: it is refused, with --force too, and stays what it is.
func TestOutputOfAnotherKind(t *testing.T) {
	s := newShell(t, "v8_edge.rf")
	if err := unix.Mkfifo("pipe", 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	if err := os.Mkdir("plots", 0o700); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"link": "pipe", "v8_edge.sums": "link"}
	for _, name := range (experiment.HeapOptions{}).PlotNames() {
		links["plots/"+name] = "../pipe"
	}
	for name, to := range links {
		if err := os.Symlink(to, name); err != nil {
			t.Fatal(err)
		}
	}
	s.fails(1, "what comes through a pipe is read from standard input, which is -", "rfile", "create", "-i", "pipe", "out.rf")
	s.fails(1, "pipe: neither a file nor a directory; what", "rfile", "split", "--splits", "pipe", "out", "v8_edge.rf")
	before := s.names()
	for _, out := range []string{"pipe", "link"} {
		for _, command := range []string{"rfile create OUT", "rfile convert OUT v8_edge.rf", "rfile compact OUT v8_edge.rf",
			"rfile extents --at m --load-plan OUT v8_edge.rf", "rfile sums v8_edge.rf", "sim heap --quick --json OUT", "sim heap --quick --csv OUT", "sim heap --quick --plots plots"} {
			if t.Failed() {
				return // an experiment would begin
			}
			for _, force := range []string{"", " --force"} {
				s.fails(2, "neither a file nor a directory", strings.Fields(strings.ReplaceAll(command, "OUT", out)+force)...)
			}
		}
	}
	if got := s.names(); !slices.Equal(got, before) {
		t.Errorf("the directory holds %q, want %q", got, before)
	}
	links["pipe"] = ""
	for name := range links {
		if info, err := os.Stat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Errorf("%s is %v now, %v", name, info, err)
		}
	}
}
