package iter

import (
	"context"
	"fmt"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// Merge makes one sorted output of many sorted sources, in the order (key, rank, position in the source); a source's
// rank is its place in the list, 0 the newest. It copies nothing and drops nothing. Of more than 65,535 sources groups of
// neighbours are merged first, and are its sources then.
//
// A Merge comes from a Pool and goes back there by Close.
type Merge struct {
	mode    Mode
	order   order
	cursors []cursor // one a source, by rank
	heap    []uint16 // ranks; see heap.go
	tree    tree
	entry   entryState
	top     uint16 // New: the source outside the heap, if hasTop
	hasTop  bool

	spent    int // source whose batch is used up, so that the next Fill has to load another; -1 none
	last     lastEntry
	stats    Stats
	err      error // repeated by Fill until the next Seek
	seeked   bool
	verify   bool         // check every batch
	ranges   tablet.Range // of the last Seek, kept only to verify
	wanted   tablet.Families
	stack    *Stack      // made by the first NewStack, and pooled with the merge
	loans    []*loan     // see lent
	watch    watchedRuns // in checking builds, as is the next
	wrappers []watchedSource
	open     bool
	handles  uint32 // see Generation
	home     *Pool
	next     *Merge // in the pool's free list
}

// cursor is where a merge stands in one source.
type cursor struct {
	source Source
	batch  *tablet.Batch // nil at the end
	at     uint32        // the current entry in batch
	key    tablet.Key    // of the current entry, for the heaps; a view
	alone  bool          // see Alone
}

// lastEntry is the entry that left the merge last: entry at of the source's batch, or a copy once that batch is gone.
type lastEntry struct {
	any    bool
	copied bool
	source uint16
	at     uint32
	key    tablet.Key // the copy; owns its bytes
}

// Stats counts what a merge did since it was got from its pool.
type Stats struct {
	Entries     int64
	Comparisons int64 // of whole keys, to find the order; codes at switches and checks of batches not counted
	HeapOps     int64 // entries put into or taken out of a heap, or brought to the root of a tree
	Switches    int64 // runs
}

// order decides which source supplies the next entries. Implementations keep no state; it lies in the Merge.
type order interface {
	// start begins anew: each cursor stands at its first entry, or has no batch.
	start(m *Merge)
	// fill writes runs until out is full, all sources are at their end, or a batch is used up: then it sets m.spent and
	// returns, because runs into that batch have not been read yet. n is how many it wrote.
	fill(m *Merge, out []Run) (n int)
	// refilled goes on after the source m.spent got another batch, or ended.
	refilled(m *Merge, src uint16)
}

var orders = [modes]order{New: newOrder{}, Old: oldOrder{}, Swap: newOrder{}, Tree: treeOrder{}, TreeEntry: entryOrder{treeOrder{}}}

// Of more sources than a tree's words have room for.
var wide, wideEntry order = wideOrder{}, entryOrder{wideOrder{}}

func orderOf(mode Mode, sources int) order {
	switch {
	case sources < 2:
		return singleOrder{}
	case mode == Tree && sources > maxRanks:
		return wide
	case mode == TreeEntry && sources > maxRanks:
		return wideEntry
	}
	return orders[mode]
}

// Seek positions all sources anew. The range and the families may be kept, as in Source.Seek.
func (m *Merge) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	if err := m.checkOpen(); err != nil {
		return err
	}
	m.spent, m.err, m.seeked = -1, nil, true
	m.last.any, m.last.copied = false, false
	m.watch.begin()
	if m.verify {
		m.ranges, m.wanted = r, f
	}
	for i := range m.cursors {
		if err := m.cursors[i].source.Seek(ctx, r, f); err != nil {
			return m.fail(err)
		}
	}
	for i := range m.cursors {
		if err := m.load(ctx, uint16(i)); err != nil {
			return m.fail(err)
		}
	}
	m.order = orderOf(m.mode, len(m.cursors))
	m.order.start(m)
	return nil
}

// Fill is as in RunSource. Its cost depends on the mode; nothing is allocated.
func (m *Merge) Fill(ctx context.Context, out []Run) (int, error) {
	if err := m.checkOpen(); err != nil {
		return 0, err
	}
	if m.err != nil {
		return 0, m.err
	}
	if len(out) == 0 {
		return 0, fmt.Errorf("merge: no room for runs: %w", tablet.ErrUsage)
	}
	if !m.seeked {
		return 0, fmt.Errorf("merge: read before seek: %w", tablet.ErrUsage)
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := m.refill(ctx); err != nil {
		return 0, m.fail(err)
	}
	n := m.order.fill(m, out)
	m.stats.Switches += int64(n)
	if m.verify {
		m.watch.check("merge", m.Batch, out[:n], true)
	}
	return n, nil
}

// Batch is as in RunSource.
func (m *Merge) Batch(src uint16) *tablet.Batch { return m.cursors[src].batch }

// Stats returns the counts so far.
func (m *Merge) Stats() Stats { return m.stats }

// Mode is the mode the merge was got with.
func (m *Merge) Mode() Mode { return m.mode }

// Sources is the number of sources.
func (m *Merge) Sources() int { return len(m.cursors) }

// Generation counts how often the object was got from its pool. A holder that sees it change has outlived its merge.
func (m *Merge) Generation() uint32 { return m.handles }

// refill loads the batch that the last Fill could not load.
func (m *Merge) refill(ctx context.Context) error {
	if m.spent < 0 {
		return nil
	}
	src := uint16(m.spent)
	// The last entry that left is the last of the batch that is about to go.
	view := m.cursors[src].batch.Key(int(m.last.at))
	m.last.key.Assign(&view)
	m.last.copied = true
	if err := m.load(ctx, src); err != nil {
		return err
	}
	m.cursors[src].alone = m.standsAlone(src)
	m.spent = -1
	m.order.refilled(m, src)
	return nil
}

// load gets the next batch of a source. m.spent says whether the source delivered one before, whose last key is then
// m.last.key.
func (m *Merge) load(ctx context.Context, src uint16) error {
	c := &m.cursors[src]
	c.batch, c.at, c.alone = nil, 0, false
	b, err := c.source.Next(ctx)
	if err != nil {
		return err
	}
	if b == nil {
		m.lent(src, nil)
		c.key = tablet.Key{}
		return nil
	}
	if err := m.checkBatch(src, b); err != nil {
		return err
	}
	b = m.lent(src, b)
	c.batch, c.key = b, b.Key(0)
	return nil
}

// emit appends entries [lo, hi) of a source's batch to the output. It wants room in out unless they continue its last run.
func (m *Merge) emit(out []Run, n int, src uint16, lo, hi uint32) int {
	if continues(out, n, src) {
		out[n-1].Hi = hi
	} else {
		out[n] = Run{Code: m.codeAt(src, lo), Src: src, Lo: lo, Hi: hi}
		n++
	}
	m.stats.Entries += int64(hi - lo)
	m.last.any, m.last.copied, m.last.source, m.last.at = true, false, src, hi-1
	return n
}

// continues says whether the source's next entry extends the last run. Within one Fill no batch is replaced, so the
// same source means the entry behind it in the same batch.
func continues(out []Run, n int, src uint16) bool { return n > 0 && out[n-1].Src == src }

// codeAt is the code of a source's entry against the last entry that left the merge.
func (m *Merge) codeAt(src uint16, at uint32) uint64 {
	b := m.cursors[src].batch
	if !m.last.any || m.last.source == src {
		return b.Codes[at]
	}
	k := b.Key(int(at))
	if m.last.copied {
		return tablet.CodeOf(&m.last.key, &k)
	}
	base := m.cursors[m.last.source].batch.Key(int(m.last.at))
	return tablet.CodeOf(&base, &k)
}

func (m *Merge) fail(err error) error {
	m.err = err
	return err
}

// checkOpen guards against a merge that went back to its pool, where it may already serve another.
func (m *Merge) checkOpen() error {
	if m.open {
		return nil
	}
	if invariant.Enabled {
		invariant.Fail("merge used after close")
	}
	return fmt.Errorf("merge: %w", tablet.ErrClosed)
}
