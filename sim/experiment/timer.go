package experiment

import (
	"time"

	"millrace/internal/clock"
)

// timer measures wall and processor time of a stretch.
type timer struct {
	clock clock.Clock
	start time.Time
	cpu   time.Duration
}

func startTimer(c clock.Clock) timer { return timer{c, c.Now(), clock.ProcessCPU()} }

func (t timer) stop() (wall, cpu time.Duration) {
	return clock.Since(t.clock, t.start), clock.ProcessCPU() - t.cpu
}
