package actors

import "time"

// backOff spaces tries while a cause lasts, without randomness: 11 in the first minute, fewer afterwards.
type backOff struct {
	fails int
	next  time.Time
}

const (
	backOffFirst = 250 * time.Millisecond
	backOffMost  = 10 * time.Second
)

// failed notes that a try has failed.
func (b *backOff) failed(now time.Time) {
	b.next = now.Add(b.delay())
	b.fails++
}

// delay is how long to wait after one more failure.
func (b *backOff) delay() time.Duration {
	d := backOffFirst
	for range b.fails {
		if d = 2 * d; d >= backOffMost {
			return backOffMost
		}
	}
	return d
}

// due says whether it is time for another try.
func (b *backOff) due(now time.Time) bool { return !now.Before(b.next) }
