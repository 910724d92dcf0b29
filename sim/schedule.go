package sim

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"millrace/tablet"
)

// Schedule is who runs next when several could. The zero value is Uniform.
type Schedule struct {
	Kind ScheduleKind
	// Changes is how many times a PCT schedule changes its mind. Default 3.
	Changes int
}

// ScheduleKind names a way to choose.
type ScheduleKind uint8

// The kinds of schedule.
const (
	Uniform ScheduleKind = iota // anyone, all alike
	// PCT runs the one of the highest priority; priorities are drawn, and at a few drawn steps whoever has the highest gets
	// the lowest.
	//
	// Source: Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs.
	PCT
	FIFO   // who has waited longest
	LIFO   // who has waited least
	Starve // anyone but one, which runs only when nobody else can
	Burst  // anyone, who then keeps on for a while
)

var scheduleNames = []string{"uniform", "pct", "fifo", "lifo", "starve", "burst"}

func (s Schedule) String() string {
	if s.Kind == PCT && s.Changes > 0 {
		return fmt.Sprintf("pct:%d", s.Changes)
	}
	return scheduleNames[s.Kind]
}

// ParseSchedule reads what String writes. Its errors wrap tablet.ErrUsage.
func ParseSchedule(text string) (Schedule, error) {
	name, changes, with := strings.Cut(text, ":")
	kind := slices.Index(scheduleNames, name)
	s := Schedule{Kind: ScheduleKind(max(kind, 0))}
	var err error
	if with {
		s.Changes, err = strconv.Atoi(changes)
	}
	if kind < 0 || err != nil || with && (s.Kind != PCT || s.Changes < 1) {
		return Schedule{}, fmt.Errorf("%q is not a schedule; there are %s and pct:N: %w", text, strings.Join(scheduleNames, ", "), tablet.ErrUsage)
	}
	return s, nil
}

// ScheduleFor spreads seeds over all kinds of schedule.
func ScheduleFor(seed uint64) Schedule {
	return Schedule{Kind: ScheduleKind(seed % uint64(len(scheduleNames)))}
}

// chooser picks the index of who runs next; there is at least one.
type chooser interface{ choose(ready []*task) int }

func newChooser(s Schedule, seed uint64) chooser {
	r := stream(seed, "schedule")
	switch s.Kind {
	case PCT:
		changes := s.Changes
		if changes == 0 {
			changes = 3
		}
		return newPCT(r, changes)
	case FIFO:
		return order(func(t, best *task) bool { return t.since < best.since })
	case LIFO:
		return order(func(t, best *task) bool { return t.since > best.since })
	case Starve:
		return &starve{rand: r, salt: r.Uint64()}
	case Burst:
		return &burst{rand: r}
	}
	return &uniform{r}
}

// stream is the random stream of a purpose: drawing from one does not shift the others.
func stream(seed uint64, purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

type uniform struct{ rand *rand.Rand }

func (u *uniform) choose(ready []*task) int { return u.rand.IntN(len(ready)) }

// order picks the task that comes before all others.
type order func(t, best *task) bool

func (before order) choose(ready []*task) int {
	best := 0
	for i, t := range ready {
		if before(t, ready[best]) {
			best = i
		}
	}
	return best
}

// pct gives each task a priority by its name, so that an actor which comes back keeps its place.
type pct struct {
	salt    uint64
	at      []uint64 // steps at which it changes its mind, sorted
	step    uint64
	lowered map[string]uint64 // to below all others, the last one the lowest
}

// pctHorizon is the number of steps over which the change points are spread.
const pctHorizon = 2000

func newPCT(r *rand.Rand, changes int) *pct {
	p := &pct{salt: r.Uint64(), lowered: make(map[string]uint64)}
	for range changes {
		p.at = append(p.at, r.Uint64N(pctHorizon))
	}
	slices.Sort(p.at)
	return p
}

func (p *pct) choose(ready []*task) int {
	best := p.best(ready)
	for p.step++; len(p.at) > 0 && p.step > p.at[0]; p.at = p.at[1:] {
		p.lowered[ready[best].name] = uint64(len(p.at))
		best = p.best(ready)
	}
	return best
}

func (p *pct) best(ready []*task) (best int) {
	for i, t := range ready {
		if p.priority(t) > p.priority(ready[best]) {
			best = i
		}
	}
	return best
}

func (p *pct) priority(t *task) uint64 {
	if low, ok := p.lowered[t.name]; ok {
		return low
	}
	return mix(t.hash^p.salt) | 1<<63
}

// starve lets the task with the lowest drawn number wait for ever, as long as another can run.
type starve struct {
	rand   *rand.Rand
	salt   uint64
	victim string
	lowest uint64
}

func (s *starve) choose(ready []*task) int {
	for _, t := range ready {
		if h := mix(t.hash ^ s.salt); s.victim == "" || h < s.lowest {
			s.victim, s.lowest = t.name, h
		}
	}
	i := s.rand.IntN(len(ready))
	if ready[i].name == s.victim && len(ready) > 1 {
		i = (i + 1 + s.rand.IntN(len(ready)-1)) % len(ready)
	}
	return i
}

// burst keeps to one task for a drawn number of steps, or until it has nothing to do.
type burst struct {
	rand *rand.Rand
	on   string
	left int
}

func (b *burst) choose(ready []*task) int {
	if b.left > 0 {
		b.left--
		for i, t := range ready {
			if t.name == b.on {
				return i
			}
		}
	}
	i := b.rand.IntN(len(ready))
	b.on, b.left = ready[i].name, b.rand.IntN(32)
	return i
}

// mix spreads a number over all bits.
//
// Source: the finalizer of SplitMix64.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}
