package nearest

// Name returns the name that takes the fewest edits to get to, the first of equals; "" if there is none.
func Name(name string, names []string) string {
	best, fewest := "", 0
	for _, n := range names {
		if d := distance(name, n); best == "" || d < fewest {
			best, fewest = n, d
		}
	}
	return best
}

// distance is the least number of bytes to insert, remove or replace, or pairs of neighbours to exchange, that make b of
// a. Source: optimal string alignment.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			d := min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
