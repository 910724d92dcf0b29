package tablet

// FileMeta is what a tablet knows of one of its files without opening it.
type FileMeta struct {
	Number  uint64 // unique in the store, never reused; 0 for files that no store owns
	Name    string
	Bytes   int64
	Entries int64
	Deletes int64

	// FirstRow and LastRow bound the rows in the file; nil both when it has no entry.
	FirstRow, LastRow []byte
	// MinTimestamp and MaxTimestamp bound the timestamps in the file, if TimestampsKnown.
	MinTimestamp, MaxTimestamp int64
	TimestampsKnown            bool

	// Ages is the run of flush ages whose entries the file holds; a greater age is newer.
	Ages AgeRange

	ID  [16]byte // random identity kept in the file's sums; zero without sums
	CRC uint32   // CRC32C of the whole file
}

// AgeRange is a closed run of ages.
type AgeRange struct{ Oldest, Newest uint64 }
