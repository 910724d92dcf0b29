package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// crashCase crashes one history at every call and says what to look at of each point.
type crashCase struct {
	ops   History
	store []actors.Option
	// images at each point; nil: FiveImages.
	images func(uint64, Point, *vfs.MemFS) []vfs.ImageOptions
	only   func(Point) bool
	// moreEvery says of how many images one is written to. Default every.
	moreEvery int
	// least is how many points there are at least, so that a case which tests nothing is seen.
	least int
}

func (c crashCase) run(t *testing.T, name string) {
	t.Helper()
	n := runs(1)
	var all crashTotals
	for i := range n {
		seed := firstSeed() + uint64(i)
		only := func(at Point) bool { return onlyPoint(at) && (c.only == nil || c.only(at)) }
		all.add(t, CrashEverywhere(seed, CrashOptions{
			Run:    RunOptions{Ops: c.ops, World: Options{Schedule: ScheduleFor(seed), Store: c.store}},
			Images: c.images, Only: only, More: AfterCrash("t"), MoreEvery: max(1, c.moreEvery),
		}))
	}
	if all.points < c.least && *pointFlag == 0 {
		t.Errorf("only %d points", all.points)
	}
	lastLine(t, name, all.figures()...)
}

// numbered gives operations their numbers and the table.
func numbered(ops ...Op) History {
	for i := range ops {
		ops[i].Number, ops[i].Table = i+1, "t"
	}
	return ops
}

// puts and dels write one cell of each row.
func puts(number int, rows ...string) Op { return cells(number, false, rows) }
func dels(number int, rows ...string) Op { return cells(number, true, rows) }

func cells(number int, deleted bool, rows []string) Op {
	op := Op{Kind: Write}
	for _, row := range rows {
		m := tablet.NewMutation([]byte(row))
		u := tablet.Update{Family: []byte("f"), Qualifier: []byte("q"), Deleted: deleted}
		u.Value = Value(m.Row(), u.Family, u.Qualifier, number)
		m.Add(u)
		op.Mutations = append(op.Mutations, m)
	}
	return op
}

func isKind(kinds ...OpKind) func(Point) bool {
	return func(at Point) bool { return slices.Contains(kinds, at.Op.Kind) }
}

// A full compaction that has nothing to write leaves no file. Crashed at every call it opens, shows nothing, and compacts
// again.
func TestCrashEmptyCompaction(t *testing.T) {
	crashCase{
		ops: numbered(puts(1, "a", "b"), Op{Kind: Flush}, dels(3, "a", "b"), Op{Kind: Flush}, Op{Kind: Full}, Op{Kind: Check},
			puts(7, "a"), Op{Kind: Flush}, dels(9, "a"), Op{Kind: Full}, Op{Kind: Check}),
		only: isKind(Full), least: 40,
	}.run(t, "B050")
}

// The log may be given up only once the file is durable and named, not when the flush begins. Segments are so
// small that every flush makes some obsolete.
func TestCrashFlush(t *testing.T) {
	crashCase{
		ops: numbered(puts(1, "a", "b", "c"), puts(2, "b", "c"), puts(3, "d", "e", "f"), Op{Kind: Flush}, puts(5, "a", "g"),
			dels(6, "b"), puts(7, "c", "d"), Op{Kind: Flush}, puts(9, "a"), Op{Kind: Flush}),
		store: tinySegments, only: isKind(Flush), least: 50,
	}.run(t, "B157")
}

var tinySegments = []actors.Option{actors.WithProperties(map[string]string{"tserver.wal.max.size": "100"})}

// everySubset are images with each subset of the pending changes of directories, up to 256 of them. Without -n or -point
// at most 16 of them, spread evenly.
func everySubset(seed uint64, at Point, fs *vfs.MemFS) []vfs.ImageOptions {
	var images []vfs.ImageOptions
	all, step := fs.Images(vfs.ImageReorder), 1
	if *nFlag == 0 && *pointFlag == 0 {
		step = max(1, all/16)
	}
	for nth := at.Number % step; nth < all; nth += step {
		images = append(images, vfs.ImageOptions{Mode: vfs.ImageReorder, Seed: seed + uint64(at.Number), Nth: nth + 1})
	}
	return images
}

// Removals may reach the disk before what replaces the removed, creations never: whatever subset of the changes of
// directories is kept, the store opens.
func TestCrashDirectoryOrder(t *testing.T) {
	crashCase{
		ops: numbered(puts(1, "a", "b", "c"), puts(2, "d"), Op{Kind: Flush}, puts(4, "b", "e"), Op{Kind: Flush}, Op{Kind: Split, Row: []byte("b")},
			Op{Kind: Full}, puts(8, "a", "d"), Op{Kind: Reopen}, puts(10, "c"), Op{Kind: Flush}, Op{Kind: Full}, Op{Kind: Reopen}),
		store: tinySegments, images: everySubset, moreEvery: 10, least: 200,
	}.run(t, "B167")
}

// A log that is obsolete is removed, and nothing may miss it afterwards, whichever removals and syncs the disk has
// done. Several tablets keep segments for different times.
func TestCrashLogRemoval(t *testing.T) {
	ops := numbered(Op{Kind: Split, Row: []byte("b")}, Op{Kind: Split, Row: []byte("d")})
	for i, rows := range []string{"a c e", "a", "", "c e", "e", "", "a", "a c", "e", ""} {
		op := Op{Kind: Flush}
		if rows != "" {
			op = puts(len(ops)+1, strings.Fields(rows)...)
		}
		op.Pick = uint64(i)
		ops = append(ops, op)
	}
	ops = numbered(append(ops, Op{Kind: Reopen}, puts(len(ops)+2, "a", "e"), Op{Kind: Flush}, Op{Kind: Reopen})...)
	removed := 0
	crashCase{
		ops: ops, store: tinySegments, images: everySubset, least: 100,
		only: func(at Point) bool {
			if at.Call.Op == vfs.OpRemove && vfs.ClassOf(at.Call.Name) == vfs.ClassLog {
				removed++
			}
			return vfs.ClassOf(at.Call.Name) == vfs.ClassLog || at.When == Between
		},
	}.run(t, "B171")
	if removed < 10 && *pointFlag == 0 {
		t.Errorf("only %d points at removals of segments", removed)
	}
}

// A new file of the log is there after the first write to it was acknowledged: at every acknowledgement the worst
// that a power cut can leave has a segment, though its directory was new as well.
func TestCrashNewLog(t *testing.T) {
	var ops History
	for i := range 6 {
		ops = append(ops, puts(i+1, fmt.Sprint("r", i)))
	}
	crashCase{
		ops: numbered(ops...), store: tinySegments, least: 6,
		only: func(at Point) bool { return at.When == Between },
		images: func(_ uint64, at Point, fs *vfs.MemFS) []vfs.ImageOptions {
			strict := vfs.ImageOptions{Mode: vfs.ImageStrict}
			if names, err := fs.Image(strict).List("wal"); err != nil || len(names) == 0 {
				t.Errorf("%v: %d segments, %v", at, len(names), err)
			}
			return []vfs.ImageOptions{strict}
		},
	}.run(t, "B169")
}
