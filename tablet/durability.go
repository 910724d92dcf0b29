package tablet

import (
	"fmt"

	"millrace/internal/nearest"
)

// Durability is how safe a write is before it is acknowledged. The levels compare: a greater one promises more.
//
// Source: Accumulo's Durability.
type Durability uint8

const (
	// DurabilityDefault takes the table's level.
	DurabilityDefault Durability = iota
	// DurabilityNone does not log: the write is there again once its memtable is in a file.
	DurabilityNone
	// DurabilityLog puts the write into the log's memory and does not wait.
	DurabilityLog
	// DurabilityFlush hands the write to the operating system: it outlives the process.
	DurabilityFlush
	// DurabilitySync puts the write on stable storage: it outlives a power cut.
	DurabilitySync
)

// durabilityNames are in the order of the levels.
var durabilityNames = [...]string{"default", "none", "log", "flush", "sync"}

func (d Durability) String() string {
	if int(d) < len(durabilityNames) {
		return durabilityNames[d]
	}
	return fmt.Sprintf("durability %d", uint8(d))
}

// ParseDurability reads none, log, flush or sync. The error is an ErrUsage.
func ParseDurability(text string) (Durability, error) {
	for d := DurabilityNone; d <= DurabilitySync; d++ {
		if text == durabilityNames[d] {
			return d, nil
		}
	}
	return 0, fmt.Errorf("no durability is called %q, nearest is %q: %w", text, nearest.Name(text, durabilityNames[DurabilityNone:]), ErrUsage)
}
