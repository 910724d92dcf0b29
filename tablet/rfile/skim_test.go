package rfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/internal/wire"
	"millrace/tablet"
)

// edgeLengths are those around which a skim treats fields differently.
var edgeLengths = []int{0, 1, 2, 3, 4, 7, 14, 15, 16, 17, 31, 32, 33, 62, 63, 64, 65, 126, 127, 128, 129, 189, 190, 191, 192, 193, 300, 700}

// edgeEntries are sorted entries with fields of such lengths, many of which share such prefixes.
func edgeEntries(rng *rand.Rand, n int) []tablet.Entry {
	most := 5 + rng.IntN(len(edgeLengths)-4)
	if rng.IntN(3) > 0 {
		most = 6
	}
	field := func(old []byte) []byte {
		b := slices.Clone(old[:min(len(old), edgeLengths[rng.IntN(most)])])
		for range edgeLengths[rng.IntN(most)] {
			b = append(b, "\x00ab\xff"[rng.IntN(4)])
		}
		return b[:min(len(b), edgeLengths[most-1]+2)]
	}
	steady := rng.IntN(5) // up to which field keys are mostly the same
	var all []tablet.Entry
	f := tablet.Fields{Timestamp: rng.Int64N(1 << 40)}
	for range n {
		for i, b := range []*[]byte{&f.Row, &f.Family, &f.Qualifier, &f.Visibility} {
			if i >= steady || rng.IntN(9) == 0 {
				*b = field(*b)
			}
		}
		if rng.IntN(5) > 0 {
			f.Timestamp += rng.Int64N(1<<(1+rng.IntN(40))) - rng.Int64N(1<<(1+rng.IntN(40)))
		}
		f.Deleted = rng.IntN(6) == 0
		all = append(all, tablet.Entry{Key: tablet.NewKey(f), Value: field(nil)})
	}
	sortEntries(all)
	return all
}

// looseBlock encodes entries as no writer does that we know of, but as the format allows: less is shared than could be, and
// integers are longer than they need be.
func looseBlock(rng *rand.Rand, all []tablet.Entry) []byte {
	block := appendFirst(nil, all[0].Key, all[0].Value)
	number := func(v int64) {
		if v >= 0 && rng.IntN(12) == 0 {
			block = append(block, byte(0x100-112-8))
			block = binary.BigEndian.AppendUint64(block, uint64(v))
			return
		}
		block = wire.AppendHVLong(block, v)
	}
	for i := 1; i < len(all); i++ {
		prev, k := &all[i-1].Key, &all[i].Key
		start := len(block)
		block = append(block, flagPrefixes, 0)
		for j, f := range [4][2][]byte{{prev.Row(), k.Row()}, {prev.Family(), k.Family()}, {prev.Qualifier(), k.Qualifier()}, {prev.Visibility(), k.Visibility()}} {
			shared := tablet.CommonPrefix(f[0], f[1])
			switch n := rng.IntN(8); {
			case bytes.Equal(f[0], f[1]) && n > 0:
				block[start] |= 1 << j
				continue
			case n == 1:
				shared = 0
			case n == 2:
				shared = rng.IntN(shared + 1)
			}
			if shared > 0 || rng.IntN(8) == 0 {
				block[start+1] |= 1 << j
				number(int64(shared))
			}
			number(int64(len(f[1]) - shared))
			block = append(block, f[1][shared:]...)
		}
		switch rng.IntN(3) {
		case 0:
			number(k.Timestamp())
		case 1:
			block[start+1] |= prefixTS
			number(k.Timestamp() - prev.Timestamp())
		default:
			if k.Timestamp() == prev.Timestamp() {
				block[start] |= flagTSSame
			} else {
				number(k.Timestamp())
			}
		}
		if k.Deleted() {
			block[start] |= flagDeleted
		}
		if block[start+1] == 0 && rng.IntN(4) > 0 {
			block[start] &^= flagPrefixes
			block = slices.Delete(block, start+1, start+2)
		}
		block = appendValue(block, all[i].Value)
	}
	return block
}

// mutateBlock changes a block in one or two places, mostly in the heads of entries.
func mutateBlock(rng *rand.Rand, block []byte, refs []tablet.EntryRef) []byte {
	block = slices.Clone(block)
	for range 1 + rng.IntN(2) {
		r := refs[rng.IntN(len(refs))]
		at := min(int(r.At)+rng.IntN(12), len(block)-1)
		if rng.IntN(4) == 0 {
			at = min(int(r.ValueAt)-1-rng.IntN(12), len(block)-1)
		}
		if at = max(at, 0); len(block) == 0 {
			return block
		}
		switch rng.IntN(6) {
		case 0, 1:
			block[at] ^= 1 << rng.IntN(8)
		case 2:
			block[at] = []byte{0, 1, 0x3f, 0x40, 0x7f, 0x80, 0x88, 0x8f, 0xc0, 0xff}[rng.IntN(10)]
		case 3:
			block[at] += byte(1 - 2*rng.IntN(2))
		case 4:
			block = slices.Delete(block, at, at+1)
		case 5:
			block = slices.Insert(block, at, byte(rng.Uint32()))
		}
	}
	if rng.IntN(20) == 0 {
		block = block[:rng.IntN(len(block)+1)]
	}
	return block
}

// decodeRefs decodes a block by the decoder up to the first error.
func decodeRefs(block []byte, entries int) (b *tablet.Batch, err error) {
	b = &tablet.Batch{}
	d := decoder{batch: b}
	d.startBlock(block, entries)
	d.startBatch()
	for d.left > 0 {
		ref := d.slot()
		code, err := d.next(ref)
		if err != nil {
			return b, err
		}
		d.keep(ref, code)
	}
	return b, nil
}

// placeBetween is where a key first differs from the one before it, found in the plainest way.
func placeBetween(prev, k *tablet.Key) place {
	for i, f := range [4][2][]byte{{prev.Row(), k.Row()}, {prev.Family(), k.Family()}, {prev.Qualifier(), k.Qualifier()}, {prev.Visibility(), k.Visibility()}} {
		if !bytes.Equal(f[0], f[1]) {
			return placeOf(i, tablet.CommonPrefix(f[0], f[1]))
		}
	}
	switch {
	case prev.Timestamp() != k.Timestamp():
		return placeVersion
	case prev.Deleted() != k.Deleted():
		return placeFlag
	}
	return placeEnd
}

// holdSkim holds a skim over a block against the decoder: it refuses the same blocks, stops where it was told to, and has
// at every stop what the decoder has.
func holdSkim(rng *rand.Rand, block []byte, entries int, below place, changed byte) (accepted bool, err error) {
	want, decodeErr := decodeRefs(block, entries)
	var s skim
	s.open(block, entries)
	if s.firstKey() != nil {
		if len(want.Refs) > 0 {
			return false, fmt.Errorf("first key is refused")
		}
		return false, nil
	}
	for {
		i := entries - s.left - 1
		if i >= len(want.Refs) {
			return false, fmt.Errorf("took entry %d, where the decoder says: %v", i, decodeErr)
		}
		if err := sameSkim(&s, want, i); err != nil {
			return false, fmt.Errorf("entry %d of %d: %w", i, entries, err)
		}
		if s.left == 0 {
			return true, nil
		}
		left := rng.IntN(s.left)
		met, err := s.pass(below, changed, left)
		if err != nil {
			if decodeErr == nil {
				return false, fmt.Errorf("the decoder takes the block, the skim fails before %d", s.at)
			}
			return false, nil
		}
		for i++; i < len(want.Refs) && i < entries-left-1; i++ {
			if stopsAt(want, i, below, changed) {
				break
			}
		}
		if i != entries-s.left-1 || i < len(want.Refs) && met != stopsAt(want, i, below, changed) {
			return false, fmt.Errorf("stopped at entry %d, met %v; want %d", entries-s.left-1, met, i)
		}
	}
}

func stopsAt(b *tablet.Batch, i int, below place, changed byte) bool {
	prev, k := b.Key(i-1), b.Key(i)
	return placeBetween(&prev, &k) < below || ^b.Raw[b.Refs[i].At]&changed != 0
}

func sameSkim(s *skim, want *tablet.Batch, i int) error {
	arena, ends := s.appendKey(nil)
	got, k, r := tablet.KeyView(arena, ends, s.ts, s.deleted()), want.Key(i), want.Refs[i]
	if tablet.Compare(&got, &k) != 0 {
		return fmt.Errorf("key %v, want %v", got, k)
	}
	if s.start != int(r.At) || s.valueAt != int(r.ValueAt) || s.at != int(r.End) || s.recorded != int(r.Shared) {
		return fmt.Errorf("lies at %d, %d, %d, shares %d; want %d, %d, %d, %d", s.start, s.valueAt, s.at, s.recorded, r.At, r.ValueAt, r.End, r.Shared)
	}
	if i > 0 {
		prev := want.Key(i - 1)
		if p := placeBetween(&prev, &k); s.place != p {
			return fmt.Errorf("differs at %x, want %x", s.place, p)
		}
	}
	deletes := 0
	for _, r := range want.Refs[:i+1] {
		if r.Deleted {
			deletes++
		}
	}
	if s.deletes != deletes {
		return fmt.Errorf("%d deletes, want %d", s.deletes, deletes)
	}
	return nil
}

// TestSkimAsDecoder skims sound and mutated blocks of all shapes.
func TestSkimAsDecoder(t *testing.T) {
	rng := rand.New(rand.NewPCG(*seedFlag, 6))
	n, accepted := cases(100_000), 0
	for try := 0; try < n; {
		all := edgeEntries(rng, 2+rng.IntN(60))
		block := blockOf(all)
		if rng.IntN(2) == 0 {
			block = looseBlock(rng, all)
		}
		sound, err := decodeRefs(block, len(all))
		if err != nil {
			t.Fatalf("seed %d, case %d: %v", *seedFlag, try, err)
		}
		for i := range 10 {
			mutant, entries := block, len(all)
			if i > 0 {
				mutant = mutateBlock(rng, block, sound.Refs)
				entries = max(1, entries-rng.IntN(2))
			}
			below := []place{0, placeOf(1, 0), placeOf(2, 0), placeOf(3, 0), placeOf(0, rng.IntN(9)), placeVersion, placeEnd}[rng.IntN(7)]
			changed := []byte{0, 0, flagFamSame, flagTSSame | flagRowSame}[rng.IntN(4)]
			ok, err := holdSkim(rng, mutant, entries, below, changed)
			if err != nil || i == 0 && !ok {
				t.Fatalf("seed %d, case %d, below %x, changed %02x: %v", *seedFlag, try, below, changed, err)
			}
			if ok && i > 0 {
				accepted++
			}
			try++
		}
	}
	if accepted < n/50 || accepted > n-n/50 {
		t.Errorf("of %d blocks %d were accepted: the mutations do not test much", n, accepted)
	}
}

// FuzzSkimAsDecoder does so with arbitrary bytes.
func FuzzSkimAsDecoder(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 3))
	for i := range 8 {
		all := edgeEntries(rng, 30)
		f.Add(looseBlock(rng, all), len(all), uint64(i)<<29, byte(i%4))
	}
	f.Add(blockOf(someIngest()[:20]), 20, uint64(0), byte(0))
	f.Fuzz(func(t *testing.T, block []byte, entries int, below uint64, changed byte) {
		if entries < 1 || entries > 1000 {
			return
		}
		if _, err := holdSkim(rand.New(rand.NewPCG(below, uint64(changed))), block, entries, place(below), changed&(allFieldsSame|flagTSSame)); err != nil {
			t.Fatal(err)
		}
	})
}
