package iter

import (
	"fmt"

	"millrace/tablet"
)

// checkBatch says what is wrong with a batch just loaded. Always: it must have an entry, and must not begin before the
// source's last batch ended. In checking builds: every order, code and bound.
func (m *Merge) checkBatch(src uint16, b *tablet.Batch) error {
	if b.Len() == 0 {
		return m.wrong(src, b, 0, "batch without entries")
	}
	continued := m.spent == int(src)
	if continued {
		if k := b.Key(0); tablet.Compare(&m.last.key, &k) > 0 {
			return m.wrong(src, b, 0, "%v comes after %v", k, m.last.key)
		}
	}
	if !m.verify {
		return nil
	}
	base := tablet.Key{}
	if continued {
		base = m.last.key
	} else if start, ok := m.ranges.Start(); ok && start.Inclusive {
		base = start.Key
	}
	return m.checkEntries(src, b, base, continued || m.startsInclusive())
}

func (m *Merge) startsInclusive() bool {
	start, ok := m.ranges.Start()
	return ok && start.Inclusive
}

// checkEntries verifies a batch against the key that its first code is based on; based is false if that is the empty key.
func (m *Merge) checkEntries(src uint16, b *tablet.Batch, base tablet.Key, based bool) error {
	if len(b.Codes) != b.Len() {
		return m.wrong(src, b, 0, "%d codes for %d entries", len(b.Codes), b.Len())
	}
	var largest uint64
	for i := range b.Len() {
		k := b.Key(i)
		var want uint64
		switch {
		case !based:
			want = tablet.CodeOfFirst(&k)
		case tablet.Compare(&base, &k) > 0:
			return m.wrong(src, b, i, "%v comes after %v", k, base)
		default:
			want = tablet.CodeOf(&base, &k)
		}
		if b.Codes[i] != want {
			return m.wrong(src, b, i, "code %#x of %v after %v is not %#x", b.Codes[i], k, base, want)
		}
		if !m.ranges.Contains(&k) || !m.wanted.Accepts(k.Family()) {
			return m.wrong(src, b, i, "%v was not asked for", k)
		}
		if k.Deleted() && !b.Facts.Deletes {
			return m.wrong(src, b, i, "%v in a batch said to have no marker", k)
		}
		if i > 0 {
			largest = max(largest, want)
		}
		base, based = k, true
	}
	if b.Facts.MaxCode != largest {
		return m.wrong(src, b, 0, "largest code %#x is said to be %#x", largest, b.Facts.MaxCode)
	}
	return nil
}

// wrong is the error for a source that broke its contract: what it read cannot be trusted.
func (m *Merge) wrong(src uint16, b *tablet.Batch, entry int, format string, args ...any) error {
	name := fmt.Sprintf("source %d", src)
	if s, ok := m.cursors[src].source.(fmt.Stringer); ok {
		name = s.String()
	}
	what := fmt.Sprintf(format, args...)
	return fmt.Errorf("merge: %s, block %d, entry %d of the batch: %s: %w",
		name, b.Facts.Block, entry, what, tablet.ErrCorrupt)
}
