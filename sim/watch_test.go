package sim

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/internal/vfs"
)

// oldest is how old a message may get in the mailbox of a live store, and how long an actor may handle one.
const oldest = 30 * time.Second

// watchdog looks at the mailboxes of a live store again and again.
type watchdog struct {
	mu    sync.Mutex
	found map[string]actors.Backlog
}

// watchStore fails the test when a message waits, or is handled, for longer than 30 s, and then says what every goroutine
// does. It ends with the test.
func watchStore(t testing.TB, s *actors.Store) *watchdog {
	return watchFor(t, s, oldest, func(format string, args ...any) { t.Errorf(format, args...) })
}

func watchFor(t testing.TB, s *actors.Store, most time.Duration, report func(format string, args ...any)) *watchdog {
	w := &watchdog{found: map[string]actors.Backlog{}}
	stop, ended := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(stop); <-ended })
	go func() {
		defer close(ended)
		type seen struct {
			backlog actors.Backlog
			since   time.Time
		}
		last := map[string]seen{}
		ticks := time.NewTicker(most / 20)
		defer ticks.Stop()
		for {
			select {
			case <-stop:
				return
			case now := <-ticks.C:
				next := map[string]seen{}
				for _, b := range s.Runtime().Backlogs() {
					was, ok := last[b.ID]
					if !ok || was.backlog.Delivered != b.Delivered {
						was = seen{b, now}
					}
					next[b.ID] = was
					if now.Sub(was.since) >= most {
						w.tell(b, now.Sub(was.since), report)
					}
				}
				last = next
			}
		}
	}()
	return w
}

// tell reports an actor once.
func (w *watchdog) tell(b actors.Backlog, age time.Duration, report func(format string, args ...any)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, told := w.found[b.ID]; told {
		return
	}
	w.found[b.ID] = b
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	report("actor %s (%s) has been with one message for %v, %d wait for it\n%s", b.ID, b.Kind, age, b.Waiting, stacks)
}

// old is how many actors were found with an old message.
func (w *watchdog) old() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.found)
}

// TestWatchdog has the scheduler of a store stand still for a while, and then go on.
func TestWatchdog(t *testing.T) {
	hold, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var rt *actors.Runtime
	var mu sync.Mutex
	s, err := actors.Open(context.Background(), "", actors.WithFS(vfs.Mem()), actors.WithHooks(actors.Hooks{Received: func(to *actor.PID, _ any) {
		mu.Lock()
		kind := ""
		if rt != nil {
			kind = rt.KindOf(to.Id)
		}
		mu.Unlock()
		if kind == "scheduler" {
			once.Do(func() { close(held); <-hold })
		}
	}}))
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	rt = s.Runtime()
	mu.Unlock()
	told := make(chan string, 10)
	watch := watchFor(t, s, 100*time.Millisecond, func(format string, args ...any) { told <- fmt.Sprintf(format, args...) })
	if err := s.CreateTable(context.Background(), "t", nil, nil); err != nil {
		t.Fatal(err)
	}
	s.Apply(context.Background(), "t", liveBatch(1, 3))
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush(context.Background(), "t") }()
	<-held
	select {
	case text := <-told:
		t.Log(text[:min(len(text), 120)])
	case <-time.After(20 * time.Second):
		t.Error("nothing was told")
	}
	close(hold)
	if err := <-flushed; err != nil {
		t.Error(err)
	}
	if watch.old() == 0 {
		t.Error("the watch-dog counts nothing")
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}
