package wal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// The layout of a segment, as internal/record describes it.
const (
	headerBytes = 24
	frameBytes  = 16
)

// place is one frame of a segment.
type place struct {
	start, end int64
	synced     int64 // as the frame says
	payload    []byte
}

// places reads the frames of a segment that is whole.
func places(b []byte) (all []place) {
	for at := int64(headerBytes); at < int64(len(b)); {
		end := at + frameBytes + int64(binary.LittleEndian.Uint32(b[at+4:]))
		all = append(all, place{at, end, int64(binary.LittleEndian.Uint64(b[at+8:])), b[at+frameBytes : end]})
		at = end
	}
	return all
}

// disk is a log as bytes, by segment number.
type disk map[uint64][]byte

func readDisk(t testing.TB, fsys vfs.FS) disk {
	t.Helper()
	d := disk{}
	numbers, err := List(fsys)
	must(t, err)
	for _, n := range numbers {
		f, err := fsys.Open(Name(n))
		must(t, err)
		b := make([]byte, content(t, fsys, Name(n)))
		if read, err := f.ReadAt(b, 0); read < len(b) {
			t.Fatal(err)
		}
		f.Close()
		d[n] = b
	}
	return d
}

func (d disk) numbers() (all []uint64) {
	for n := range d {
		all = append(all, n)
	}
	slices.Sort(all)
	return all
}

// with is a disk on which one segment has other bytes.
func (d disk) with(t testing.TB, number uint64, b []byte) vfs.FS {
	t.Helper()
	mem := vfs.Mem()
	must(t, mem.MkdirAll(Dir))
	for n, own := range d {
		if n == number {
			own = b
		}
		f, err := mem.Create(Name(n))
		must(t, err)
		_, err = f.Write(own)
		must(t, err)
		must(t, f.Sync())
		must(t, f.Close())
	}
	must(t, mem.SyncDir(Dir))
	must(t, mem.SyncDir("."))
	return mem
}

// randomLog writes a log of some segments; some of them were given up, some ended with a crash. The last is not sealed.
func randomLog(t testing.TB, rng *rand.Rand) *world {
	t.Helper()
	w := newWorld(t, Options{MaxBytes: 400 + rng.Int64N(3000), MaxUnsynced: 500 + rng.Int64N(1000)})
	for range 5 + rng.IntN(25) {
		if rng.IntN(12) == 0 {
			w.disk.Add(vfs.Rule{Op: vfs.OpSync, Sync: vfs.SyncModels[rng.IntN(3)]})
		}
		if rng.IntN(15) == 0 {
			w.crash(vfs.ImageOptions{Mode: vfs.ImageAll})
		}
		for range 1 + rng.IntN(3) {
			w.append(1+rng.Uint64N(4), levels[rng.IntN(3)])
		}
		w.commit()
		w.heal()
	}
	w.disk.Heal()
	must(t, w.heal())
	w.append(1, tablet.DurabilitySync)
	must(t, w.commit())
	return w
}

// copies says of each LSN where its records are.
type copies map[uint64][]spot

type spot struct {
	segment    uint64
	start, end int64
}

func (d disk) copies() copies {
	c := copies{}
	for n, b := range d {
		for _, p := range places(b) {
			if len(p.payload) > 0 && p.payload[0] == recordEntry {
				lsn, _ := binary.Uvarint(p.payload[1:])
				c[lsn] = append(c[lsn], spot{n, p.start, p.end})
			}
		}
	}
	return c
}

// leaves says which of the entries given without damage are to be given when one segment ends at a place.
func (c copies) leaves(w *world, before map[uint64]bool, segment uint64, end int64) map[uint64]bool {
	left := map[uint64]bool{}
	for id := range before {
		for _, s := range c[w.entries[id-1].lsn] {
			if s.segment != segment || s.end <= end {
				left[id] = true
			}
		}
	}
	return left
}

func equalSets(a, b map[uint64]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for id := range a {
		if !b[id] {
			return false
		}
	}
	return true
}

// tails are what may lie behind a cut.
func tails(rng *rand.Rand, lost int, old []byte) map[string][]byte {
	noise := make([]byte, lost)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for len(old) < lost {
		old = append(old, old...)
	}
	return map[string][]byte{
		"nothing": nil, "zeros": make([]byte, lost), "0xff": bytes.Repeat([]byte{0xff}, lost), "noise": noise,
		"old log": old[len(old)-lost:],
	}
}

// TestTornTail cuts the last record of a log at every byte; behind the cut nothing, zeros, 0xff, random bytes, or bytes
// of an older segment. The log opens and gives all records before, and goes on. Target R04.
func TestTornTail(t *testing.T) {
	n := cases(4000)
	cuts, lost, refused := 0, 0, 0
	rng := rand.New(rand.NewPCG(*seedFlag, 4))
	for cuts < n {
		w := randomLog(t, rng)
		d := readDisk(t, w.mem)
		all := d.copies()
		before, _ := w.replay(w.mem)
		numbers := d.numbers()
		last := numbers[len(numbers)-1]
		b, p := d[last], places(d[last])
		end := p[len(p)-1]
		old := d[numbers[0]]
		for cut := end.start; cut < end.end; cut++ {
			for name, tail := range tails(rng, int(end.end-cut), bytes.Clone(old)) {
				cuts++
				file := append(bytes.Clone(b[:cut]), tail...)
				if bytes.Equal(file, b) {
					continue // what lies behind is what was there
				}
				present, _, err := w.tryReplay(d.with(t, last, file))
				if err != nil {
					refused++
					t.Errorf("cut at %d of %s, %s behind: %v", cut, Name(last), name, err)
				} else if want := all.leaves(w, before, last, end.start); !equalSets(present, want) {
					lost++
					t.Errorf("cut at %d of %s, %s behind: %d entries, want %d", cut, Name(last), name, len(present), len(want))
				}
			}
		}
		w.mem = d.with(t, last, append(bytes.Clone(b[:end.end-1]), 0xee)).(*vfs.MemFS)
		w.open()
		w.append(2, tablet.DurabilitySync)
		must(t, w.commit())
		w.everyImage()
	}
	fmt.Printf("R04 log cuts=%d lost=%d openfail=%d seed=%d\n", cuts, lost, refused, *seedFlag)
}

// damage is bytes of one segment that are not what they were.
type damage struct {
	segment  uint64
	from, to int64 // first and last changed, the last not included
	file     []byte
}

// drawDamage flips a bit, or destroys a sector, wherever it is or near a segment's end.
func drawDamage(rng *rand.Rand, d disk) damage {
	numbers := d.numbers()
	n := numbers[rng.IntN(len(numbers))]
	b := d[n]
	if rng.IntN(2) == 0 {
		n = numbers[len(numbers)-1]
		b = d[n]
	}
	at := rng.IntN(len(b))
	if rng.IntN(2) == 0 {
		at = len(b) - 1 - rng.IntN(min(len(b), 150))
	}
	file := bytes.Clone(b)
	if rng.IntN(2) == 0 {
		file[at] ^= 1 << rng.IntN(8)
		return damage{n, int64(at), int64(at) + 1, file}
	}
	at &^= 511
	sector := file[at:min(at+512, len(file))]
	old := d[numbers[0]]
	for i := range sector {
		switch rng.IntN(3) {
		case 0:
			sector[i] = 0
		case 1:
			sector[i] = byte(rng.Uint32())
		case 2:
			sector[i] = old[(at+i+1)%len(old)]
		}
	}
	x := damage{n, int64(at), int64(at + len(sector)), file}
	for x.from < x.to && file[x.from] == b[x.from] {
		x.from++
	}
	for x.from < x.to && file[x.to-1] == b[x.to-1] {
		x.to--
	}
	return x
}

// hit is the record or header that a damage begins in.
func (x *damage) hit(d disk) int64 {
	at := int64(0)
	for _, p := range places(d[x.segment]) {
		if p.start <= x.from {
			at = p.start
		}
	}
	return at
}

// proven says whether a record that the damage spares shows that the place had been synced: one behind it, or the first
// of a later segment.
func (x *damage) proven(d disk, at int64) bool {
	for n, b := range d {
		for i, p := range places(b) {
			spared := n != x.segment || p.end <= x.from || p.start >= x.to
			if n == x.segment && spared && p.start > at && p.synced > at {
				return true
			}
			if n > x.segment && i == 0 {
				first, err := parseBegin(p.payload, n)
				if err != nil {
					panic(err)
				}
				for _, e := range first.earlier {
					if e.number == x.segment && e.synced > at {
						return true
					}
				}
			}
		}
	}
	return false
}

// TestLogCorruption damages a bit or a sector. With a good record that was written after a sync behind it, it is reported,
// with the place; a damaged tail is not, and what is before it is there. Target R05.
func TestLogCorruption(t *testing.T) {
	n := cases(1000)
	damaged, tailed, confused := 0, 0, 0
	rng := rand.New(rand.NewPCG(*seedFlag, 5))
	for damaged < n || tailed < n {
		w := randomLog(t, rng)
		d := readDisk(t, w.mem)
		all := d.copies()
		before, _ := w.replay(w.mem)
		for range 20 {
			x := drawDamage(rng, d)
			if x.from == x.to {
				continue
			}
			at := x.hit(d)
			present, _, err := w.tryReplay(d.with(t, x.segment, x.file))
			if x.proven(d, at) {
				damaged++
				if !isCorrupt(err, Name(x.segment), at) {
					confused++
					t.Errorf("%s damaged from %d to %d, in the record at %d: %v", Name(x.segment), x.from, x.to, at, err)
				}
				continue
			}
			tailed++
			if want := all.leaves(w, before, x.segment, at); err != nil || !equalSets(present, want) {
				confused++
				t.Errorf("%s has a bad tail from %d to %d, in the record at %d: %d entries, want %d, %v", Name(x.segment), x.from, x.to, at, len(present), len(want), err)
			}
		}
	}
	fmt.Printf("R05 log damaged=%d tails=%d confused=%d seed=%d\n", damaged, tailed, confused, *seedFlag)
}
