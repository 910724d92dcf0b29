package experiment

// WriterTicket is what ACCUMULO-1755 published.
type WriterTicket struct {
	Caveat string      `json:"caveat"`
	Rows   []TicketRow `json:"rows"`
}

// TicketRow are seconds of a million mutations, the mean of ten runs. Master most probably is handoff; the other is nosync.
type TicketRow struct {
	Threads     int     `json:"threads"`
	MemoryBytes int64   `json:"memory_bytes"`
	Master      float64 `json:"master_s"`
	NoSync      float64 `json:"nosync_s"`
	MasterAdd   float64 `json:"master_add_s"`
	NoSyncAdd   float64 `json:"nosync_add_s"`
}

const ticketCaveat = "The ticket has no figures from before its change: its master most probably has the change already (handoff), and was " +
	"compared with an experiment that was not merged (nosync). Its author called the result inconclusive; the server, not the writer, was the limit."

// ticketRows are the tables of the comment, joined.
var ticketRows = []TicketRow{
	{1, 1 << 20, 3.121, 3.080, 3.114, 3.072}, {1, 10 << 20, 2.818, 2.766, 2.733, 2.653}, {1, 100 << 20, 3.158, 3.255, 2.498, 2.517},
	{2, 1 << 20, 3.102, 2.972, 3.088, 2.965}, {2, 10 << 20, 2.414, 2.420, 2.350, 2.371}, {2, 100 << 20, 2.950, 3.137, 2.371, 2.527},
	{4, 1 << 20, 3.367, 3.162, 3.360, 3.155}, {4, 10 << 20, 2.573, 2.492, 2.506, 2.441}, {4, 100 << 20, 3.114, 3.190, 2.472, 2.589},
	{8, 1 << 20, 3.422, 3.100, 3.414, 3.092}, {8, 10 << 20, 2.569, 2.658, 2.516, 2.602}, {8, 100 << 20, 3.140, 3.623, 2.509, 2.961},
	{16, 1 << 20, 3.590, 3.393, 3.582, 3.385}, {16, 10 << 20, 2.741, 2.898, 2.692, 2.839}, {16, 100 << 20, 3.332, 3.743, 2.696, 2.891},
}

// TicketAt is what the ticket says of a number of threads and a memory; nil if nothing.
func (d *WriterDocument) TicketAt(threads int, memory int64) *TicketRow {
	for i := range d.Ticket.Rows {
		if r := &d.Ticket.Rows[i]; r.Threads == threads && r.MemoryBytes == memory {
			return r
		}
	}
	return nil
}

// setsWanted is how many sets of half of the memory mutations of one size make, if some more get into each.
func setsWanted(mutations int, size, memory int64, more int) int64 {
	return ceilDiv(int64(mutations), ceilDiv(max(memory/2, 1), size)+int64(more))
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
