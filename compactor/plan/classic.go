package plan

// classic is the rule of 1.x. Files come sorted, smallest first.
//
// Largest files are set aside until the rest meets the ratio; then the smallest of the rest are taken, as many as one job
// may open. That may be a set which no longer meets the ratio itself, as when one of four large files is taken along with
// nine tiny ones: 2.0 repaired it.
func classic(files []File, o Options) ([]File, Rule) {
	if len(files) < 2 {
		return nil, 0
	}
	chosen := 0
	rest, total := files, sumOf(files)
	for len(rest) > 1 {
		largest := rest[len(rest)-1].Bytes
		if meets(largest, total, o.Ratio) {
			chosen = min(len(rest), o.MaxOpen)
			break
		}
		rest, total = rest[:len(rest)-1], total-largest
	}
	if need := surplus(len(files), o); chosen < need {
		return files[:need], ByFileMax
	}
	return files[:chosen], ByRatio
}

// meets is the ratio rule of 1.x and 2.0; 2.1 wants more than the ratio.
func meets(largest, total int64, ratio float64) bool { return float64(largest)*ratio <= float64(total) }

// surplus is how many files must be merged, to one, for a tablet to be back at its limit.
func surplus(files int, o Options) int {
	if files <= o.FileMax {
		return 0
	}
	return min(files-o.FileMax+1, o.MaxOpen)
}

// sliding is the rule of 2.0. Files come sorted, smallest first. It looks at the smallest files that one job may open, and
// sets the largest of them aside until the rest meets the ratio. If that gives too few, it slides the window up.
func sliding(files []File, o Options) ([]File, Rule) {
	need := surplus(len(files), o)
	width := min(len(files), o.MaxOpen)
	window := files[:width]
	for len(window) > 1 && !meets(window[len(window)-1].Bytes, sumOf(window), o.Ratio) {
		window = window[:len(window)-1]
	}
	found := window
	if len(found) < 2 {
		found = nil
	}
	if len(found) == 0 || len(found) < need {
		found = slide(files, width, o.Ratio)
	}
	if len(found) < need {
		return files[:need], ByFileMax
	}
	return found, ByRatio
}

// slide moves a window up until what it shows meets the ratio.
func slide(files []File, width int, ratio float64) []File {
	if width < 2 {
		return nil
	}
	for at := 0; at+width <= len(files); at++ {
		if w := files[at : at+width]; meets(w[width-1].Bytes, sumOf(w), ratio) {
			return w
		}
	}
	return nil
}
