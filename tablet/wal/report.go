package wal

// Report is what a replay found.
type Report struct {
	Entries   int64 // given
	Mutations int64 // in them
	// Not given:
	Filed      int64 // entries whose session is in files
	Unknown    int64 // entries of tablets that are no more
	Duplicates int64 // entries written again in a later segment
	Voided     int64 // entries that were refused

	// NextLSN is above all LSNs that the log ever gave.
	NextLSN uint64
	// Sessions are the tablets that have entries, given or not, and the highest session of each; by tablet. A tablet's next
	// session is above.
	Sessions []TabletSession
	// Segments are those there are, ascending.
	Segments []Segment
	// Missing are the numbers of segments that are gone and that nothing is lost with, ascending.
	Missing []uint64
	// Voids are the LSNs that segments may hold and that do not count, ascending.
	Voids []Void

	// tail are the entries given of which no place is known to be on stable storage, by LSN.
	tail []tailRecord
}

// tailRecord is an entry's record as it was read.
type tailRecord struct {
	lsn    uint64
	of     TabletSession
	record []byte
}

// Unsynced is the number of entries given that a power cut could have taken away; New puts them on stable storage.
func (r *Report) Unsynced() int { return len(r.tail) }

// Segment is what a replay found of one segment.
type Segment struct {
	Number uint64
	Bytes  int64 // length of the file
	// End is where its records end; what follows is a torn tail that a crash left.
	End int64
	// Synced is how many bytes are known to have been on stable storage.
	Synced int64
	Sealed bool
	Torn   bool
	Marred bool // torn, and what follows is the mark of a sealed segment with a byte wrong: damage, and nothing lost
	// Needed are the tablets with entries that are in no file and are known to have been on stable storage here, and the
	// highest session of each; by tablet.
	Needed []TabletSession
}

// Torn is the number of segments with a torn tail.
func (r *Report) Torn() (n int) {
	for i := range r.Segments {
		if r.Segments[i].Torn {
			n++
		}
	}
	return n
}
