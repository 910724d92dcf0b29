package plan

// search finds the largest run of small files that meets the ratio, unless compacting it first would keep a larger set
// from being compacted later. Files come sorted, smallest first; nil means none. The result is a part of files.
func search(files []File, ratio float64, maxOpen int, maxSize int64) []File {
	files = withinSize(files, maxSize)
	if len(files) < 2 {
		return nil
	}
	width := min(len(files), maxOpen)
	for at := 0; at+width <= len(files); at++ {
		if n := evaluate(files[at:at+width], ratio); n > 0 {
			return files[at : at+n]
		}
	}
	return nil
}

// withinSize is the longest prefix whose sizes sum to no more than maxSize.
func withinSize(files []File, maxSize int64) []File {
	var sum int64
	for i, f := range files {
		if f.Bytes > maxSize-sum {
			return files[:i]
		}
		sum += f.Bytes
	}
	return files
}

// evaluate returns how many of a window's smallest files to compact, 0 for none.
//
// A prefix is good while its largest file times the ratio is below its sum. Where good prefixes end, the set is a candidate.
// A later, larger candidate is better only if compacting the one before would give a file above its largest member, which
// would then stand in the way.
func evaluate(window []File, ratio float64) int {
	const none = -1
	good, best := none, none
	var bestSum int64
	better := func() bool { return best == none || bestSum > window[good].Bytes }
	sum := window[0].Bytes
	for c := 1; c < len(window); c++ {
		size := window[c].Bytes
		sum += size
		if float64(size)*ratio < float64(sum) {
			good = c
		} else if good != none && good == c-1 { // the set has just stopped to be good
			if !better() {
				break
			}
			best, bestSum = good, sum-size
		}
	}
	if good == len(window)-1 && better() {
		best = good
	}
	return best + 1
}

// lowerRatio finds, for a tablet with too many files, the set that comes closest to the ratio: over every window of
// consecutive files and every prefix of it, that with the greatest sum by its largest file. Later ones win ties.
func lowerRatio(files []File, o Options) []File {
	best := 0.0
	var found []File
	width := min(len(files), o.MaxOpen)
	for at := 0; at < len(files); at++ {
		sum := files[at].Bytes
		for end := at + 1; end < min(at+width, len(files)); end++ {
			sum += files[end].Bytes
			if reached := float64(sum) / float64(max(files[end].Bytes, 1)); reached >= best {
				best, found = reached, files[at:end+1]
			}
		}
	}
	if best <= o.LowestRatio {
		return nil
	}
	return found
}
