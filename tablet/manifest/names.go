package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

// The directories of a store.
const (
	DataDir = "data"
	Dir     = "manifest"
)

const (
	dataSuffix = ".rf"
	suffix     = ".manifest"

	// The digits that a number has at least; a greater one has more.
	dataDigits     = 7
	manifestDigits = 10

	// maxLetters bounds what a data file's name begins with.
	maxLetters = 8
	// maxNumber bounds numbers of all kinds, ages, sessions and sequence numbers, so that one more never overflows, also
	// as a signed number. It is far above what a counter can reach.
	maxNumber = 1<<62 - 1
)

// FileName is the name of a data file within the store: data/<letters><number>.rf, as data/F0000012.rf. The letters, ASCII
// and 1 to 8 of them, tell people what wrote the file.
func FileName(letters string, number uint64) string {
	return fmt.Sprintf("%s/%s%0*d%s", DataDir, letters, dataDigits, number, dataSuffix)
}

// ParseFileName returns the number in a data file's name, with the directory; ok is false for every name that FileName
// does not give.
func ParseFileName(name string) (number uint64, ok bool) {
	base, ok := strings.CutPrefix(name, DataDir+"/")
	if !ok {
		return 0, false
	}
	base, ok = strings.CutSuffix(base, dataSuffix)
	if !ok {
		return 0, false
	}
	letters := 0
	for letters < len(base) && isLetter(base[letters]) {
		letters++
	}
	if letters == 0 || letters > maxLetters {
		return 0, false
	}
	return parseNumber(base[letters:], dataDigits)
}

func isLetter(c byte) bool { return c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' }

// Name is the name of a manifest file within the store, as manifest/0000000012.manifest.
func Name(number uint64) string {
	return fmt.Sprintf("%s/%0*d%s", Dir, manifestDigits, number, suffix)
}

// ParseName returns the number in a manifest file's name, with the directory; ok is false for every name that Name does
// not give.
func ParseName(name string) (number uint64, ok bool) {
	base, ok := strings.CutPrefix(name, Dir+"/")
	if !ok {
		return 0, false
	}
	base, ok = strings.CutSuffix(base, suffix)
	if !ok {
		return 0, false
	}
	return parseNumber(base, manifestDigits)
}

// parseNumber reads a positive number written with at least so many digits, and with no zero in front beyond them.
func parseNumber(s string, digits int) (uint64, bool) {
	if len(s) < digits || len(s) > digits && s[0] == '0' || !allDigits(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n > 0 && n <= maxNumber
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
