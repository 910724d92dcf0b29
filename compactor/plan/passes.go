package plan

// passFiles is how many of n files the next pass of a compaction of everything reads, the smallest first: all if they fit;
// else as few as leave one full pass for the last; else as many as fit.
func passFiles(n, maxOpen int) int {
	switch {
	case n <= maxOpen:
		return n
	case n < 2*maxOpen:
		return n - maxOpen + 1
	}
	return maxOpen
}

// Passes is how many files each pass of a compaction of n files reads, when maxOpen may be open at once. Each pass gives
// one file, which a later pass reads again. It wants maxOpen of at least 2.
func Passes(n, maxOpen int) (reads []int) {
	for n > 0 {
		read := passFiles(n, maxOpen)
		reads = append(reads, read)
		if read == n {
			break
		}
		n -= read - 1
	}
	return reads
}

// MergeMinor is the file that a flush of the tablet takes along, so that the number of files does not grow: the smallest
// that no running compaction reads, once the tablet has FileMax files. While a major compaction runs, one file more is
// put up with.
func MergeMinor(p Profile, t Tablet, o Options) (f File, ok bool) {
	o = o.withDefaults()
	files := len(t.Files) + t.Held
	if !p.MergesMinor() || files < o.FileMax || len(t.Running) > 0 && files == o.FileMax {
		return File{}, false
	}
	free := candidates(t)
	if len(free) == 0 {
		return File{}, false
	}
	return free[0], true
}
