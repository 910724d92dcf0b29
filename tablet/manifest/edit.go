package manifest

// Edit is one change: one of the types of this file, by value. Several recorded together take effect together.
type Edit interface {
	// apply changes a draft, or returns a refusal and leaves the draft of no use.
	apply(d *draft) error
	code() editCode
	encode(dst []byte) []byte
}

// CreateTable makes a table, cut at the given rows.
type CreateTable struct {
	Table      string // not empty, at most 1 KiB, UTF-8
	ID         uint64 // from the store's counter
	Properties map[string]string
	Splits     [][]byte // ascending, none nil
	Tablets    []uint64 // from the store's counter; one more than splits
}

// DropTable takes a table away with its tablets. Its files lose a claim each.
type DropTable struct{ Table string }

// SetProperties replaces all properties of a table.
type SetProperties struct {
	Table      string
	Properties map[string]string
}

// Install ends a flush: all entries of sessions up to Session are in the tablet's files from now on. Add is nil when the
// flush had nothing to write. Remove are the files that it merged; mostly none.
//
// Session must be above the tablet's and Time not below. The file's newest age must be above all that the tablet had.
type Install struct {
	Tablet  uint64
	Session uint64
	Time    int64
	Remove  []uint64
	Add     *FileRef
}

// Swap ends a compaction of files: Remove, at least one, go, and Add comes in unless it is nil. Its ages lie within those
// of the files removed.
type Swap struct {
	Tablet uint64
	Remove []uint64
	Add    *FileRef
}

// Import takes finished files in, whose ages were set apart for them.
type Import struct {
	Tablet uint64
	Add    []FileRef
}

// Split cuts a tablet with nothing in memory into (prev, Row] and (Row, end]. Time, session and next age go on in both.
type Split struct {
	Tablet    uint64
	Row       []byte
	Low, High Half
}

// Half is one of the two tablets that a Split makes.
type Half struct {
	// Number is from the store's counter. One of the two may keep the number of the tablet that was split.
	Number uint64
	// Files are those of the tablet that the half goes on to name: all whose rows meet it, and maybe more.
	Files []uint64
}

// Advance raises the marks below which numbers and log sequence numbers are spent. Lower values than those known change
// nothing. It is recorded before the last trace of a number is removed, as a log segment.
type Advance struct {
	NextNumber uint64
	NextLSN    uint64
}

// Open is the first edit of every run: besides what Advance does, no file added from now on may have a number below
// NextNumber, since those belong to earlier runs, who may have left a file of that name. NewWriter applies it.
type Open struct {
	NextNumber uint64
	NextLSN    uint64
}
