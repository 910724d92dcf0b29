package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var (
	drawSize = rapid.Custom(func(t *rapid.T) int64 {
		if rapid.Bool().Draw(t, "small") {
			return rapid.Int64Range(0, 12).Draw(t, "bytes")
		}
		return 1 << rapid.Int64Range(0, 40).Draw(t, "log")
	})
	drawOptions = rapid.Custom(func(t *rapid.T) Options {
		return Options{
			Ratio:       rapid.SampledFrom([]float64{0, 1, 1.5, 2, 3, 4}).Draw(t, "ratio"),
			MaxOpen:     rapid.IntRange(2, 12).Draw(t, "open"),
			FileMax:     rapid.IntRange(1, 20).Draw(t, "max"),
			LowestRatio: rapid.SampledFrom([]float64{0, 1, 1.5}).Draw(t, "lowest"),
			MaxSize:     rapid.SampledFrom([]int64{0, 10, 1000, 1 << 30}).Draw(t, "size"),
		}
	})
	drawTablet = rapid.Custom(func(t *rapid.T) Tablet {
		var tab Tablet
		for i, size := range rapid.SliceOfN(drawSize, 0, 25).Draw(t, "sizes") {
			tab.Files = append(tab.Files, File{Number: uint64(i), Name: fmt.Sprintf("f%02d", i/2), Bytes: size})
		}
		tab.Kind = Kind(rapid.IntRange(0, 1).Draw(t, "kind"))
		rest := tab.Files
		for range rapid.IntRange(0, 2).Draw(t, "running") {
			if n := rapid.IntRange(0, len(rest)).Draw(t, "inputs"); n > 0 {
				tab.Running = append(tab.Running, Running{Kind: Kind(rapid.IntRange(0, 1).Draw(t, "its kind")), Inputs: rest[:n]})
				rest = rest[n:]
			}
		}
		return tab
	})
)

// TestPlansHoldTheRules: what any plan of any profile must be.
func TestPlansHoldTheRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(Profiles()).Draw(t, "profile")
		tab, opts := drawTablet.Draw(t, "tablet"), drawOptions.Draw(t, "options")
		if err := opts.Validate(); err != nil {
			t.Fatal(err)
		}
		o := opts.withDefaults()
		jobs := Jobs(p, tab, opts)
		next, ok := Next(p, tab, opts)
		if ok != (len(jobs) > 0) || ok && !reflect.DeepEqual(jobs[0], next) {
			t.Fatalf("next is %v, jobs are %v", next, jobs)
		}
		if len(jobs) > 1 && p != V4_0 || len(tab.Running) > 0 && !p.Parallel() && ok {
			t.Fatalf("%v starts %d jobs beside %d", p, len(jobs), len(tab.Running))
		}
		taken := map[fileID]bool{}
		for _, r := range tab.Running {
			for _, f := range r.Inputs {
				taken[idOf(f)] = true
			}
		}
		for _, job := range jobs {
			for _, f := range job.Inputs {
				if taken[idOf(f)] || !slices.Contains(tab.Files, f) {
					t.Fatalf("%v is taken already, or no file of the tablet", f)
				}
				taken[idOf(f)] = true
			}
			checkSize(t, p, tab, job, o)
		}
	})
}

func checkSize(t *rapid.T, p Profile, tab Tablet, job Plan, o Options) {
	n := len(job.Inputs)
	if n > o.MaxOpen || n < 1 || n == 1 && tab.Kind == System || !slices.IsSortedFunc(job.Inputs, compareFiles) {
		t.Fatalf("%d inputs: %v", n, job.Inputs)
	}
	if job.Full != (n == len(tab.Files)) {
		t.Fatalf("full is %v: %d of %d files", job.Full, n, len(tab.Files))
	}
	sum, largest := float64(job.Bytes()), float64(job.Inputs[n-1].Bytes)
	switch job.Rule {
	case ByRatio:
		if p.Parallel() && !(largest*o.Ratio < sum) {
			t.Fatalf("the ratio is not met: %s", job.Explain())
		}
		// Classic takes the smallest of a set that meets the ratio, and those need not.
		if p == V2_0 && !(largest*o.Ratio <= sum) {
			t.Fatalf("the ratio is not met: %s", job.Explain())
		}
		if p.Parallel() && tab.Kind == System && job.Bytes() > o.MaxSize {
			t.Fatalf("above the size limit: %s", job.Explain())
		}
	case ByFileMax:
		if p.Parallel() || len(tab.Files) <= o.FileMax || n != min(len(tab.Files)-o.FileMax+1, o.MaxOpen) {
			t.Fatalf("%d of %d files at a limit of %d", n, len(tab.Files), o.FileMax)
		}
	case ByLoweredRatio:
		if !p.Parallel() || len(tab.Files) <= o.FileMax || sum/max(largest, 1) <= o.LowestRatio {
			t.Fatalf("ratio lowered for %d files: %s", len(tab.Files), job.Explain())
		}
	case ByWish:
		if tab.Kind != User {
			t.Fatalf("nobody wished for %v", job)
		}
	}
}

// TestOrderOfFilesDoesNotMatter: the same files in another order, the same plan.
func TestOrderOfFilesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(Profiles()).Draw(t, "profile")
		tab, opts := drawTablet.Draw(t, "tablet"), drawOptions.Draw(t, "options")
		before := slices.Clone(tab.Files)
		jobs := Jobs(p, tab, opts)
		minor, takes := MergeMinor(p, tab, opts)
		if !slices.Equal(before, tab.Files) {
			t.Fatalf("planning reordered the tablet's files")
		}
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		tab.Files = slices.Clone(tab.Files)
		rng.Shuffle(len(tab.Files), func(i, j int) { tab.Files[i], tab.Files[j] = tab.Files[j], tab.Files[i] })
		slices.Reverse(tab.Running)
		if again := Jobs(p, tab, opts); !reflect.DeepEqual(again, jobs) {
			t.Fatalf("%v\nin another order: %v", jobs, again)
		}
		if m, ok := MergeMinor(p, tab, opts); m != minor || ok != takes {
			t.Fatalf("a flush takes %v or %v along", minor, m)
		}
	})
}

// TestSearchAgainstDefinition holds the search against the sets it may choose from, by trying them all: the result is a
// stretch that is good, no smaller window start has one, and if the chosen set is not the first candidate then the one
// before would have stood in its way.
func TestSearchAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := candidates(Tablet{Files: drawTablet.Draw(t, "tablet").Files})
		ratio, maxOpen := rapid.SampledFrom([]float64{1.5, 2, 3}).Draw(t, "ratio"), rapid.IntRange(2, 8).Draw(t, "open")
		found := search(files, ratio, maxOpen, math.MaxInt64)
		good := func(w []File) bool {
			return len(w) > 1 && float64(w[len(w)-1].Bytes)*ratio < float64(sumOf(w))
		}
		width := min(len(files), maxOpen)
		for at := 0; at+width <= len(files) && width > 1; at++ {
			window := files[at : at+width]
			var ends []int // lengths of candidates: good prefixes that the next file spoils, or that fill the window
			for n := 2; n <= width; n++ {
				if good(window[:n]) && (n == width || !good(window[:n+1])) {
					ends = append(ends, n)
				}
			}
			if len(ends) == 0 {
				continue
			}
			best := ends[0]
			for _, n := range ends[1:] {
				if sumOf(window[:best]) <= window[n-1].Bytes {
					break
				}
				best = n
			}
			if !slices.Equal(found, window[:best]) {
				t.Fatalf("found %v, want %v", found, window[:best])
			}
			return
		}
		if found != nil {
			t.Fatalf("found %v where nothing is good", found)
		}
	})
}

// TestPlansComeToAnEnd merges until nothing is due: the staircase settles, within the limits, and a wish ends in one file.
func TestPlansComeToAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SampledFrom(Profiles()).Draw(t, "profile")
		tab, opts := drawTablet.Draw(t, "tablet"), drawOptions.Draw(t, "options")
		tab.Running = nil
		before := len(tab.Files)
		var reads []int
		last := Plan{}
		for round := 0; ; round++ {
			next, ok := Next(p, tab, opts)
			if !ok {
				break
			}
			if round > before {
				t.Fatalf("no end after %d rounds, %d files left", round, len(tab.Files))
			}
			tab.Files = slices.DeleteFunc(slices.Clone(tab.Files), func(f File) bool { return slices.Contains(next.Inputs, f) })
			tab.Files = append(tab.Files, File{Number: uint64(1000 + round), Name: "out", Bytes: next.Bytes()})
			reads, last = append(reads, len(next.Inputs)), next
			if tab.Kind == User && next.Full {
				break
			}
		}
		o := opts.withDefaults()
		if tab.Kind == User && before > 0 && (len(tab.Files) != 1 || !last.Full) {
			t.Fatalf("a wish left %d files", len(tab.Files))
		}
		if tab.Kind == User && !p.Parallel() && !slices.Equal(reads, Passes(before, o.MaxOpen)) {
			t.Fatalf("passes of %v, want %v", reads, Passes(before, o.MaxOpen))
		}
		if tab.Kind == System && !p.Parallel() && len(tab.Files) > o.FileMax && len(tab.Files) > 1 {
			t.Fatalf("%d files left at a limit of %d", len(tab.Files), o.FileMax)
		}
	})
}

func TestPassesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, maxOpen := rapid.IntRange(1, 500).Draw(t, "n"), rapid.IntRange(2, 30).Draw(t, "open")
		files := n
		reads := Passes(n, maxOpen)
		for i, read := range reads {
			if read > maxOpen || read < 1 || read == 1 && n > 1 {
				t.Fatalf("a pass reads %d", read)
			}
			files -= read - 1
			if n > maxOpen && i == len(reads)-1 && read != maxOpen {
				t.Fatalf("the last pass reads %d of %d: %v", read, maxOpen, reads)
			}
		}
		if files != 1 {
			t.Fatalf("%d files left", files)
		}
	})
}
