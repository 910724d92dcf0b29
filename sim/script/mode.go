package script

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Mode is how a script is run. The zero value is as it stands.
type Mode struct {
	// Small takes the smallest blocks, cache and messages, and a write of its own for each mutation.
	Small bool
	// Permuted puts a flush or a partial compaction before operations at random, as Seed decides. What counts files is not
	// compared then.
	Permuted bool
	Seed     uint64
}

// Runs says whether a script can be run in this mode: not permuted, if it changes the settings, makes file calls fail or
// holds scans open.
func (m Mode) Runs(s *Script) bool { return !m.Permuted || s.movable() }

func (m Mode) suffix() string {
	text := ""
	if m.Small {
		text = " (small)"
	}
	if m.Permuted {
		text += fmt.Sprintf(" (permuted, seed %d)", m.Seed)
	}
	return text
}

// String names the mode.
func (m Mode) String() string {
	switch {
	case m.Permuted && m.Small:
		return fmt.Sprintf("small and permuted with seed %d", m.Seed)
	case m.Permuted:
		return fmt.Sprintf("permuted with seed %d", m.Seed)
	case m.Small:
		return "small"
	}
	return "as it stands"
}

// pageEntries bounds what one message of a scan carries.
func (m Mode) pageEntries() int {
	if m.Small {
		return 2
	}
	return 0
}

// group is how many mutations of a series are written at once.
func (m Mode) group() int {
	if m.Small {
		return 1
	}
	return 16
}

// noise does something that changes no answer, or nothing: as often as the model does.
func (r *runner) noise(ctx context.Context) error {
	switch x := r.rand.Float64(); {
	case x < 0.25:
		return r.store.Flush(ctx, tableName)
	case x < 0.45:
		return r.partial(ctx, func(n int) (lo, hi int) {
			lo = r.rand.IntN(n)
			return lo, lo + 1 + r.rand.IntN(n-lo)
		}, 0)
	}
	return nil
}

// runs counts runs, to tell their goroutines apart.
var runs atomic.Uint64
