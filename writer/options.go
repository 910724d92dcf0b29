package writer

import (
	"fmt"
	"math"
	"time"

	"millrace/internal/nearest"
	"millrace/tablet"
)

// Options tunes a BatchWriter. A zero field means its default.
//
// Source: Accumulo's BatchWriterConfig, which has the first five.
type Options struct {
	// MemoryBytes bounds the estimated memory of all that was added and is not yet acknowledged; it is passed by one
	// mutation at most, so that one of any size can be added. Default 50 MiB.
	MemoryBytes int64
	// Latency is how long a mutation may wait before it is sent on its way. Default 2 minutes; NoLatency: for ever.
	Latency time.Duration
	// Timeout is how long mutations that were sent may wait for a tablet that applies nothing. Default: for ever.
	Timeout time.Duration
	// Threads is how many actors hand sets to a destination that blocks. Default 3.
	Threads int
	// Durability is how safe mutations are to be before they count as written. Default: as the table says.
	Durability tablet.Durability

	// MutationBytes is the largest mutation that is taken, in packed bytes. Default what a tablet takes, 2 GiB less 1 MiB.
	MutationBytes int64
	// AtLeastOnce has mutations sent again whose outcome is not known because a tablet ended while it had them, as
	// Accumulo does: they may then be there twice, under two timestamps, which shows where a table keeps more than one
	// version. Otherwise they are named in the error.
	AtLeastOnce bool
	// Variant is how adding and binning go together. Default Actors.
	Variant Variant
	// Binners is how many actors bin in Actors. Default what Go may run at once, from 2 to 8. Up to 4 bin for all rows, in
	// turn; of more each has rows of its own, unless MemoryBytes is less than 1 MiB for each.
	Binners int
}

// NoLatency is a Latency that has nothing sent by time.
const NoLatency = time.Duration(math.MaxInt64)

// Variant is how adding and binning go together: ours, and those that the ticket ACCUMULO-1755 is about, for comparison.
type Variant uint8

const (
	// Actors: a full buffer goes to one of several actors, which bins it. If there are many actors each has a buffer of its
	// own, by row. No add ever waits for binning.
	Actors Variant = iota
	// Locked: one buffer, and whoever fills it bins it before anybody else may add. Source: Accumulo before 1.6.6.
	Locked
	// Handoff: one buffer, which one actor bins; whoever fills another meanwhile bins it himself, while nobody may add.
	// Source: Accumulo since 1.6.6, 1.7.2 and 1.8.0.
	Handoff
	// NoSync is Handoff with adds that take no common lock: whoever fills a set bins it himself if the actor is busy, and
	// others go on. Source: the second experiment of the ticket, which was not merged.
	NoSync
)

var variantNames = [...]string{"actors", "locked", "handoff", "nosync"}

// Variants are all of them, ours first.
var Variants = []Variant{Actors, Locked, Handoff, NoSync}

func (v Variant) String() string {
	if int(v) < len(variantNames) {
		return variantNames[v]
	}
	return fmt.Sprintf("variant %d", uint8(v))
}

// ParseVariant reads a variant's name. The error is an ErrUsage.
func ParseVariant(text string) (Variant, error) {
	for i, name := range variantNames {
		if text == name {
			return Variant(i), nil
		}
	}
	return 0, fmt.Errorf("no batch writer is called %q, nearest is %q: %w", text, nearest.Name(text, variantNames[:]), tablet.ErrUsage)
}

const (
	defaultMemory   = 50 << 20
	defaultLatency  = 2 * time.Minute
	defaultThreads  = 3
	defaultMutation = 1<<31 - 1<<20
)

func (o Options) withDefaults(procs int) Options {
	if o.MemoryBytes == 0 {
		o.MemoryBytes = defaultMemory
	}
	if o.Latency == 0 {
		o.Latency = defaultLatency
	}
	if o.Threads == 0 {
		o.Threads = defaultThreads
	}
	if o.MutationBytes == 0 {
		o.MutationBytes = defaultMutation
	}
	if o.Binners == 0 {
		o.Binners = min(max(procs, 2), 8)
	}
	return o
}

// Validate names the first bad field with its value. The error is an ErrUsage.
func (o Options) Validate() error {
	bad := func(field string, value any) error {
		return fmt.Errorf("batch writer: %s is %v: %w", field, value, tablet.ErrUsage)
	}
	switch {
	case o.MemoryBytes < 0:
		return bad("MemoryBytes", o.MemoryBytes)
	case o.Latency < 0:
		return bad("Latency", o.Latency)
	case o.Timeout < 0:
		return bad("Timeout", o.Timeout)
	case o.Threads < 0 || o.Threads > maxWorkers:
		return bad("Threads", o.Threads)
	case o.Durability > tablet.DurabilitySync:
		return bad("Durability", o.Durability)
	case o.MutationBytes < 0 || o.MutationBytes > defaultMutation:
		return bad("MutationBytes", o.MutationBytes)
	case int(o.Variant) >= len(variantNames):
		return bad("Variant", o.Variant)
	case o.Binners < 0 || o.Binners > maxWorkers:
		return bad("Binners", o.Binners)
	}
	return nil
}

// maxWorkers is more actors than help anybody.
const maxWorkers = 256
