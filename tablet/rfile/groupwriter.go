package rfile

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// groupWriter writes one group's data blocks, by Accumulo's rules for cutting them.
//
// A block that has passed its size is closed before the next key, if the key that would stand for it in the index is
// not longer than the average, or if it is a tenth over its size; never with a giant key, short of 2 GiB.
type groupWriter struct {
	w     *Writer
	g     *Group
	index indexWriter

	block   []byte
	entries int // in the open block
	sizes   keySizes
	// threshold is the mean key size when the open block passed its size; 0 before, and while all keys are empty.
	threshold float64

	prev heldKey // of the entry appended last; owns its bytes
	any  bool
	pass passing

	counts  map[string]*int64
	family  []byte // the family counted last, and its counter
	counter *int64

	meta   *tablet.FileMeta // of the file; a sample has one of its own, since its entries are in the group, too
	sample *sampleWriter    // nil without a sampler, and in a sample
}

// maxEntryBytes keeps a block of one entry below the format's 2 GiB, with room for lengths and flags.
const maxEntryBytes = math.MaxInt32 - 1024

// maxBlockBytes is the most that a block may reach with its next entry, lengths and flags not counted. One that would pass
// it is closed before, whatever its size was to be.
const maxBlockBytes = math.MaxInt32 - 129

func newGroupWriter(w *Writer, g *Group, families [][]byte) *groupWriter {
	gw := &groupWriter{w: w, g: g, counts: map[string]*int64{}, meta: &w.meta}
	gw.index = indexWriter{bc: w.bc, limit: w.o.IndexBlockBytes}
	for _, f := range families {
		gw.counts[string(f)] = new(int64)
	}
	return gw
}

func (g *groupWriter) append(k *tablet.Key, value []byte) error {
	if g.any {
		if prev := g.prev.key(); tablet.Compare(&prev, k) > 0 {
			return fmt.Errorf("key %v appended after %v: %w", *k, prev, tablet.ErrUsage)
		}
	} else {
		g.startGroup(k)
	}
	var held heldKey
	held.view(k)
	return g.put(&held, value, 0, 0, nil)
}

// startGroup notes the group's first key.
func (g *groupWriter) startGroup(k *tablet.Key) {
	g.any = true
	g.g.FirstKey, g.g.HasFirstKey = k.Clone(), true
}

// put adds an entry to the open block, or closes that and begins another. encoded, unless nil, is the entry as it stands
// behind the one before it.
func (g *groupWriter) put(k *heldKey, value []byte, same, shared int, encoded []byte) error {
	size := int64(len(k.data)) + int64(len(value))
	if size > maxEntryBytes {
		return errEntryBytes(k.key(), len(value))
	}
	if err := g.count(k.family(), same); err != nil {
		return err
	}
	if g.pass.cut {
		if err := g.cutBefore(k.key()); err != nil {
			return err
		}
	}
	if len(g.block) > g.limit() || int64(len(g.block))+size > maxBlockBytes {
		if err := g.considerCut(k.key(), value); err != nil {
			return err
		}
	}
	switch {
	case g.entries == 0:
		g.block = appendFirst(g.block, k.key(), value)
	case encoded != nil:
		g.block = append(g.block, encoded...)
	default:
		g.block = g.prev.appendNext(g.block, k, same, shared, value)
	}
	g.entries++
	g.sizes.add(len(k.data))
	if g.watched() {
		g.show(k.key(), value, same)
	}
	m := g.meta
	m.Entries++
	m.MinTimestamp, m.MaxTimestamp = min(m.MinTimestamp, k.ts), max(m.MaxTimestamp, k.ts)
	if k.deleted {
		m.Deletes++
	}
	g.prev.take(k)
	return nil
}

// watched says whether something beside the block wants to see each entry.
func (g *groupWriter) watched() bool { return g.sample != nil || g.w.bloom != nil && !g.g.sample }

// show shows an entry to what watches. The fields before same are those of the entry before.
func (g *groupWriter) show(k tablet.Key, value []byte, same int) {
	if g.sample != nil {
		g.sample.add(&k, value, same)
	}
	if g.w.bloom != nil && !g.g.sample {
		g.w.bloom.add(&k, same)
	}
}

func errEntryBytes(k tablet.Key, valueBytes int) error {
	return fmt.Errorf("entry %v with a value of %d bytes: more than %d: %w", k, valueBytes, maxEntryBytes, tablet.ErrUsage)
}

// considerCut decides, before an entry is added to a block that has passed its size, whether to close the block.
func (g *groupWriter) considerCut(k tablet.Key, value []byte) error {
	raw := len(g.block)
	prev := g.prev.key()
	short := shorten(&prev, &k)
	limit := int(float64(g.w.o.BlockBytes) * 1.1)
	if (g.standsWell(short.Size()) || raw > limit) && !g.sizes.giant(short.Size()) ||
		int64(k.Size())+int64(len(value))+int64(raw) > maxBlockBytes {
		return g.cut(&short, false)
	}
	if g.threshold == 0 {
		g.threshold = g.sizes.mean()
	}
	return nil
}

// standsWell says whether a key of so many bytes is not longer than the mean was when the open block passed its size.
func (g *groupWriter) standsWell(size int) bool {
	if g.threshold == 0 { // which is now
		return g.sizes.atMost(size)
	}
	return float64(size) <= g.threshold
}

// cut writes the open block, with the key that stands for it in the index.
func (g *groupWriter) cut(k *tablet.Key, last bool) error {
	if err := g.writeBlock(k, last); err != nil {
		return err
	}
	g.entries, g.threshold, g.pass.from = 0, 0, nil
	if g.sample != nil && !last {
		return g.sample.relieve()
	}
	return nil
}

// writeBlock empties the open block into the file, or into the queue that leads there.
func (g *groupWriter) writeBlock(k *tablet.Key, last bool) (err error) {
	if q := g.w.behind; q != nil && !g.pass.sealed {
		g.block, err = q.put(g, k, last)
		return err
	}
	var r bcfile.Region
	if g.pass.sealed {
		r, err = g.writeSealed()
	} else {
		r, err = g.w.bc.WriteBlock(g.block)
	}
	if err != nil {
		return err
	}
	g.block = g.block[:0]
	return g.index.add(k, g.entries, r, last)
}

// count adds an entry to its family's count. same > 1 says that row and family are those of the entry before.
func (g *groupWriter) count(family []byte, same int) error {
	if same > 1 && g.counter != nil {
		*g.counter++
		return nil
	}
	if !g.g.Tracked {
		return g.checkOwner(family)
	}
	if g.counter != nil && bytes.Equal(g.family, family) {
		*g.counter++
		return nil
	}
	n := g.counts[string(family)]
	if n == nil {
		if !g.g.Default {
			return fmt.Errorf("family %q in group %q, which does not list it: %w", family, g.g.Name, tablet.ErrUsage)
		}
		if err := g.checkOwner(family); err != nil {
			return err
		}
		if len(g.counts) == maxTrackedFamilies {
			g.g.Tracked, g.counts, g.counter = false, nil, nil
			return nil
		}
		n = new(int64)
		g.counts[string(family)] = n
	}
	*n++
	g.family, g.counter = append(g.family[:0], family...), n
	return nil
}

// checkOwner refuses a family in the default group that a named group holds.
func (g *groupWriter) checkOwner(family []byte) error {
	if len(g.w.owner) == 0 {
		return nil
	}
	if owner, taken := g.w.owner[string(family)]; taken {
		return fmt.Errorf("family %q in the default group belongs to group %q: %w", family, owner, tablet.ErrUsage)
	}
	return nil
}

// finish closes the group and appends its description to the index block.
func (g *groupWriter) finish(description []byte) ([]byte, error) {
	if g.entries > 0 {
		last := g.prev.key()
		if err := g.cut(&last, true); err != nil {
			return nil, err
		}
	}
	if g.w.behind != nil {
		if err := g.w.behind.drain(); err != nil {
			return nil, err
		}
	}
	root, leaves, err := g.index.finish()
	if err == nil && g.sample != nil {
		err = g.sample.relieve()
	}
	if err != nil {
		return nil, err
	}
	g.g.Blocks = leaves
	g.noteRows()
	g.listFamilies()
	description, err = appendGroup(description, g.g, root)
	// Only the description outlives the group; a file may have many.
	g.index, g.block, g.counts, g.pass = indexWriter{}, nil, nil, passing{blocks: g.pass.blocks}
	return description, err
}

// noteRows widens the file's row bounds by the group's.
func (g *groupWriter) noteRows() {
	if !g.any {
		return
	}
	m := g.meta
	// Never nil, which would be no row at all: the empty row is one.
	first, last := append([]byte{}, g.g.FirstKey.Row()...), append([]byte{}, g.prev.key().Row()...)
	if m.FirstRow == nil || bytes.Compare(first, m.FirstRow) < 0 {
		m.FirstRow = first
	}
	if m.LastRow == nil || bytes.Compare(last, m.LastRow) > 0 {
		m.LastRow = last
	}
}

// listFamilies puts the counts into the order in which they are written.
func (g *groupWriter) listFamilies() {
	if !g.g.Tracked {
		return
	}
	order := map[string]int{}
	for i, f := range g.w.o.FamilyOrder {
		order[string(f)] = i - len(g.w.o.FamilyOrder)
	}
	for f, n := range g.counts {
		g.g.Families = append(g.g.Families, FamilyCount{[]byte(f), *n})
	}
	slices.SortFunc(g.g.Families, func(a, b FamilyCount) int {
		if c := order[string(a.Family)] - order[string(b.Family)]; c != 0 {
			return c
		}
		return bytes.Compare(a.Family, b.Family)
	})
}
