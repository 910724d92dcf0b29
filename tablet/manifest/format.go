package manifest

import "fmt"

// A record's payload begins with two bytes, its kind and the version of that kind; the kinds below tell the rest. Integers
// are varints as in encoding/binary, in their shortest form, signed ones in zigzag. Text and rows are a length and that
// many bytes; a row that may be missing has its length plus one, and 0 says that it is. Properties and lists are a count
// and the items, properties sorted by name.
//
//	head     nextNumber nextLSN opened tables tablets     begins a snapshot; counts of what follows
//	table    name id properties tablets                   tables by name
//	tablets  list of {number endRow time session nextAge list of file}
//	end      (nothing)                                    the snapshot is whole
//	ready    (nothing)                                    the snapshot, and the file's name, were synced before
//	edits    list of {code, length, body}                 they take effect together
//
//	file     number name bytes entries deletes firstRow lastRow timestampsKnown minTimestamp maxTimestamp
//	         oldestAge newestAge id[16] crc32c[4] fenceAfter fenceLast
//
// The tablets of a table follow it in the order of their extents, in as many tablets records as it takes.
const (
	kindHead    = 1
	kindTable   = 2
	kindTablets = 3
	kindEnd     = 4
	kindReady   = 5
	kindEdits   = 6
)

// Versions of the format, one for all kinds:
//
//	1  the first
const formatVersion = 1

// editCode is the kind of an edit on disk.
type editCode byte

const (
	codeCreateTable   editCode = 1
	codeDropTable     editCode = 2
	codeSetProperties editCode = 3
	codeInstall       editCode = 4
	codeSwap          editCode = 5
	codeImport        editCode = 6
	codeSplit         editCode = 7
	codeAdvance       editCode = 8
	codeOpen          editCode = 9
)

// maxTableName bounds a table's name, in bytes.
const maxTableName = 1 << 10

func kindName(kind byte) string {
	names := [...]string{kindHead: "head", kindTable: "table", kindTablets: "tablets", kindEnd: "end", kindReady: "ready", kindEdits: "edits"}
	if int(kind) < len(names) && names[kind] != "" {
		return names[kind]
	}
	return fmt.Sprintf("kind %d", kind)
}
