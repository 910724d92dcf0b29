package plan

import (
	"math"
	"slices"
)

// windowed is the rule of 2.1 and 4.0 for one job. free are the candidates, sorted.
func windowed(t Tablet, free []File, o Options) ([]File, Rule) {
	if t.Kind == User {
		return windowedUser(t, free, o)
	}
	if len(t.Running) > 0 {
		return besideRunning(t, free, o), ByRatio
	}
	if found := search(free, o.Ratio, o.MaxOpen, o.MaxSize); found != nil {
		return found, ByRatio
	}
	if len(free) > o.FileMax && t.Held == 0 {
		return lowerRatio(free, o), ByLoweredRatio
	}
	return nil, 0
}

// windowedUser compacts towards one file: a set that meets the ratio first, unless that would leave the rest unbalanced.
func windowedUser(t Tablet, free []File, o Options) ([]File, Rule) {
	if len(t.Running) == 0 {
		found := search(free, o.Ratio, o.MaxOpen, math.MaxInt64)
		if found != nil && len(found) < len(free) && len(free) <= o.MaxOpen {
			after := withPretend(without(free, found), pretend(0, found))
			if search(after, o.Ratio, o.MaxOpen, math.MaxInt64) == nil {
				return free, ByWish
			}
		}
		if found != nil {
			return found, ByRatio
		}
	}
	for _, r := range t.Running {
		if r.Kind == User {
			return nil, 0
		}
	}
	return free[:passFiles(len(free), o.MaxOpen)], ByWish
}

// besideRunning searches while other compactions run. Each stands in as a pretend file of the size it will have; a set
// with a pretend file in it is better waited for, and stands in as another.
func besideRunning(t Tablet, free []File, o Options) []File {
	files := slices.Clone(free)
	for i, r := range t.Running {
		files = withPretend(files, pretend(i, r.Inputs))
	}
	for i := len(t.Running); ; i++ {
		found := search(files, o.Ratio, o.MaxOpen, o.MaxSize)
		if found == nil || !slices.ContainsFunc(found, isPretend) {
			return found
		}
		files = withPretend(without(files, found), pretend(i, found))
	}
}

// more are the further jobs of 4.0: as long as sets of the full size are found, each but the last standing in as a pretend
// file of the size it will have.
func more(t Tablet, first Plan, o Options) (jobs []Plan) {
	if first.Rule != ByRatio {
		return nil
	}
	running := slices.Clone(t.Running)
	for last := first; len(last.Inputs) == o.MaxOpen; {
		running = append(running, Running{Kind: System, Inputs: last.Inputs})
		rest := Tablet{Files: t.Files, Running: running}
		found := besideRunning(rest, candidates(rest), o)
		if found == nil {
			break
		}
		last = Plan{Inputs: found, Rule: ByRatio}
		jobs = append(jobs, last)
	}
	return jobs
}

// forcedJobs are the jobs with which 4.0 starts on a user's wish when no set meets the ratio: of n files, n/MaxOpen - 1
// jobs of full size, the smallest files first. nil if that is none, or the rules for one job apply.
func forcedJobs(t Tablet, o Options) (jobs []Plan) {
	free := candidates(t)
	n := len(free)/o.MaxOpen - 1
	if len(t.Running) > 0 || n < 2 || search(free, o.Ratio, o.MaxOpen, math.MaxInt64) != nil {
		return nil
	}
	for i := range n {
		jobs = append(jobs, Plan{Inputs: free[i*o.MaxOpen : (i+1)*o.MaxOpen], Rule: ByWish})
	}
	return jobs
}

// pretendName is of no file, and sorts behind all names of files.
const pretendName = "\xff"

func isPretend(f File) bool { return f.Name == pretendName }

// pretend is the i-th pretend file: it stands for the output of a compaction.
func pretend(i int, inputs []File) File {
	return File{Number: uint64(i), Name: pretendName, Bytes: sumOf(inputs)}
}

// withPretend adds a pretend file and sorts anew.
func withPretend(files []File, f File) []File {
	files = append(files, f)
	slices.SortFunc(files, compareFiles)
	return files
}

// without returns the files that are not among those taken, which are a stretch of the same slice's content.
func without(files, taken []File) []File {
	return slices.DeleteFunc(slices.Clone(files), func(f File) bool { return slices.Contains(taken, f) })
}
