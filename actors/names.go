package actors

import (
	"fmt"
	"strings"

	"millrace/tablet"
)

// Names of actors are built here and parsed nowhere. What may be spawned again while an older one still ends carries an
// incarnation or a number that is never reused.
const (
	nameScheduler = "sched"
	nameBinner    = "bins"
	nameFiles     = "files"
	nameScans     = "scans"
	nameLog       = "log"
	nameManifest  = "manifest"
)

func nameTablet(id uint64, incarnation int) string { return fmt.Sprintf("t.%06d.%d", id, incarnation) }
func nameFlush(job uint64) string                  { return fmt.Sprintf("f.%d", job) }
func nameCompaction(job uint64) string             { return fmt.Sprintf("c.%d", job) }
func nameScan(seq uint64) string                   { return fmt.Sprintf("s.%d", seq) }
func nameWriter(seq uint64) string                 { return fmt.Sprintf("w.%d", seq) }
func nameInbox(seq uint64) string                  { return fmt.Sprintf("in.%d", seq) }

// reserved are beginnings of names that belong to the library.
var reserved = []string{"$", "future", "guardian", "deadletter", "eventstream", "activator", "EndpointSupervisor", "Remote$"}

func checkName(name string) error {
	for _, r := range reserved {
		if strings.HasPrefix(name, r) {
			return fmt.Errorf("name %q: names that begin with %q belong to the actor library: %w", name, r, tablet.ErrUsage)
		}
	}
	if strings.ContainsAny(name, "/ \t\n") {
		return fmt.Errorf("name %q has a slash or a space: %w", name, tablet.ErrUsage)
	}
	return nil
}

// isUnder says whether a name is that of an actor or of one of its descendants.
func isUnder(name, top string) bool {
	rest, ok := strings.CutPrefix(name, top)
	return ok && (rest == "" || rest[0] == '/')
}
