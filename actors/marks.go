package actors

import (
	"maps"
	"slices"
	"strings"
)

// Mark is how far the mailbox of an actor was filled in its life.
type Mark struct {
	ID, Kind    string
	High, Bound int // messages that waited at once, and how many may; a bound of 0: nobody has stated one
}

// Census is how many actors there were of each kind.
type Census struct{ alive, most, ever map[string]int }

func newCensus() Census {
	return Census{alive: make(map[string]int), most: make(map[string]int), ever: make(map[string]int)}
}

// Most is how many there were at once.
func (c Census) Most(kind string) int { return c.most[kind] }

// Ever is how many there were in all.
func (c Census) Ever(kind string) int { return c.ever[kind] }

// marks is what a runtime remembers of mailboxes. The runtime's lock guards it.
type marks struct {
	census  Census
	fullest map[string]Mark // of each kind, among those that are gone
	over    []Mark          // those that are gone and were filled beyond their bounds
}

func newMarks() marks {
	return marks{census: newCensus(), fullest: make(map[string]Mark)}
}

func (m *marks) begin(kind string) {
	c := &m.census
	c.alive[kind]++
	c.ever[kind]++
	c.most[kind] = max(c.most[kind], c.alive[kind])
}

func (m *marks) end(c *cell) {
	kind := c.spec.Kind
	m.census.alive[kind]--
	mark := m.of(c)
	if mark.High > m.fullest[kind].High {
		m.fullest[kind] = mark
	}
	if mark.over() {
		m.over = append(m.over, mark)
	}
}

func (m *marks) of(c *cell) Mark {
	mark := Mark{ID: c.id, Kind: c.spec.Kind, High: c.box.HighWater(), Bound: c.spec.Bound}
	if c.spec.BoundNow != nil {
		mark.Bound = c.spec.BoundNow(m.census)
	}
	return mark
}

func (m Mark) over() bool { return m.Bound > 0 && m.High > m.Bound }

// Marks lists the fullest mailbox that there has been of each kind of actor, by kind.
func (rt *Runtime) Marks() []Mark {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	fullest := maps.Clone(rt.marks.fullest)
	for _, c := range ordered(rt.alive) {
		if m := rt.marks.of(c); fullest[m.Kind].ID == "" || m.High > fullest[m.Kind].High {
			fullest[m.Kind] = m
		}
	}
	return slices.SortedFunc(maps.Values(fullest), func(a, b Mark) int { return strings.Compare(a.Kind, b.Kind) })
}

// Overfilled lists the mailboxes, of actors dead or alive, that were filled beyond their stated bound, by id.
func (rt *Runtime) Overfilled() []Mark {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	all := slices.Clone(rt.marks.over)
	for _, c := range rt.alive {
		if m := rt.marks.of(c); m.over() {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Mark) int { return strings.Compare(a.ID, b.ID) })
	return all
}
