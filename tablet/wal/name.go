package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/vfs"
)

// Dir is the directory of the segments.
const Dir = "wal"

const suffix = ".wal"

// Name is a segment's name.
func Name(number uint64) string { return fmt.Sprintf("%s/%010d%s", Dir, number, suffix) }

// ParseName reads the name of a file in Dir, without the directory; ok is false for a name that no segment has.
func ParseName(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || Dir+"/"+name != Name(number) {
		return 0, false
	}
	return number, true
}

// List returns the numbers of the segments there are, ascending. Other files are passed over; without the directory there
// are none.
func List(fsys vfs.FS) ([]uint64, error) {
	names, err := fsys.List(Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list log segments: %w", err)
	}
	var numbers []uint64
	for _, name := range names {
		if n, ok := ParseName(name); ok {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}
