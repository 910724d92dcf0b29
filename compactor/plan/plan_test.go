package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"millrace/tablet"
)

// TestPlan runs testdata/plan/*: files as name:bytes, golden lines are the chosen inputs. Rewrite with:
// go test ./compactor/plan -rewrite
//
//	next    the compaction that is due      profile=2.1 kind=system|user ratio= open= max= lowest= size= held=
//	jobs    all that are started at once    the same
//	minor   the file that a flush takes     the same
//	passes  reads of each pass              n= open=
//
// A line that begins with "running" or "user" names the inputs of a compaction under way.
func TestPlan(t *testing.T) {
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, runCommand)
	})
}

func runCommand(t *testing.T, d *datadriven.TestData) string {
	if d.Cmd == "passes" {
		var n, open int
		d.ScanArgs(t, "n", &n)
		d.ScanArgs(t, "open", &open)
		return strings.Trim(fmt.Sprint(Passes(n, open)), "[]")
	}
	p, tab, opts := parseCommand(t, d)
	if err := opts.Validate(); err != nil {
		return err.Error()
	}
	switch d.Cmd {
	case "next":
		next, ok := Next(p, tab, opts)
		return formatPlan(next, ok)
	case "jobs":
		var b strings.Builder
		for _, job := range Jobs(p, tab, opts) {
			b.WriteString(formatPlan(job, true))
		}
		return b.String()
	case "minor":
		if f, ok := MergeMinor(p, tab, opts); ok {
			return f.Name
		}
		return "none"
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

func parseCommand(t *testing.T, d *datadriven.TestData) (p Profile, tab Tablet, opts Options) {
	name := "2.1"
	d.MaybeScanArgs(t, "profile", &name)
	p, err := ParseProfile(name)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	for key, dst := range map[string]*float64{"ratio": &opts.Ratio, "lowest": &opts.LowestRatio} {
		text := "0"
		d.MaybeScanArgs(t, key, &text)
		if *dst, err = strconv.ParseFloat(text, 64); err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	d.MaybeScanArgs(t, "open", &opts.MaxOpen)
	d.MaybeScanArgs(t, "max", &opts.FileMax)
	d.MaybeScanArgs(t, "size", &opts.MaxSize)
	d.MaybeScanArgs(t, "held", &tab.Held)
	if kind := ""; d.HasArg("kind") {
		d.ScanArgs(t, "kind", &kind)
		if kind == "user" {
			tab.Kind = User
		}
	}
	parseFiles(t, d, &tab)
	return p, tab, opts
}

func parseFiles(t *testing.T, d *datadriven.TestData, tab *Tablet) {
	byName := map[string]File{}
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		if words[0] == "running" || words[0] == "user" {
			r := Running{}
			if words[0] == "user" {
				r.Kind = User
			}
			for _, name := range words[1:] {
				f, ok := byName[name]
				if !ok {
					d.Fatalf(t, "no file %s", name)
				}
				r.Inputs = append(r.Inputs, f)
			}
			tab.Running = append(tab.Running, r)
			continue
		}
		for _, word := range words {
			name, size, _ := strings.Cut(word, ":")
			bytes, err := strconv.ParseInt(size, 10, 64)
			if err != nil {
				d.Fatalf(t, "%s: %v", word, err)
			}
			f := File{Number: uint64(len(byName)), Name: name, Bytes: bytes}
			byName[name] = f
			tab.Files = append(tab.Files, f)
		}
	}
}

func formatPlan(p Plan, ok bool) string {
	if !ok {
		return "none\n"
	}
	var names []string
	for _, f := range p.Inputs {
		names = append(names, f.Name)
	}
	return fmt.Sprintf("%s full=%v (%s)\n", strings.Join(names, " "), p.Full, p.Explain())
}

func TestParseProfile(t *testing.T) {
	for _, p := range Profiles() {
		if got, err := ParseProfile(p.String()); got != p || err != nil {
			t.Errorf("ParseProfile(%v) = %v, %v", p, got, err)
		}
	}
	if _, err := ParseProfile("2.2"); !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), "1.5, 1.10, 2.0, 2.1, 4.0") {
		t.Errorf("unknown profile: %v", err)
	}
	if got := (Profile)(0); got.String() != "2.1" {
		t.Errorf("the default is %v", got)
	}
}

func TestPassesTable(t *testing.T) {
	f := func(n int, want ...int) {
		t.Helper()
		if got := Passes(n, 10); !slices.Equal(got, want) {
			t.Errorf("Passes(%d) = %v, want %v", n, got, want)
		}
	}
	f(0)
	f(1, 1)
	f(10, 10)
	f(11, 2, 10)
	f(15, 6, 10)
	f(20, 10, 2, 10)
	f(25, 10, 7, 10)
	f(35, 10, 10, 8, 10)
}
