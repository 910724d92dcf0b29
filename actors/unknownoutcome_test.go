package actors_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestUnknownOutcomeMayAppearLater is what Apply says of an unknown outcome: the log panics when an entry is in its file and
// nobody was told. The write is not seen then; it is seen once its tablet was replaced and has read the log, and after the
// store is opened again. Made once more it is there at once, and once to a reader.
func TestUnknownOutcomeMayAppearLater(t *testing.T) {
	var broken atomic.Bool
	mem := vfs.Mem()
	fs := vfs.Trace(mem, vfs.TraceOptions{Before: func(e vfs.Event) {
		if e.Op == vfs.OpSync && broken.Load() {
			broken.Store(false)
			panic("killed by the test")
		}
	}})
	runStore(t, fs, func(t *testing.T, s *actors.Store, k *killer) {
		mustApply(t, s, []*tablet.Mutation{put("a")})
		broken.Store(true)
		err := s.Apply(t.Context(), "ci", []*tablet.Mutation{put("b")})
		if o := tablet.OutcomeOf(err); !errors.Is(err, actors.ErrUnknownOutcome) || !o.Retryable {
			t.Fatalf("write while the log panics: %v", err)
		}
		checkRows(t, s, []string{"a"})
		time.Sleep(time.Minute) // there is a log again
		checkRows(t, s, []string{"a"})
		k.kill("/t.")
		if err := s.Apply(t.Context(), "ci", []*tablet.Mutation{put("c")}); err == nil {
			t.Fatal("the tablet was not killed")
		}
		time.Sleep(time.Minute)
		checkRows(t, s, []string{"a", "b"})
	})
	s := openStore(t, mem)
	checkRows(t, s, []string{"a", "b"})
	mustApply(t, s, []*tablet.Mutation{put("b")})
	checkRows(t, s, []string{"a", "b"})
	closeStore(t, s)
}
