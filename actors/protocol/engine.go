package protocol

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/tablet"
	"millrace/tablet/locate"
)

// The conversation with the engine, which owns the tables and starts everything else:
//
//	store   --CreateTable-->  engine   starts a tablet for each extent
//	engine  --TableIs-->      binner   where the tablets of a table are
//	store   <..TableIs......  engine
//	store   --DeleteTable-->  engine
//	store   --SetProperties--> engine  --Configure-->  tablet
//	store   <..PropertiesSet.. engine  <--Configured-- tablet
//	store   --GetStats-->     engine  --GetTabletStats-->  tablet
//	store   <..Stats........  engine  <--TabletStats-----  tablet
//	store   --StopTablets-->  engine
//	store   <..TabletsStopped.. engine   nobody holds a file any more
//	engine  --Replace-->      engine   when a child that ended is due to be started again

// CreateTable asks for a new table.
type CreateTable struct {
	Asked[TableIs]
	Table      string
	Splits     [][]byte // rows at which the table is cut; sorted, no duplicates
	Properties map[string]string
}

// TableIs says where a table's tablets are, in the order of their extents. Version grows whenever they, or the table's
// properties, change. A table without tablets is no more.
type TableIs struct {
	Table   string
	Version uint64
	Extents *locate.Map // of Tablets; nil: whoever gets it makes one
	Tablets []TabletRef // in the order of extents
}

// DeleteTable asks that a table be no more.
type DeleteTable struct {
	Asked[TableDeleted]
	Table string
}

// TableDeleted answers DeleteTable.
type TableDeleted struct{}

// SetProperties asks that properties of a table change. An empty value takes one back to its default.
type SetProperties struct {
	Asked[PropertiesSet]
	Table      string
	Properties map[string]string
}

// PropertiesSet answers SetProperties: everything that begins from now on goes by the new ones.
type PropertiesSet struct{}

// Configure tells a tablet all properties of its table.
type Configure struct {
	From       *actor.PID
	Request    uint64
	Properties map[string]string
}

// Configured answers Configure.
type Configured struct {
	Request uint64
	Err     error
}

// Refusal implements Answerable.
func (m *Configure) Refusal(err error) (*actor.PID, any) {
	return m.From, &Configured{Request: m.Request, Err: err}
}

// TabletRef is a tablet's extent and address.
type TabletRef struct {
	Extent tablet.Extent
	PID    *actor.PID
	// View opens the tablet's present view, without a message: what is acknowledged is in it. It fails, saying that the
	// actor has stopped, if the tablet was split, or is being replaced: then the table's next state tells what came in its
	// place. It is a live handle, safe for concurrent use.
	View func() (View, error)
	// Failed is why the tablet is not there, and will not be.
	Failed error
}

// Replace is the engine's timer for starting a child again.
type Replace struct {
	Kind   string
	Tablet uint64 // its number, if it is one
}

// GetStats asks for what there is; of one table, or of all.
type GetStats struct {
	Asked[Stats]
	Table string
}

// Stats answers GetStats.
type Stats struct{ Tablets []TabletStats }

// GetTabletStats is GetStats for one tablet.
type GetTabletStats struct {
	From    *actor.PID
	Request uint64
}

// Refusal implements Answerable.
func (m *GetTabletStats) Refusal(err error) (*actor.PID, any) {
	return m.From, &TabletStats{Request: m.Request, Err: err}
}

// TabletStats is what a tablet knows of itself.
type TabletStats struct {
	Request uint64
	Extent  tablet.Extent
	Files   []tablet.FileMeta // the newest first
	// MemoryEntries are not in files yet; ActiveBytes and FrozenBytes are what they take, by estimate.
	MemoryEntries            int64
	ActiveBytes, FrozenBytes int64
	Jobs                     int // compactions wished for or running
	Counts                   TabletCounts
	Err                      error // the tablet is failed, or gone
}

// TabletCounts are what a tablet has done since it started.
type TabletCounts struct {
	Mutations, Entries         int64 // applied
	Flushes, Compactions       int64 // installed
	FlushedEntries             int64
	FlushedBytes               int64
	CompactedRead, Compacted   int64 // entries read by major compactions, and written
	CompactedBytes             int64 // written
	JobFailures, JobsCancelled int64
}

// StopTablets stops scans and tablets, for good.
type StopTablets struct{ Asked[TabletsStopped] }

// TabletsStopped answers StopTablets.
type TabletsStopped struct{}
