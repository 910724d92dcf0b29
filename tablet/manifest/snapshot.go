package manifest

// snapshotRecordBytes is about where a tablets record ends and the next one begins, so that a reader needs little memory.
const snapshotRecordBytes = 64 << 10

// snapshot gives the payloads of a snapshot, in order, to emit, which must not keep them.
func snapshot(s *State, emit func(payload []byte) error) error {
	b := []byte{kindHead, formatVersion}
	b = appendUint(b, s.nextNumber)
	b = appendUint(b, s.nextLSN)
	b = appendUint(b, s.opened)
	b = appendCount(b, len(s.tables))
	b = appendCount(b, s.tablets.items)
	if err := emit(b); err != nil {
		return err
	}
	for _, t := range s.tables {
		b = append(b[:0], kindTable, formatVersion)
		b = appendText(b, t.Name)
		b = appendUint(b, t.ID)
		b = appendProperties(b, t.Properties)
		b = appendCount(b, t.order.items)
		if err := emit(b); err != nil {
			return err
		}
		if err := snapshotTablets(s, t, b[:0], emit); err != nil {
			return err
		}
	}
	return emit([]byte{kindEnd, formatVersion})
}

func snapshotTablets(s *State, t *Table, b []byte, emit func([]byte) error) error {
	var items []byte
	n, left := 0, t.order.items
	for tab := range s.Tablets(t) {
		items = appendTablet(items, tab)
		n++
		left--
		if len(items) < snapshotRecordBytes && left > 0 {
			continue
		}
		b = append(b[:0], kindTablets, formatVersion)
		b = append(appendCount(b, n), items...)
		if err := emit(b); err != nil {
			return err
		}
		items, n = items[:0], 0
	}
	return nil
}
