package experiment

import (
	"math"
	"slices"
	"time"

	"millrace/writer"
)

// studentT95 are the two-sided 95 % quantiles of Student's distribution by degrees of freedom, from 1; beyond them the last.
var studentT95 = []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}

// interval95 is where the geometric mean of ratios lies with a probability of 95 %, if their logarithms are about normal.
// It wants two ratios at least.
func interval95(ratios []float64) (low, high float64) {
	n := float64(len(ratios))
	mean, squares := 0.0, 0.0
	for _, r := range ratios {
		mean += math.Log(r) / n
	}
	for _, r := range ratios {
		squares += (math.Log(r) - mean) * (math.Log(r) - mean)
	}
	t := studentT95[min(len(ratios)-1, len(studentT95))-1]
	half := t * math.Sqrt(squares/(n-1)/n)
	return math.Exp(mean - half), math.Exp(mean + half)
}

// intervalOf compares run by run: b's times over a's.
func intervalOf(a, b []time.Duration) (i Interval) {
	var ratios []float64
	for n := range min(len(a), len(b)) {
		ratios = append(ratios, float64(b[n])/float64(a[n]))
	}
	i.Median = medianOf(ratios)
	if len(ratios) > 1 {
		i.Low, i.High = interval95(ratios)
	}
	return i
}

// ratios compares actors with each other variant at a place.
func (c *writerCell) ratios() []WriterRatio { return c.ratiosOf(writer.Actors.String()) }

// ratiosOf compares one lane with each other; none, if there is no such lane.
func (c *writerCell) ratiosOf(name string) (all []WriterRatio) {
	i := slices.IndexFunc(c.lanes, func(l writerLane) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	for j := range c.lanes {
		if l := &c.lanes[j]; j != i {
			all = append(all, WriterRatio{Over: l.name, WriterPlace: c.at, Pairs: len(l.totals),
				Interval: intervalOf(c.lanes[i].totals, l.totals), CPU: intervalOf(c.lanes[i].cpus, l.cpus)})
		}
	}
	return all
}
