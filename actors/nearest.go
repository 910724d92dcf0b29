package actors

// nearest returns the known name that is closest to the given one, by the fewest letters added, removed or changed.
func nearest(name string, known []string) string {
	best, bestAt := "", len(name)+1
	for _, k := range known {
		if d := editDistance(name, k); d < bestAt || best == "" {
			best, bestAt = k, d
		}
	}
	return best
}

// editDistance is Levenshtein's, with one row of the table at a time.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(diagonal+cost, row[j]+1, row[j+1]+1)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
