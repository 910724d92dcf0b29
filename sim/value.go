package sim

import (
	"bytes"
	"fmt"
	"hash/crc32"

	"millrace/tablet"
)

// Value is what a history writes into a cell: the cell's name, the number of the operation, and a sum over both, so that
// a value which lies in the wrong cell, or is put together from two, tells on itself.
func Value(row, family, qualifier []byte, number int) []byte {
	b := fmt.Appendf(nil, "%s:%s:%s#%d", row, family, qualifier, number)
	return fmt.Appendf(b, "~%08x", crc32.Checksum(b, castagnoli))
}

// CheckValue says whether an entry has a value that Value made for its cell.
func CheckValue(e *tablet.Entry) error {
	body, sum, ok := bytes.Cut(e.Value, []byte("~"))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(body, castagnoli)) {
		return fmt.Errorf("value %q of %v was never written", e.Value, e.Key)
	}
	cell := fmt.Appendf(nil, "%s:%s:%s#", e.Key.Row(), e.Key.Family(), e.Key.Qualifier())
	if !bytes.HasPrefix(body, cell) {
		return fmt.Errorf("value %q of %v was written to another cell", e.Value, e.Key)
	}
	return nil
}
