package wal

import (
	"fmt"
	"time"

	"millrace/tablet"
)

// Options are what a Log is made with. A zero field means its default, if it has one.
type Options struct {
	// NextNumber gives the next segment's number: above every number the store ever used. Required.
	NextNumber func() uint64
	// NextLSN is the least LSN to give; that of Recovered counts too. Default 1.
	NextLSN uint64
	// Recovered is what Replay reported of the segments there are; nil if there are none.
	Recovered *Report
	// Now is the time of opening; zero takes that of the first Commit.
	Now time.Time
	// MaxBytes is how long a segment grows before the next is begun (tserver.wal.max.size). Default 1 GiB.
	MaxBytes int64
	// MaxAge is how old a segment gets before the next is begun (tserver.wal.max.age). Default 24 hours.
	MaxAge time.Duration
	// MaxUnsynced bounds the bytes that are kept in memory because they are not on stable storage yet: at levels log and
	// flush a commit syncs beyond it. Default 16 MiB.
	MaxUnsynced int64
	// MaxReferenced is how many segments there are before the tablets that need the oldest are to be flushed
	// (tserver.wal.max.referenced). Default 3.
	MaxReferenced int
}

func (o Options) withDefaults() Options {
	if o.NextLSN == 0 {
		o.NextLSN = 1
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 1 << 30
	}
	if o.MaxAge == 0 {
		o.MaxAge = 24 * time.Hour
	}
	if o.MaxUnsynced == 0 {
		o.MaxUnsynced = 16 << 20
	}
	if o.MaxReferenced == 0 {
		o.MaxReferenced = 3
	}
	return o
}

// Validate names the first bad field with its value. The error is an ErrUsage.
func (o Options) Validate() error {
	o = o.withDefaults()
	switch {
	case o.NextNumber == nil:
		return fmt.Errorf("wal: NextNumber is missing: %w", tablet.ErrUsage)
	case o.MaxBytes < 0:
		return fmt.Errorf("wal: MaxBytes is %d, must be at least 1: %w", o.MaxBytes, tablet.ErrUsage)
	case o.MaxAge < 0:
		return fmt.Errorf("wal: MaxAge is %v, must be above 0: %w", o.MaxAge, tablet.ErrUsage)
	case o.MaxUnsynced < 0:
		return fmt.Errorf("wal: MaxUnsynced is %d, must be at least 1: %w", o.MaxUnsynced, tablet.ErrUsage)
	case o.MaxReferenced < 1:
		return fmt.Errorf("wal: MaxReferenced is %d, must be at least 1: %w", o.MaxReferenced, tablet.ErrUsage)
	}
	return nil
}
