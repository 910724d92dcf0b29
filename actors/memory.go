package actors

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// memoryManager decides whose memtable is flushed, the largest first, so that all of them together stay between 80 and
// 90 percent of what they may take, and says when writers must wait.
//
// Source: Accumulo's LargestFirstMemoryManager and its hold of commits.
type memoryManager struct {
	max        int64
	flushesMax int // flushes that are started at most, twice the minor compactions that run
	threshold  float64
	prevIngest int64
	observed   int64 // the most there was since the threshold was adapted
	tablets    map[string]tabletMemory
	held       bool
}

// tabletMemory is what a tablet reports.
type tabletMemory struct{ active, flushing int64 }

// memoryTick is how often the manager looks.
const memoryTick = 250 * time.Millisecond

// memoryReport is how much a tablet's memory may grow before it is reported again.
const memoryReport = 32_000

func newMemoryManager(maxBytes int64, minors int) *memoryManager {
	return &memoryManager{max: maxBytes, flushesMax: 2 * minors, threshold: 0.5, tablets: make(map[string]tabletMemory)}
}

// report takes a tablet's figures. held says from then on whether writers must wait.
func (m *memoryManager) report(tablet string, t tabletMemory) {
	if t == (tabletMemory{}) {
		delete(m.tablets, tablet)
	} else {
		m.tablets[tablet] = t
	}
	ingest, flushing, _ := m.sums()
	m.held = float64(ingest+flushing) > 0.95*float64(m.max)
}

// urgent names the tablets that are to be flushed without waiting for the next tick, because the threshold is passed
// already. Accumulo waits; a store with little memory would stand still for most of a tick.
func (m *memoryManager) urgent() (flush []string) {
	ingest, flushing, waiting := m.sums()
	if waiting >= m.flushesMax || !m.held && float64(ingest) <= m.threshold*float64(m.max) {
		return nil
	}
	return m.largest(ingest, flushing, waiting)
}

// idle says that there is nothing in memory, so that nobody need look.
func (m *memoryManager) idle() bool { return len(m.tablets) == 0 }

func (m *memoryManager) sums() (ingest, flushing int64, waiting int) {
	for _, t := range m.tablets {
		ingest += t.active
		flushing += t.flushing
		if t.flushing > 0 {
			waiting++
		}
	}
	return ingest, flushing, waiting
}

// tick names the tablets whose memtables are to be flushed now, the largest first.
func (m *memoryManager) tick() (flush []string) {
	ingest, flushing, waiting := m.sums()
	m.observed = max(m.observed, ingest+flushing)
	change := ingest - m.prevIngest
	m.prevIngest = ingest
	full := m.threshold * float64(m.max)
	if waiting < m.flushesMax && (change >= 0 && float64(ingest+change) > full || m.held) {
		return m.largest(ingest, flushing, waiting)
	}
	if change < 0 {
		m.adapt()
	}
	return nil
}

// largest takes tablets from the largest down, until enough are on their way.
func (m *memoryManager) largest(ingest, flushing int64, waiting int) (flush []string) {
	var candidates []string
	for id, t := range m.tablets {
		if t.flushing == 0 && t.active > 0 {
			candidates = append(candidates, id)
		}
	}
	slices.SortFunc(candidates, func(a, b string) int {
		return cmp.Or(cmp.Compare(m.tablets[b].active, m.tablets[a].active), strings.Compare(a, b))
	})
	total := flushing
	for _, id := range candidates {
		if waiting >= m.flushesMax || 5*total > ingest {
			break
		}
		flush = append(flush, id)
		waiting++
		total += m.tablets[id].active
	}
	return flush
}

// adapt moves the threshold after a flush has freed memory, so that the peaks come to lie between 80 and 90 percent.
func (m *memoryManager) adapt() {
	peak := float64(m.observed) / float64(m.max)
	switch {
	case m.threshold < 0.82 && peak < 0.8:
		m.threshold *= 1.1
	case m.threshold > 0.056 && peak > 0.9:
		m.threshold *= 0.9
	}
	m.observed = 0
}
