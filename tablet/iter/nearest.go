package iter

// nearest returns the name that takes the fewest edits to get to, the first of equals; "" if there is none.
func nearest(name string, names []string) string {
	best, fewest := "", 0
	for _, n := range names {
		if d := distance(name, n); best == "" || d < fewest {
			best, fewest = n, d
		}
	}
	return best
}

// distance is the least number of bytes to insert, remove or replace that make b of a.
// Source: Wagner and Fischer, The string-to-string correction problem; one row kept.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(b)]
}
