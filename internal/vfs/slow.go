package vfs

import (
	"math/rand/v2"
	"sync"
	"time"
)

// SlowOptions say how long calls take.
type SlowOptions struct {
	// Delay is how long a call takes; nil is no time at all. See RandomDelay.
	Delay func(Call) time.Duration
	// Wait lets that time pass, on whatever clock the test runs by. It runs on the goroutine that calls, before the call
	// has its effect, or after with After.
	Wait  func(Call, time.Duration)
	After bool
}

// SlowFS makes the calls that it passes on take time, and holds some until a test lets them go. It is safe for concurrent
// use.
type SlowFS struct {
	layer
	opts SlowOptions

	mu    sync.Mutex
	gates []*Gate
}

// Slow wraps an FS.
func Slow(inner FS, opts SlowOptions) *SlowFS {
	s := &SlowFS{opts: opts}
	s.layer = layer{inner: inner, around: s.pass}
	return s
}

// RandomDelay draws durations from least to most, in the order of the calls. It is safe for concurrent use.
func RandomDelay(seed uint64, least, most time.Duration) func(Call) time.Duration {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(Call) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return least + time.Duration(rng.Int64N(int64(most-least)+1))
	}
}

// Gate holds one call.
type Gate struct {
	rule    Rule
	seen    int
	reached chan struct{}
	open    chan struct{}
	once    sync.Once
}

// Reached is closed when the call has come.
func (g *Gate) Reached() <-chan struct{} { return g.reached }

// Release lets the call go, now or when it comes.
func (g *Gate) Release() { g.once.Do(func() { close(g.open) }) }

// Hold holds the call that meets a rule, by Op, Class, Name and N, until it is released; with After it has had its effect
// by then. With two calls held a test decides which of them ends first.
func (s *SlowFS) Hold(rule Rule) *Gate {
	mustPattern("Slow", rule.Name)
	g := &Gate{rule: rule, reached: make(chan struct{}), open: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gates = append(s.gates, g)
	return g
}

// met returns the gates that hold a call.
func (s *SlowFS) met(c Call) []*Gate {
	s.mu.Lock()
	defer s.mu.Unlock()
	var met []*Gate
	for _, g := range s.gates {
		if g.rule.matches(c) && due(&g.seen, g.rule.N, false) {
			met = append(met, g)
		}
	}
	return met
}

func (s *SlowFS) pass(p *passage) error {
	gates := s.met(p.Call)
	s.wait(p.Call, gates, false)
	err := p.pass()
	s.wait(p.Call, gates, true)
	return err
}

// wait is what happens before a call, or after it.
func (s *SlowFS) wait(c Call, gates []*Gate, after bool) {
	if s.opts.Delay != nil && s.opts.After == after {
		if d := s.opts.Delay(c); d > 0 {
			s.opts.Wait(c, d)
		}
	}
	for _, g := range gates {
		if g.rule.After == after {
			close(g.reached)
			<-g.open
		}
	}
}
