package rfile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sort"
	"sync"
	"sync/atomic"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// mapCache is a cache that keeps everything, or forgets at random, and counts.
type mapCache struct {
	mu     sync.Mutex
	blocks map[bcfile.Region]*Block
	rng    *rand.Rand // nil: never forgets or declines
	gets   [2]int
	loads  [2]int
	grown  atomic.Int64
}

func (c *mapCache) Block(kind BlockKind, r bcfile.Region, load BlockLoader) (*Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gets[kind]++
	if c.rng != nil && c.rng.IntN(4) == 0 {
		delete(c.blocks, r)
		if c.rng.IntN(2) == 0 {
			return nil, nil
		}
	}
	if b := c.blocks[r]; b != nil {
		return b, nil
	}
	c.loads[kind]++
	b, err := load.Load()
	if err != nil {
		return nil, err
	}
	b.Grown = func(*Block) { c.grown.Add(1) }
	if c.blocks == nil {
		c.blocks = map[bcfile.Region]*Block{}
	}
	c.blocks[r] = b
	return b, nil
}

// reseeker holds one cursor's answers against the list of all entries, over many seeks.
type reseeker struct {
	t    *testing.T
	name string
	all  []tablet.Entry
	c    *Cursor
	want []tablet.Entry
}

// check seeks, reads the given number of batches (negative: all), and compares them.
func (s *reseeker) check(r tablet.Range, f tablet.Families, batches int) {
	s.t.Helper()
	want := s.want[:0]
	from := sort.Search(len(s.all), func(i int) bool { return !r.BeforeStart(&s.all[i].Key) })
	for i := from; i < len(s.all) && !r.AfterEnd(&s.all[i].Key); i++ {
		if f.Accepts(s.all[i].Key.Family()) {
			want = append(want, s.all[i])
		}
	}
	s.want = want
	ctx := context.Background()
	if err := s.c.Seek(ctx, r, f); err != nil {
		s.t.Fatalf("%s, seek %v: %v", s.name, r, err)
	}
	n := 0
	for ; batches != 0; batches-- {
		b, err := s.c.Next(ctx)
		if err != nil {
			s.t.Fatalf("%s, %v: %v", s.name, r, err)
		}
		if b == nil {
			if n != len(want) {
				s.t.Fatalf("%s, %v: %d entries, want %d", s.name, r, n, len(want))
			}
			return
		}
		if n+b.Len() > len(want) {
			s.t.Fatalf("%s, %v: %d entries and more, want %d", s.name, r, n+b.Len(), len(want))
		}
		s.compare(b, r, want, n)
		n += b.Len()
	}
}

func (s *reseeker) compare(b *tablet.Batch, r tablet.Range, want []tablet.Entry, at int) {
	s.t.Helper()
	maxCode, deletes := uint64(0), false
	for i := range b.Refs {
		got, w := b.Entry(i), want[at+i]
		if tablet.Compare(&got.Key, &w.Key) != 0 || string(got.Value) != string(w.Value) {
			s.t.Fatalf("%s, %v: entry %d is %v, want %v", s.name, r, at+i, got.Key, w.Key)
		}
		code := tablet.CodeOfFirst(&w.Key)
		if at+i > 0 {
			code = tablet.CodeOf(&want[at+i-1].Key, &w.Key)
		} else if start, ok := r.Start(); ok && start.Inclusive {
			code = tablet.CodeOf(&start.Key, &w.Key)
		}
		if b.Codes[i] != code {
			s.t.Fatalf("%s, %v: code of entry %d, %v: %016x, want %016x", s.name, r, at+i, w.Key, b.Codes[i], code)
		}
		if i > 0 {
			maxCode = max(maxCode, code)
		}
		deletes = deletes || w.Key.Deleted()
		if i > 0 && b.Facts.Contiguous && b.Refs[i].At != b.Refs[i-1].End {
			s.t.Fatalf("%s, %v: entry %d is said to follow the one before", s.name, r, at+i)
		}
	}
	if b.Facts.MaxCode != maxCode || b.Facts.Deletes != deletes || b.Facts.FirstOf != (b.Refs[0].At == 0) ||
		b.Facts.LastOf != (int(b.Refs[b.Len()-1].End) == len(b.Raw)) {
		s.t.Fatalf("%s, %v: facts %+v, want largest code %x, deletes %v", s.name, r, b.Facts, maxCode, deletes)
	}
}

// randomRange begins near entry at, or anywhere.
func randomRange(rng *rand.Rand, all []tablet.Entry, at int) (tablet.Range, int) {
	if at < 0 || rng.IntN(3) == 0 {
		at = rng.IntN(len(all))
	} else {
		at = max(0, min(len(all)-1, at-3+rng.IntN(40)))
	}
	k := all[at].Key
	switch rng.IntN(12) {
	case 0:
		return tablet.ExactRow(k.Row()), at
	case 1:
		return tablet.Exact(k.Row(), k.Family(), k.Qualifier()), at
	case 2:
		return tablet.Range{}.After(k), at
	case 3:
		return tablet.Range{}.WithStart(k.WithTimestamp(k.Timestamp() + 1)), at
	case 4:
		return tablet.RowRange(tablet.RowBounds{Start: append(k.Row(), 0)}), at
	case 5:
		return tablet.RowRange(tablet.RowBounds{End: k.Row()}), at
	case 6:
		return tablet.Range{}, at
	}
	end := &tablet.Bound{Key: all[min(len(all)-1, at+rng.IntN(60))].Key, Inclusive: rng.IntN(2) == 0}
	r, err := tablet.NewRange(&tablet.Bound{Key: k, Inclusive: end.Inclusive || rng.IntN(2) == 0}, end)
	if err != nil {
		return tablet.Range{}.WithStart(k), at
	}
	return r, at
}

// TestReseek holds long histories of seeks on one cursor against a linear scan: near and far, forwards and backwards,
// read in part or not at all, bounded or not, with families that come and go, with and without a cache that forgets.
func TestReseek(t *testing.T) {
	rng := rand.New(rand.NewPCG(20261201, 5))
	seeks := 500
	if testing.Short() {
		seeks = 150
	}
	for round := range 16 {
		o := WriterOptions{Codec: []string{"none", "lz4"}[round%2], BlockBytes: []int{60, 700, 9000, 60000}[round/2%4], IndexBlockBytes: 300}
		families := []string{"f", "ff", ""}
		all := randomEntries(rng, 1500, []string{"ab", "\x00\xff", "abcdefgh", "a"}[round%4], families)
		file, _ := writeGroups(t, o, all, [][]string{nil})
		r := readBytes(t, file)
		for _, co := range []CursorOptions{{BatchEntries: 1}, {BatchEntries: 7, NoBlockIndex: true}, {},
			{BatchEntries: 40, Cache: &mapCache{rng: rng}}, {Cache: &mapCache{}, CopyIndex: true}} {
			s := &reseeker{t: t, name: fmt.Sprintf("round %d, %+v", round, co), all: all, c: r.Cursor(r.Groups()[0], co)}
			at, before, f := -1, -1, tablet.Families{}
			for range seeks {
				if rng.IntN(4) == 0 {
					at, before = before, at // back to where it was
				}
				rr, next := randomRange(rng, all, at)
				before, at = at, next
				if rng.IntN(8) == 0 {
					f = []tablet.Families{{}, {}, tablet.OnlyFamilies([]byte("ff")), tablet.AllFamiliesBut([]byte("f")), tablet.OnlyFamilies()}[rng.IntN(5)]
				}
				batches := rng.IntN(5)
				if batches == 4 && rng.IntN(20) == 0 {
					batches = -1
				}
				s.check(rr, f, batches)
			}
			s.c.Close()
		}
	}
}

// TestReseekToTheSame seeks to one place again and again, as a scan does whose source was exchanged: the same answer
// each time, also after the end and after an empty range.
func TestReseekToTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	all := randomEntries(rng, 400, "abc", []string{"f"})
	file, _ := writeGroups(t, WriterOptions{Codec: "none", BlockBytes: 500, IndexBlockBytes: 200}, all, [][]string{nil})
	r := readBytes(t, file)
	s := &reseeker{t: t, name: "same", all: all, c: r.Cursor(r.Groups()[0], CursorOptions{BatchEntries: 10})}
	past := tablet.ExactRow([]byte("zzz"))
	for i := 0; i < len(all); i += 7 {
		from := tablet.Range{}.WithStart(all[i].Key)
		s.check(from, tablet.Families{}, 1)
		s.check(from, tablet.Families{}, 2)
		s.check(past, tablet.Families{}, -1)
		s.check(from, tablet.Families{}, -1)
		s.check(tablet.Range{}.After(all[i].Key), tablet.Families{}, 1)
		s.check(from, tablet.OnlyFamilies(), -1)
		s.check(from, tablet.Families{}, 1)
	}
}

// TestForwardSkips counts blocks: seeks that go forward through a file read each block once, and one that stays within
// the block in memory reads none.
func TestForwardSkips(t *testing.T) {
	all := someIngest()[:20000]
	file, _ := writeGroups(t, WriterOptions{Codec: "lz4", IndexBlockBytes: 400}, all, [][]string{nil})
	r := readBytes(t, file)
	g := r.Groups()[0]
	s := &reseeker{t: t, name: "forward", all: all, c: r.Cursor(g, CursorOptions{BatchEntries: 20})}
	read := func() int64 { return s.c.data.blocks.Stats().Blocks }
	for i := 0; i < len(all); i += 13 {
		s.check(tablet.Range{}.WithStart(all[i].Key), tablet.Families{}, 1)
	}
	if n := read(); n != int64(g.Blocks) {
		t.Errorf("%d blocks read on the way through a file of %d", n, g.Blocks)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	s.check(tablet.Range{}.WithStart(all[5].Key), tablet.Families{}, 1)
	before := read()
	for range 200 { // the first block holds some 800 entries
		s.check(tablet.Range{}.WithStart(all[rng.IntN(700)].Key), tablet.Families{}, 1)
	}
	if n := read() - before; n != 0 {
		t.Errorf("%d blocks read by seeks within the block in memory", n)
	}
}
