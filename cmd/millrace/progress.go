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
	unit  string       // "B" for bytes, else what is counted
	total atomic.Int64 // 0 when unknown
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
	p := &progress{e: e, label: plainLabel(label), unit: unit, since: e.clock.Now()}
	p.total.Store(total)
	if e.bar {
		e.drawing.Store(p)
		p.stop = clock.Every(e.clock, drawEvery, p.draw)
	}
	return p
}

// plainLabel keeps a label to one byte a column.
func plainLabel(label string) string { return string(appendText(nil, []byte(label), 0)) }

func (p *progress) set(done int64) { p.done.Store(done) }
func (p *progress) add(n int64)    { p.done.Add(n) }

// of is set for work of which the total becomes known, or changes, only as it goes on.
func (p *progress) of(done, total int64) {
	p.total.Store(total)
	p.done.Store(done)
}

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
	fmt.Fprint(p.e.err, "\r"+p.line(clock.Since(p.e.clock, p.since), p.e.columns()-1)+"\x1b[K")
}

// line is the text after some time has passed, at most width columns of it: a longer one would wrap and stay.
func (p *progress) line(passed time.Duration, width int) string {
	done, total := p.done.Load(), p.total.Load()
	perSecond := float64(done) / max(passed.Seconds(), 1e-3)
	rate := p.count(int64(perSecond)) + "/s"
	if total <= 0 {
		return fit(p.label, "  "+p.count(done)+p.unitName()+", "+rate, width)
	}
	part := min(float64(done)/float64(total), 1)
	left := "?"
	if done > 0 {
		left = (time.Duration(float64(total-min(done, total)) / perSecond * float64(time.Second))).Round(time.Second).String()
	}
	tail := fmt.Sprintf(" %3d%%  %s of %s%s, %s, %s left", int(part*100), p.count(done), p.count(total), p.unitName(), rate, left)
	const most, least, label = 24, 6, 16 // of the bar, and of the label before the bar gives way
	if bar := min(most, width-len(tail)-min(len(p.label), label)-4); bar >= least {
		filled := int(part * float64(bar))
		tail = "  [" + strings.Repeat("=", filled) + strings.Repeat(" ", bar-filled) + "]" + tail
	}
	return fit(p.label, tail, width)
}

// fit puts a label before a text, cut so that both have so many columns at most.
func fit(label, tail string, width int) string {
	const cut = "..."
	if len(label)+len(tail) > width {
		label = label[:max(min(len(label), width-len(tail)-len(cut)), 0)] + cut
	}
	line := label + tail
	return line[:min(len(line), width)]
}

func (p *progress) count(n int64) string {
	if p.unit == unitBytes {
		return humanize.IBytes(uint64(max(n, 0)))
	}
	return humanize.Comma(n)
}

// unitName is what counts are followed by; bytes have their unit in the number.
func (p *progress) unitName() string {
	if p.unit == unitBytes {
		return ""
	}
	return " " + p.unit
}
