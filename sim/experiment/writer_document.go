package experiment

// WriterDocument is what Writer found.
type WriterDocument struct {
	Document[WriterRow]
	Ratios []WriterRatio `json:"ratios"`
	Clock  ClockCost     `json:"clock"`
	Ticket WriterTicket  `json:"ticket"`
	// Bars are statements about times. They fail nothing.
	Bars []Check `json:"bars"`
}

// WriterPlace is what the variants are compared at.
type WriterPlace struct {
	Threads     int   `json:"threads"`
	MemoryBytes int64 `json:"memory_bytes"`
	Tablets     int   `json:"tablets"`
	// Apply is real, a store's log and memtables, or free: what is sent is acknowledged at once.
	Apply string `json:"apply"`
	// Map is warm, or cold: where tablets are is forgotten five times in a run, and whoever bins next has to find it out.
	Map string `json:"map"`
}

// WriterRow is one variant at one place, over all its runs.
type WriterRow struct {
	Variant string `json:"variant"`
	WriterPlace

	TotalNS int64   `json:"total_ns"` // median; from the first Add to the end of Close
	MinNS   int64   `json:"min_ns"`
	MaxNS   int64   `json:"max_ns"`
	RunsNS  []int64 `json:"runs_ns"`
	AddNS   int64   `json:"add_ns"` // median; from the first Add to the end of the last, as in the ticket
	CPUNS   int64   `json:"cpu_ns"` // median; of the process

	MutationsPerS float64 `json:"mutations_per_s"` // of the median
	Sets          int64   `json:"sets"`            // median

	AddMaxNS  int64 `json:"add_max_ns"`  // longest single Add of all runs
	AddP999NS int64 `json:"add_p999_ns"` // of the Adds that were timed, over all runs
	AddP50NS  int64 `json:"add_p50_ns"`
	Timed     int64 `json:"adds_timed"`

	WaitNS       int64 `json:"wait_ns"`       // median; all threads' waiting for memory, added up
	MemoryWaits  int64 `json:"memory_waits"`  // median; Adds that waited for memory
	BinningWaits int64 `json:"binning_waits"` // median; Adds that waited while a set was binned
	CallerBinned int64 `json:"caller_binned"` // median; sets binned on a thread that adds
	BinningNS    int64 `json:"binning_ns"`    // median; wherever
	MemoryMax    int64 `json:"memory_max_bytes"`
	// MapsMade is how often it was found out where tablets are; median, absent where it is known.
	MapsMade float64 `json:"maps_made,omitempty"`
}

// Where mutations go, and whether it is known where tablets are.
const (
	applyReal = "real"
	applyFree = "free"
	mapWarm   = "warm"
	mapCold   = "cold"
)

// WriterRatio compares actors with another variant at one place, pair by pair.
type WriterRatio struct {
	Over string `json:"over"`
	WriterPlace
	Pairs    int `json:"pairs"`
	Interval     // of throughput: above 1 actors is faster
	// CPU is how many times the processor time of actors the other takes: above 1 actors is cheaper.
	CPU Interval `json:"cpu"`
}

// Interval is what ratios come to.
type Interval struct {
	Median float64 `json:"median"`
	// Low and High are the interval that has the mean ratio in it with a probability of 95 %. Absent for one pair.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// ClockCost says what it costs to know how long Adds take.
type ClockCost struct {
	TimedEach int     `json:"timed_each"` // one Add of so many is timed
	PairNS    float64 `json:"pair_ns"`    // two readings of the clock and an entry in a histogram
	PerAddNS  float64 `json:"per_add_ns"` // of that on each Add
}
