package experiment

import (
	"slices"
	"time"
)

// Spread is several measurements of one thing.
type Spread struct{ sorted []time.Duration }

// SpreadOf sorts the measurements.
func SpreadOf(all []time.Duration) Spread {
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	return Spread{sorted}
}

// Median is the middle one, or the mean of the two in the middle; 0 of none.
func (s Spread) Median() time.Duration {
	n := len(s.sorted)
	if n == 0 {
		return 0
	}
	return (s.sorted[(n-1)/2] + s.sorted[n/2]) / 2
}

// Min is the least, 0 of none.
func (s Spread) Min() time.Duration {
	if len(s.sorted) == 0 {
		return 0
	}
	return s.sorted[0]
}

// Max is the greatest, 0 of none.
func (s Spread) Max() time.Duration {
	if len(s.sorted) == 0 {
		return 0
	}
	return s.sorted[len(s.sorted)-1]
}

// medianRatio is the median of the pairwise ratios a/b, with the least and the greatest.
func medianRatio(a, b []time.Duration) (median, least, greatest float64) {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, float64(a[i])/float64(b[i]))
	}
	if len(ratios) == 0 {
		return 0, 0, 0
	}
	slices.Sort(ratios)
	n := len(ratios)
	return (ratios[(n-1)/2] + ratios[n/2]) / 2, ratios[0], ratios[n-1]
}
