package plan

import (
	"cmp"
	"fmt"
	"slices"
)

// File is what the planner knows of a file. Name and Number together are unique in a tablet.
type File struct {
	Number uint64
	Name   string
	Bytes  int64
}

// Kind is who asked.
type Kind uint8

// The kinds.
const (
	System Kind = iota // nobody: files are merged as they gather
	User               // somebody wants all files compacted
)

func (k Kind) String() string {
	if k == User {
		return "user"
	}
	return "system"
}

// Running is a compaction under way.
type Running struct {
	Kind   Kind
	Inputs []File
}

// Tablet is what a plan is made for.
type Tablet struct {
	Kind    Kind
	Files   []File    // all that may be compacted, in any order, those of running compactions among them
	Running []Running // their inputs are not touched
	// Held is how many files the tablet has besides Files, which this plan may not touch: those that wait for a User's.
	Held int
}

// Rule is why files were chosen.
type Rule uint8

// The rules.
const (
	ByRatio        Rule = iota // the set meets the ratio
	ByFileMax                  // the tablet has too many files
	ByLoweredRatio             // the tablet has too many files, and this set comes closest to the ratio
	ByWish                     // all files are to be compacted: as many as fit one pass
)

var ruleNames = [...]string{ByRatio: "ratio", ByFileMax: "file max", ByLoweredRatio: "lowered ratio", ByWish: "wish"}

func (r Rule) String() string { return ruleNames[r] }

// Plan is one compaction to run.
type Plan struct {
	Inputs []File // two or more, or one for a User; by size and name ascending
	Full   bool   // the inputs are all files of the tablet
	Rule   Rule
}

// Bytes is what the compaction reads.
func (p *Plan) Bytes() int64 { return sumOf(p.Inputs) }

// Explain says why these files, in one line.
func (p *Plan) Explain() string {
	largest := p.Inputs[len(p.Inputs)-1].Bytes
	return fmt.Sprintf("%v: %d files of %d bytes, largest %d, total %.3g times the largest",
		p.Rule, len(p.Inputs), p.Bytes(), largest, float64(p.Bytes())/float64(max(largest, 1)))
}

// Next is the compaction that is due under a profile's rules; ok is false if none is. It wants valid options.
func Next(p Profile, t Tablet, o Options) (next Plan, ok bool) {
	o = o.withDefaults()
	free := candidates(t)
	if !p.Parallel() && len(t.Running) > 0 || len(free) == 0 {
		return Plan{}, false
	}
	switch {
	case p.Parallel():
		next.Inputs, next.Rule = windowed(t, free, o)
	case t.Kind == User:
		next.Inputs, next.Rule = free[:passFiles(len(free), o.MaxOpen)], ByWish
	case p == V2_0:
		next.Inputs, next.Rule = sliding(free, o)
	default:
		next.Inputs, next.Rule = classic(free, o)
	}
	next.Full = len(next.Inputs) == len(t.Files)+t.Held
	return next, len(next.Inputs) > 0
}

// Jobs are all compactions that the profile starts at once, on different files. Only 4.0 starts more than one.
func Jobs(p Profile, t Tablet, o Options) []Plan {
	if p == V4_0 && t.Kind == User {
		if jobs := forcedJobs(t, o.withDefaults()); jobs != nil {
			return jobs
		}
	}
	next, ok := Next(p, t, o)
	if !ok {
		return nil
	}
	jobs := []Plan{next}
	if p == V4_0 && t.Kind == System {
		jobs = append(jobs, more(t, next, o.withDefaults())...)
	}
	return jobs
}

// candidates are the files that no running compaction reads, sorted by size and name.
func candidates(t Tablet) []File {
	free := slices.Clone(t.Files)
	if len(t.Running) > 0 {
		busy := make(map[fileID]bool)
		for _, r := range t.Running {
			for _, f := range r.Inputs {
				busy[idOf(f)] = true
			}
		}
		free = slices.DeleteFunc(free, func(f File) bool { return busy[idOf(f)] })
	}
	slices.SortFunc(free, compareFiles)
	return free
}

type fileID struct {
	number uint64
	name   string
}

func idOf(f File) fileID { return fileID{f.Number, f.Name} }

// compareFiles orders by size, then name: all rules but for that of equal names see files so.
func compareFiles(a, b File) int {
	return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Number, b.Number))
}

func sumOf(files []File) (n int64) {
	for _, f := range files {
		n += f.Bytes
	}
	return n
}
