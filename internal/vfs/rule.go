package vfs

import (
	"fmt"
	"path"
	"strings"
	"syscall"
)

// Rule says which calls fail, and how. It counts the calls that match Op, Class and Name since it was added.
type Rule struct {
	Op    Op
	Class Class
	// Name is a pattern of path.Match, for the whole name or, when it has no slash, for the last element. Renames and
	// links match by either name, and by the class of either. Empty matches all.
	Name string
	// N is the number of the matching call that fails, from 1; 0 is 1.
	N int
	// Sticky makes every matching call from the Nth on fail.
	Sticky bool
	// Err is what the call fails with; nil is EIO. It is wrapped with the call and the name, but for the two errors of
	// reading that callers compare for: io.EOF and io.ErrUnexpectedEOF.
	Err error
	// Short is how many bytes of a failing read or write go through before. With Err io.EOF a read looks like one of a
	// shorter file, with Short 0 like one of an empty file.
	Short int
	// After makes the call take effect, and then report the error. A close and an unlock always take effect.
	After bool
	// Silent makes the call do as little as it does else, and report no error: a read or a write that is short without
	// saying why, a sync that was none. Calls that give something back fail all the same.
	Silent bool
	// Sync is what a failing sync of a file does to what was written since the last one. But for SyncKept the files must
	// lie in a MemFS below.
	Sync SyncModel
}

// SyncModel says what becomes of a file's unsynced bytes when its sync fails.
type SyncModel uint8

// The models. Source: fsync on Linux, whose file systems differ in this.
const (
	// SyncKept leaves them pending; a later sync can succeed, and makes them durable.
	SyncKept SyncModel = iota
	// SyncDropped never brings them to the disk, though the process still sees them; every later sync of the file fails too.
	SyncDropped
	// SyncDroppedThenFine is as SyncDropped, but later syncs succeed.
	SyncDroppedThenFine
)

// SyncModels are all models.
var SyncModels = []SyncModel{SyncKept, SyncDropped, SyncDroppedThenFine}

func (m SyncModel) String() string {
	return [...]string{"kept", "dropped", "dropped then fine"}[m]
}

func (r Rule) String() string {
	op, class := r.Op, r.Class
	if op == OpAny {
		op = "any"
	}
	if class == ClassAny {
		class = "any"
	}
	more := ""
	if r.Sticky {
		more = " and on"
	}
	return fmt.Sprintf("%s of %s %q, call %d%s: %v", op, class, r.Name, max(r.N, 1), more, r.failure())
}

func (r Rule) failure() error {
	if r.Err == nil {
		return syscall.EIO
	}
	return r.Err
}

// matches says whether a rule counts a call.
func (r *Rule) matches(c Call) bool {
	return (r.Op == OpAny || r.Op == c.Op) && (r.matchesName(c.Name) || c.To != "" && r.matchesName(c.To))
}

func (r *Rule) matchesName(name string) bool {
	if r.Class != ClassAny && r.Class != ClassOf(name) {
		return false
	}
	if r.Name == "" {
		return true
	}
	if !strings.Contains(r.Name, "/") {
		name = path.Base(name)
	}
	ok, _ := path.Match(r.Name, name) // newCounter has checked the pattern
	return ok
}

// counter is a rule with the calls that it has seen.
type counter[R any] struct {
	rule R
	seen int
}

// due counts a matching call and says whether the rule is due.
func due(seen *int, n int, sticky bool) bool {
	*seen++
	return *seen == max(n, 1) || sticky && *seen > n
}

// mustPattern panics when a pattern is malformed.
func mustPattern(layer, pattern string) {
	if _, err := path.Match(pattern, ""); err != nil {
		panic(fmt.Sprintf("vfs.%s: pattern %q: %v", layer, pattern, err))
	}
}
