package actors

import (
	"slices"
	"strings"
)

// Backlog is an actor that has something to do.
type Backlog struct {
	ID, Kind string
	// Waiting is how many messages wait for it, and Delivered how many it was ever given. As long as Delivered stays the same
	// the actor handles the same message, and those that wait get older.
	Waiting   int
	Delivered uint64
}

// Backlogs lists the actors for which messages wait, or that handle one, by ID: for a watch-dog that looks again and again.
func (rt *Runtime) Backlogs() []Backlog {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	var all []Backlog
	for _, c := range rt.alive {
		if waiting, delivered, busy := c.box.backlog(); busy {
			all = append(all, Backlog{ID: c.id, Kind: c.spec.Kind, Waiting: waiting, Delivered: delivered})
		}
	}
	slices.SortFunc(all, func(a, b Backlog) int { return strings.Compare(a.ID, b.ID) })
	return all
}

func (m *Mailbox) backlog() (waiting int, delivered uint64, busy bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.n, m.delivered, m.running || m.user.n > 0
}
