package scan

import "millrace/tablet"

// Place is where a reader stands: behind an entry. Entries may have exactly equal keys, so it also says behind how many
// with this key. The zero value is before the first entry.
//
// Entries of the same key that are written meanwhile come first among them, and move the place by as many.
type Place struct {
	key   tablet.Key // owns its bytes
	equal int        // entries with this key that were handed out; 0 before the first entry
}

// Some says whether the place is behind an entry at all.
func (p *Place) Some() bool { return p.equal > 0 }

// Advance moves the place behind the first n entries of a page, which follow each other in one answer.
func (p *Place) Advance(page *Page, n int) {
	if n == 0 {
		return
	}
	last := page.Key(n - 1)
	first := n - 1
	for first > 0 {
		if k := page.Key(first - 1); tablet.Compare(&k, &last) != 0 {
			break
		}
		first--
	}
	equal := n - first
	if first == 0 && p.equal > 0 && tablet.Compare(&p.key, &last) == 0 {
		equal += p.equal
	}
	p.key.Assign(&last)
	p.equal = equal
}

// Clone returns a place that does not move with p.
func (p *Place) Clone() Place { return Place{key: p.key.Clone(), equal: p.equal} }

// Rest is what of a range lies behind the place: the range from its key on, of which the first skip entries that have
// exactly this key are to be passed over. It borrows the place's bytes.
func (p *Place) Rest(r tablet.Range) (rest tablet.Range, skip int) {
	if p.equal == 0 {
		return r, 0
	}
	return r.WithStart(p.key), p.equal
}
