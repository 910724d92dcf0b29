package bcfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"millrace/tablet"
)

// explain turns the error of open into a better one when the file has sums of its own: damage to trailer or meta index
// can look like an unknown version, an encrypted file or another codec.
func explain(src *source, openErr error) error {
	if !errors.Is(openErr, tablet.ErrCorrupt) && !errors.Is(openErr, tablet.ErrUnsupported) {
		return openErr
	}
	sums, blocksEnd, err := scanForSums(src)
	if err != nil || sums == nil {
		return openErr
	}
	if damage := checkOutside(src, sums, blocksEnd); errors.Is(damage, tablet.ErrCorrupt) {
		return damage
	}
	return openErr
}

// maxSumsCandidates bounds the work on a file that is full of end magics.
const maxSumsCandidates = 4

// scanForSums looks for undamaged sums in the last 64 KiB, without trusting trailer or meta index. blocksEnd is the offset
// behind them. It returns nil without an error when there are none.
func scanForSums(src *source) (sums *Sums, blocksEnd int64, err error) {
	if err := src.loadTail(sumsScanBytes); err != nil {
		return nil, 0, err
	}
	tail := src.tail
	for range maxSumsCandidates {
		i := bytes.LastIndex(tail, []byte(sumsEndMagic))
		if i < 0 {
			break
		}
		end := src.size - int64(len(src.tail)) + int64(i+len(sumsEndMagic))
		tail = tail[:i]
		sums, err := sumsEndingAt(src, end)
		if sums != nil || err != nil {
			return sums, end, err
		}
	}
	return nil, 0, nil
}

// sumsEndingAt returns the sums that end at an offset, nil if what stands there is none, or damaged.
func sumsEndingAt(src *source, end int64) (*Sums, error) {
	start, err := sumsStart(src, end)
	if start == 0 || err != nil {
		return nil, err
	}
	b := make([]byte, end-start)
	if err := src.read(b, start); err != nil {
		return nil, err
	}
	sums, err := parseSums(b)
	switch {
	case errors.Is(err, errSumsVersion):
		return nil, fmt.Errorf("%s: %s: %w: %w", src.name, SumsName, err, tablet.ErrUnsupported)
	case err != nil || sums.end() != start:
		return nil, nil
	}
	return sums, nil
}

// sumsStart finds the beginning by the stated length, and returns 0 unless magic and count agree with it.
func sumsStart(src *source, end int64) (int64, error) {
	if end < firstBlock+sumsBytes(0) {
		return 0, nil
	}
	var foot [sumsFooterBytes]byte
	if err := src.read(foot[:], end-sumsFooterBytes); err != nil {
		return 0, err
	}
	length := int64(binary.BigEndian.Uint32(foot[4:]))
	start := end - length
	if length < sumsBytes(0) || start < firstBlock {
		return 0, nil
	}
	var head [sumsHeaderBytes]byte
	if err := src.read(head[:], start); err != nil {
		return 0, err
	}
	if string(head[:8]) != sumsMagic || sumsBytes(int64(binary.BigEndian.Uint32(head[12:]))) != length {
		return 0, nil
	}
	return start, nil
}
