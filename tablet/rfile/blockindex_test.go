package rfile

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"millrace/tablet"
)

// TestBlockIndexGrows follows the points of a block of 1,000 entries: one at the second seek, then three, seven, fifteen,
// and no more, since the next would stand 31 entries apart.
func TestBlockIndexGrows(t *testing.T) {
	all := someIngest()[:1000]
	block := blockOf(all)
	var x BlockIndex
	var s skim
	want := map[int]int{1: 0, 2: 1, 3: 1, 4: 3, 7: 3, 8: 7, 15: 7, 16: 15, 32: 15, 64: 15, 128: 15}
	for n := 1; n <= 128; n++ {
		grew, err := x.visit(block, len(all), &s)
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := want[n]; ok && x.Points() != w {
			t.Errorf("%d points after %d seeks, want %d", x.Points(), n, w)
		}
		if grew != slices.Contains([]int{2, 4, 8, 16}, n) {
			t.Errorf("seek %d: grew %v", n, grew)
		}
	}
	if b := x.Bytes(); b < 15*(blockPointBytes+20) || b > 15*200 {
		t.Errorf("%d points take %d bytes", x.Points(), b)
	}
	list := x.list.Load()
	for i := range list.points {
		p := &list.points[i]
		if k := list.key(p); tablet.Compare(&k, &all[62*(i+1)-1].Key) != 0 || int(p.left) != 1000-62*(i+1) {
			t.Errorf("point %d: key %v with %d to come", i, k, p.left)
		}
	}
	small := someIngest()[:64]
	var none BlockIndex
	for range 100 {
		if _, err := none.visit(blockOf(small), len(small), &s); err != nil {
			t.Fatal(err)
		}
	}
	if none.Points() != 0 {
		t.Errorf("%d points in a block of 64 entries", none.Points())
	}
}

// TestBlockIndexPoints holds the point taken for every start against a search from the front, in blocks where keys
// repeat: everything before the point lies before the range, and no later point does.
func TestBlockIndexPoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for round := range 20 {
		all := randomEntries(rng, 600, []string{"a", "ab", "\x00\xff"}[round%3], []string{"f"})
		list, err := buildPoints(blockOf(all), len(all), 33+rng.IntN(20), new(skim))
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			for _, r := range []tablet.Range{tablet.Range{}.WithStart(all[i].Key), tablet.Range{}.After(all[i].Key)} {
				before := 0
				for before < len(all) && r.BeforeStart(&all[before].Key) {
					before++
				}
				at := -1
				for j := range list.points {
					if len(all)-int(list.points[j].left) <= before {
						at = j
					}
				}
				p := list.before(&r)
				if at < 0 && p != nil || at >= 0 && p != &list.points[at] {
					t.Fatalf("round %d, %v: %+v, want point %d of %d", round, r, p, at, len(list.points))
				}
			}
		}
	}
}

// TestBlockIndexIsUsed looks at where a cursor begins to decode: with the index near the wanted entry, without it at the
// block's front.
func TestBlockIndexIsUsed(t *testing.T) {
	all := someIngest()[:1500]
	file, _ := writeGroups(t, WriterOptions{Codec: "none", BlockBytes: 1 << 20}, all, [][]string{nil})
	r := readBytes(t, file)
	walked := func(o CursorOptions) (most int) {
		c := r.Cursor(r.Groups()[0], o)
		defer c.Close()
		rng := rand.New(rand.NewPCG(2, 2))
		for n := range 200 {
			i := rng.IntN(len(all))
			if err := c.Seek(context.Background(), tablet.Range{}.WithStart(all[i].Key), tablet.Families{}); err != nil {
				t.Fatal(err)
			}
			if c.positioned && n > 64 {
				most = max(most, i-(len(all)-c.dec.left))
			}
			if b, err := c.Next(context.Background()); err != nil || tablet.Compare(ptr(b.Key(0)), &all[i].Key) != 0 {
				t.Fatal(err)
			}
		}
		return most
	}
	// 32 seeks made points 46 entries apart; behind the last one lie fewer than two such stretches.
	if n := walked(CursorOptions{BatchEntries: 1}); n > 2*1500/32 {
		t.Errorf("%d entries passed over with an index", n)
	}
	if n := walked(CursorOptions{BatchEntries: 1, NoBlockIndex: true}); n < 1000 {
		t.Errorf("at most %d entries passed over without one", n)
	}
}

func ptr[T any](v T) *T { return &v }

// TestBlockIndexShared seeks in one cached block from several goroutines; the race detector watches.
func TestBlockIndexShared(t *testing.T) {
	all := someIngest()[:3000]
	file, _ := writeGroups(t, WriterOptions{Codec: "none", BlockBytes: 200 << 10}, all, [][]string{nil})
	r := readBytes(t, file)
	cache := &mapCache{}
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			s := &reseeker{t: t, name: "shared", all: all, c: r.Cursor(r.Groups()[0], CursorOptions{Cache: cache, BatchEntries: 1})}
			rng := rand.New(rand.NewPCG(6, uint64(worker)))
			for range 300 {
				r, err := tablet.NewRange(&tablet.Bound{Key: all[rng.IntN(2900)].Key, Inclusive: true}, nil)
				if err != nil {
					panic(err)
				}
				s.check(r, tablet.Families{}, 1)
			}
		})
	}
	wait.Wait()
	if cache.loads[DataBlock] != r.Groups()[0].Blocks {
		t.Errorf("%d blocks loaded", cache.loads[DataBlock])
	}
	for region, b := range cache.blocks {
		if b.Index.Points() == 0 {
			t.Errorf("%v has no points", region)
		}
	}
}
