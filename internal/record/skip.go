package record

import (
	"errors"

	"millrace/tablet"
)

// Skip goes on behind damage: after Next has given a tablet.CorruptError it looks for the next frame that verifies, at any
// place, and Next gives records from there. It returns how many bytes lie in between; more is false if no frame follows,
// and then the bytes are all up to the end. For repairs alone, of a file that has an error of another kind there is
// nothing to skip.
//
// Frames cannot be found in the wrong place: their sums are tied to the file's number and to the offset.
func (r *Reader) Skip() (skipped int64, more bool, err error) {
	if r.err == nil || !errors.Is(r.err, tablet.ErrCorrupt) {
		return 0, false, r.err
	}
	from := r.off
	to, found, err := r.search(max(from, headerBytes))
	if err != nil {
		r.err = err
		return 0, false, err
	}
	if !found {
		r.off, r.err = r.limit, r.stopHere()
		return r.limit - from, false, nil
	}
	r.off, r.err = to, nil
	return to - from, true, nil
}

// stopHere ends the file without asking what was synced.
func (r *Reader) stopHere() error {
	known := r.known
	r.known = 0
	err := r.stop(false)
	r.known = known
	return err
}

// search looks for a frame that verifies at from or behind. Like proof it sums next to nothing in vain.
func (r *Reader) search(from int64) (offset int64, found bool, err error) {
	budget := lookAlikeTimes*(r.limit-from) + lookAlikeBytes
	for q := from; q+frameBytes <= r.limit; {
		n := int(min(windowBytes, r.limit-q))
		b, err := r.load(q, n)
		if err != nil {
			return 0, false, err
		}
		for i := 0; i+frameBytes <= n; i++ {
			at := q + int64(i)
			h := parseHead(b[i:])
			if !h.possible(at, r.limit) {
				continue
			}
			if budget -= frameBytes + h.length; budget < 0 {
				return 0, false, tablet.Corruptf(r.f.Name(), from, "too many bytes behind the damage look like records")
			}
			if ok, err := r.verifies(at, h); ok || err != nil {
				return at, ok, err
			}
		}
		q += int64(n) - frameBytes + 1
	}
	return 0, false, nil
}
