package rfile

import (
	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// maxHeldBytes is how much of a group's index is held back before it goes into nodes, so that index nodes gather behind
// the data instead of lying between it.
const maxHeldBytes = 10 << 20

// indexWriter builds the index of one group: leaf entries are held back, then added to the open node of level 0; a node
// that is full is written as a block and entered in the level above. All open nodes stay in memory, one a level.
//
// Source: Accumulo MultiLevelIndex.BufferedWriter.
type indexWriter struct {
	bc     *bcfile.Writer
	limit  int // raw bytes of a node
	held   []byte
	sizes  []int // bytes of each held entry
	keys   []int // bytes of the key in each held entry
	levels []*nodeBuilder
	added  int // leaf entries that went into nodes
	buf    []byte
}

// add takes the entry of a data block. The group's last one stays held until finish.
func (w *indexWriter) add(k *tablet.Key, entries int, r bcfile.Region, last bool) error {
	from := len(w.held)
	w.held = appendKey(w.held, k)
	w.keys = append(w.keys, len(w.held)-from)
	w.held = appendCountAndRegion(w.held, entries, r)
	w.sizes = append(w.sizes, len(w.held)-from)
	if !last && len(w.held) > maxHeldBytes {
		return w.release(false)
	}
	return nil
}

// release puts the held entries into nodes. last says that the group ends with them.
func (w *indexWriter) release(last bool) error {
	at := 0
	for i, size := range w.sizes {
		entry := w.held[at : at+size]
		at += size
		w.added++
		if err := w.put(0, entry, w.keys[i], last && i == len(w.sizes)-1); err != nil {
			return err
		}
	}
	w.held, w.sizes, w.keys = w.held[:0], w.sizes[:0], w.keys[:0]
	return nil
}

// put adds an entry to the open node of a level, and writes the node if it is full or the last one below the top.
func (w *indexWriter) put(level int, entry []byte, keyBytes int, last bool) error {
	if level == len(w.levels) {
		w.levels = append(w.levels, &nodeBuilder{level: level})
	}
	nb := w.levels[level]
	nb.add(entry)
	top := level == len(w.levels)-1
	if last && top || !last && !nb.full(w.limit) {
		return nil
	}
	w.buf = nb.append(w.buf[:0], !last)
	r, err := w.bc.WriteBlock(w.buf)
	if err != nil {
		return err
	}
	up := append([]byte(nil), entry[:keyBytes]...)
	up = appendCountAndRegion(up, 0, r)
	w.levels[level] = &nodeBuilder{level: level, offset: w.added}
	return w.put(level+1, up, keyBytes, last)
}

// finish writes what is open and returns the root node's bytes and the number of leaf entries.
func (w *indexWriter) finish() (root []byte, leaves int, err error) {
	if len(w.sizes) == 0 && w.added == 0 {
		return (&nodeBuilder{}).append(nil, false), 0, nil
	}
	if err := w.release(true); err != nil {
		return nil, 0, err
	}
	return w.levels[len(w.levels)-1].append(nil, false), w.added, nil
}
