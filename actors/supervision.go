package actors

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/tablet"
)

// rule is one line of the table of supervision. A failed actor always stops; the rule says who replaces it, from
// what, and how patiently.
type rule struct {
	kind     string
	repairer string // who hears of the end and acts
	from     string // what the replacement starts from
	// limit is how many ends within window are too many; 0 means that nothing is replaced.
	limit  int
	window time.Duration
	// first is the delay before a replacement; it doubles with each end within the window, up to most.
	first, most time.Duration
}

// supervision is the whole policy. Nothing is resumed or restarted in place after a panic: its state may be half
// changed, and after a restart nobody would be told.
var supervision = []rule{
	{kind: "engine", repairer: "nobody: the store fails", from: "-"},
	{kind: "scheduler", repairer: "engine", from: "wishes that the tablets send again",
		limit: 5, window: time.Minute, first: 10 * time.Millisecond, most: time.Second},
	{kind: "binner", repairer: "engine", from: "nothing: its requests were refused",
		limit: 5, window: time.Minute, first: 10 * time.Millisecond, most: time.Second},
	{kind: "files", repairer: "engine", from: "the shared table of open files",
		limit: 5, window: time.Minute, first: 10 * time.Millisecond, most: time.Second},
	{kind: "scans", repairer: "engine", from: "nothing: its sessions ended with it",
		limit: 5, window: time.Minute, first: 10 * time.Millisecond, most: time.Second},
	{kind: "log", repairer: "engine", from: "a new segment behind those that there are; what waited is refused",
		limit: 5, window: time.Minute, first: 10 * time.Millisecond, most: time.Second},
	{kind: "manifest", repairer: "engine", from: "a new file with the last certain state; what waited is in doubt",
		limit: 5, window: time.Minute, first: 10 * time.Millisecond, most: time.Second},
	{kind: "tablet", repairer: "engine", from: "what the manifest names, and what the log holds beyond it",
		limit: 5, window: time.Minute, first: 10 * time.Millisecond, most: time.Second},
	{kind: "flush", repairer: "tablet", from: "the frozen memtable",
		limit: 10, window: time.Minute, first: 100 * time.Millisecond, most: 10 * time.Second},
	{kind: "compaction", repairer: "tablet", from: "a new plan over the same files",
		limit: 10, window: time.Minute, first: 100 * time.Millisecond, most: 10 * time.Second},
	{kind: "writer", repairer: "nobody: its batch writer has failed", from: "-"},
	{kind: "scan", repairer: "the client, which gets an error", from: "-"},
}

func ruleOf(kind string) (rule, bool) {
	for _, r := range supervision {
		if r.kind == kind {
			return r, true
		}
	}
	return rule{}, false
}

// stopFailed is the strategy of every actor of ours: a child that panicked is stopped.
type stopFailed struct{ rt *Runtime }

// HandleFailure implements the library's strategy. The panic itself was logged by the guard.
func (s *stopFailed) HandleFailure(_ *actor.ActorSystem, up actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	s.rt.log.Warn("actor is stopped after a panic", slog.String("actor", child.Id), slog.Any("err", reason))
	up.StopChildren(child)
}

// isGone says whether an error is of an actor that ended, by a panic or not, instead of one of its own: it will be asked
// again once it is replaced.
func isGone(err error) bool {
	var panicked *PanicError
	return errors.Is(err, ErrStopped) || errors.As(err, &panicked)
}

// passedOn is the error of an actor that another one had to rely on. Whoever gets it must not take it for the end of the
// one that it asked.
func passedOn(what string, err error) error {
	if isGone(err) {
		return fmt.Errorf("%s is being replaced: %v: %w", what, err, tablet.ErrBusy)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// replacements counts the ends of one child by its rule, in the runtime's time.
type replacements struct {
	rule rule
	rand *rand.Rand
	ends []time.Time // within the window, oldest first
}

func newReplacements(kind string, r *rand.Rand) *replacements {
	rule, _ := ruleOf(kind)
	return &replacements{rule: rule, rand: r}
}

// next notes an end and returns how long to wait before the replacement; ok is false when it is one too many.
func (p *replacements) next(now time.Time) (delay time.Duration, ok bool) {
	for len(p.ends) > 0 && now.Sub(p.ends[0]) > p.rule.window {
		p.ends = p.ends[1:]
	}
	if len(p.ends) > p.rule.limit { // too many already: the newest tell when there is a quiet window
		p.ends = append(p.ends[:0], p.ends[1:]...)
	}
	p.ends = append(p.ends, now)
	if len(p.ends) > p.rule.limit {
		return 0, false
	}
	delay = p.rule.first
	for range len(p.ends) - 1 {
		delay = min(2*delay, p.rule.most)
	}
	// A quarter of noise, so that what failed together does not come back together.
	return delay + time.Duration(p.rand.Int64N(int64(delay)/4+1)), true
}
