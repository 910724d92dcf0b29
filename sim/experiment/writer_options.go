package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/tablet"
	"millrace/writer"
)

// WriterOptions says what Writer measures. A zero field means its default.
type WriterOptions struct {
	// Mutations are added in each run, from all threads together. Default 1,000,000, as in the ticket.
	Mutations int
	// Threads that add. Default 1, 2, 4, 8, 16.
	Threads []int
	// MemoryBytes bounds the writer's estimated memory. Default 1, 10 and 100 MiB.
	MemoryBytes []int64
	// StoreTablets is how many tablets the store's table has. Default 8.
	StoreTablets int
	// Tablets are how many tablets mutations are binned to where applying them is free. Default 1,000 and 10,000.
	Tablets []int
	// Variants are the writers compared. Default locked, handoff, nosync, actors.
	Variants []writer.Variant
	// Runs is how often each is timed, in turn. Default 5.
	Runs int
	// WarmUps are turns before those, which do not count; negative for none. Default 1.
	WarmUps int
	// Brief leaves out places, but those that checks and bars are about.
	Brief bool
	// Seed decides the order of the rows.
	Seed uint64
	// Properties are the table's and the server's, by Accumulo's names, over those of writerProperties.
	Properties map[string]string
	// MemoryLimit is the base of percentage properties. Default as the store's.
	MemoryLimit int64
}

// writerProperties are what the store is opened with: mutations are in the log's file when they are acknowledged, and stay
// in memory until the run is over. In the ticket they were synced, to a log on the same machine.
var writerProperties = map[string]string{
	"table.durability":        "log",
	"tserver.memory.maps.max": "1G",
}

// writerOrder are the variants from the oldest on.
var writerOrder = []writer.Variant{writer.Locked, writer.Handoff, writer.NoSync, writer.Actors}

func (o WriterOptions) withDefaults() WriterOptions {
	if o.Mutations == 0 {
		o.Mutations = 1_000_000
	}
	if len(o.Threads) == 0 {
		o.Threads = []int{1, 2, 4, 8, 16}
	}
	if len(o.MemoryBytes) == 0 {
		o.MemoryBytes = []int64{1 << 20, 10 << 20, 100 << 20}
	}
	if o.StoreTablets == 0 {
		o.StoreTablets = 8
	}
	if len(o.Tablets) == 0 {
		o.Tablets = []int{1000, 10_000}
	}
	if len(o.Variants) == 0 {
		o.Variants = writerOrder
	}
	if o.Runs == 0 {
		o.Runs = 5
	}
	if o.WarmUps == 0 {
		o.WarmUps = 1
	}
	o.Threads, o.Tablets = sortedSet(o.Threads), sortedSet(o.Tablets)
	o.MemoryBytes = slices.Compact(slices.Sorted(slices.Values(o.MemoryBytes)))
	properties := maps.Clone(writerProperties)
	maps.Copy(properties, o.Properties)
	o.Properties = properties
	return o
}

// Bounds of what is measured: rows are numbers of ten digits, and each thread has a histogram of its own.
const (
	mutationsMax = 1 << 28
	threadsMax   = 1024
	tabletsMax   = 1 << 20
)

// Validate names the first field that is wrong, with its value.
func (o WriterOptions) Validate() error {
	o = o.withDefaults()
	switch {
	case o.Mutations < 1 || o.Mutations > mutationsMax:
		return fmt.Errorf("mutations is %d, not within 1 to %d: %w", o.Mutations, mutationsMax, tablet.ErrUsage)
	case o.Threads[0] < 1 || o.mostThreads() > threadsMax:
		return fmt.Errorf("threads are %v, not within 1 to %d: %w", o.Threads, threadsMax, tablet.ErrUsage)
	case o.MemoryBytes[0] < 1:
		return fmt.Errorf("memory is %d bytes: %w", o.MemoryBytes[0], tablet.ErrUsage)
	case o.StoreTablets < 1 || o.StoreTablets > 4096:
		return fmt.Errorf("the store's tablets are %d, not within 1 to 4096: %w", o.StoreTablets, tablet.ErrUsage)
	case o.Tablets[0] < 1 || o.mostTablets() > tabletsMax:
		return fmt.Errorf("tablets are %v, not within 1 to %d: %w", o.Tablets, tabletsMax, tablet.ErrUsage)
	case o.Runs < 1:
		return fmt.Errorf("runs is %d: %w", o.Runs, tablet.ErrUsage)
	}
	return nil
}

func (o WriterOptions) mostThreads() int { return o.Threads[len(o.Threads)-1] }
func (o WriterOptions) mostTablets() int { return o.Tablets[len(o.Tablets)-1] }

func writerSettings(o WriterOptions) []Setting {
	var memory, variants []string
	for _, m := range o.MemoryBytes {
		memory = append(memory, strconv.FormatInt(m, 10))
	}
	for _, v := range o.Variants {
		variants = append(variants, v.String())
	}
	all := []Setting{
		{"mutations", strconv.Itoa(o.Mutations)},
		{"threads", joinInts(o.Threads)},
		{"memory", strings.Join(memory, ",")},
		{"store-tablets", strconv.Itoa(o.StoreTablets)},
		{"tablets", joinInts(o.Tablets)},
		{"variants", strings.Join(variants, ",")},
		{"runs", strconv.Itoa(o.Runs)},
		{"warm-ups", strconv.Itoa(max(o.WarmUps, 0))},
		{"seed", strconv.FormatUint(o.Seed, 10)},
	}
	for _, name := range slices.Sorted(maps.Keys(o.Properties)) {
		all = append(all, Setting{name, o.Properties[name]})
	}
	return all
}
