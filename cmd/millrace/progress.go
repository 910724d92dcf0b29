package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"millrace/internal/clock"
)

// progress draws one line on standard error while a command works: how far it is, how fast, and when it will be done.
// On anything but a terminal it draws nothing. set and add may be called from any goroutine, as often as one likes.
type progress struct {
	e     *env
	label string
	unit  string // "B" for bytes, else what is counted
	total int64  // 0 when unknown
	done  atomic.Int64
	since time.Time
	stop  func()

	mu    sync.Mutex
	drawn bool
	ended bool
}

// drawEvery is how often the line is drawn; the first time comes after as long, so that what is quick draws nothing.
const drawEvery = 250 * time.Millisecond

// unitBytes makes a progress count bytes.
const unitBytes = "B"

// progress starts one. total is 0 when nobody knows. The caller ends it before it prints anything else.
func (e *env) progress(label, unit string, total int64) *progress {
	p := &progress{e: e, label: printable(label), unit: unit, total: total, since: e.clock.Now()}
	if e.bar {
		e.drawing.Store(p)
		p.stop = clock.Every(e.clock, drawEvery, p.draw)
	}
	return p
}

func (p *progress) set(done int64) { p.done.Store(done) }
func (p *progress) add(n int64)    { p.done.Add(n) }

// end takes the line away.
func (p *progress) end() {
	if p.stop != nil {
		p.stop()
	}
	p.e.drawing.CompareAndSwap(p, nil)
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.clear()
}

// clear takes the line away until it is drawn again.
func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn {
		fmt.Fprint(p.e.err, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	p.drawn = true
	fmt.Fprint(p.e.err, "\r"+p.line(clock.Since(p.e.clock, p.since))+"\x1b[K")
}

// line is the text after some time has passed.
func (p *progress) line(passed time.Duration) string {
	const width = 24 // of the bar
	done := p.done.Load()
	perSecond := float64(done) / max(passed.Seconds(), 1e-3)
	if p.total <= 0 {
		return fmt.Sprintf("%s  %s, %s/s", p.label, p.count(done), p.count(int64(perSecond)))
	}
	part := min(float64(done)/float64(p.total), 1)
	filled := int(part * width)
	left := "?"
	if done > 0 {
		left = (time.Duration(float64(p.total-min(done, p.total)) / perSecond * float64(time.Second))).Round(time.Second).String()
	}
	return fmt.Sprintf("%s  [%s%s] %3d%%  %s of %s, %s/s, %s left", p.label, strings.Repeat("=", filled), strings.Repeat(" ", width-filled),
		int(part*100), p.count(done), p.count(p.total), p.count(int64(perSecond)), left)
}

func (p *progress) count(n int64) string {
	if p.unit == unitBytes {
		return humanize.IBytes(uint64(max(n, 0)))
	}
	return humanize.Comma(n) + " " + p.unit
}
