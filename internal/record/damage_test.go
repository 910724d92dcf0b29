package record

import (
	"bytes"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
)

// tornTo checks that a damaged file reads as its records before a place, without an error.
func tornTo(t testing.TB, b built, damaged []byte, records int) {
	t.Helper()
	res := read(t, damaged, testHeader, Outside{})
	if res.err != nil {
		t.Fatalf("%d records and %v, want %d and a torn tail", len(res.payloads), res.err, records)
	}
	if n := res.holds(t, b); n != records {
		t.Fatalf("%d records, want %d", n, records)
	}
	want := b.endOf(records)
	if res.end.Offset != want || res.end.Torn != (int64(len(damaged)) > want) {
		t.Fatalf("end is %+v, want %d of %d", res.end, want, len(damaged))
	}
}

// endOf is where the first n records end.
func (b built) endOf(n int) int64 {
	if n == 0 {
		return b.frames[0].start
	}
	return b.frames[n-1].end
}

// whole is how many records end before a place.
func (b built) whole(at int64) int {
	n := 0
	for n < len(b.frames) && b.frames[n].end <= at {
		n++
	}
	return n
}

// TestCut cuts a file at every byte, and puts other things behind the cut.
func TestCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	older := build(t, Header{Kind: Log, Version: 3, Number: 76}, false, groups...)
	for _, seal := range []bool{true, false} {
		b := build(t, testHeader, seal, groups...)
		for cut := range len(b.bytes) {
			front := b.bytes[:cut:cut]
			lost := len(b.bytes) - cut
			noise := make([]byte, lost)
			for i := range noise {
				noise[i] = byte(rng.Uint32())
			}
			cutTo(t, b, front)
			cutTo(t, b, append(front, make([]byte, lost)...))
			cutTo(t, b, append(front, bytes.Repeat([]byte{0xff}, lost)...))
			cutTo(t, b, append(front, older.bytes[min(cut, len(older.bytes)):]...))
			cutTo(t, b, append(front, older.bytes...))
			cutTo(t, b, append(front, noise...))
			// What was there is here again, at another place.
			cutTo(t, b, append(front, append([]byte{0x55}, b.bytes[cut:]...)...))
			if cut > headerBytes {
				cutTo(t, b, append(front, b.bytes[headerBytes:]...))
			}
		}
	}
}

// cutTo checks that a file reads as the records that are as they were.
func cutTo(t testing.TB, b built, file []byte) {
	t.Helper()
	same := 0
	for same < min(len(file), len(b.bytes)) && file[same] == b.bytes[same] {
		same++
	}
	if same < headerBytes {
		if res := read(t, file, testHeader, Outside{}); res.err != nil || len(res.payloads) > 0 || res.end != (End{Torn: len(file) > 0}) {
			t.Fatalf("cut at %d: %+v", same, res)
		}
		return
	}
	whole := b.whole(int64(same))
	if n := len(b.frames); whole == n && b.frames[n-1].payload == nil {
		return // nothing is cut
	}
	tornTo(t, b, file, whole)
}

// proof is the first frame that a damage spares and that says that a place was synced; -1 if there is none.
func (b built) proof(place, from, to int64) int64 {
	for _, f := range b.frames {
		if f.start > place && f.synced > place && (f.end <= from || f.start >= to) {
			return f.start
		}
	}
	return -1
}

// damagedAt is the record or header that byte i belongs to.
func (b built) damagedAt(i int64) int64 {
	if i < headerBytes {
		return 0
	}
	return b.endOf(b.whole(i))
}

// checkDamage checks what is made of a file of which bytes from to to are damaged.
func checkDamage(t testing.TB, b built, damaged []byte, from, to int64) (corrupt bool) {
	t.Helper()
	place := b.damagedAt(from)
	res := read(t, damaged, testHeader, Outside{})
	if b.proof(place, from, to) >= 0 {
		corruptAt(t, res.err, place)
		if res.holds(t, b) != b.whole(from) {
			t.Fatalf("%d records before the damage at %d", len(res.payloads), from)
		}
		return true
	}
	if place == 0 {
		if res.err != nil || len(res.payloads) > 0 {
			t.Fatalf("damage at %d: %+v", from, res)
		}
		return false
	}
	tornTo(t, b, damaged, b.whole(from))
	return false
}

// TestBitFlips flips every bit: it is damage if a record that was written after a sync of its place is behind it.
func TestBitFlips(t *testing.T) {
	corrupt, torn := 0, 0
	for _, seal := range []bool{true, false} {
		b := build(t, testHeader, seal, groups...)
		for i := range b.bytes {
			for bit := range 8 {
				b.bytes[i] ^= 1 << bit
				if checkDamage(t, b, b.bytes, int64(i), int64(i)+1) {
					corrupt++
				} else {
					torn++
				}
				b.bytes[i] ^= 1 << bit
			}
		}
	}
	if corrupt < 3000 || torn < 400 {
		t.Errorf("%d damaged, %d torn", corrupt, torn)
	}
}

// TestZeroedAnywhere puts zeros, and noise, over every stretch of some lengths.
func TestZeroedAnywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	b := build(t, testHeader, false, groups...)
	corrupt := 0
	for _, length := range []int{16, 40, 100} {
		for from := range len(b.bytes) - length {
			damaged := bytes.Clone(b.bytes)
			clear(damaged[from : from+length])
			if from%2 == 0 {
				for i := range length {
					damaged[from+i] = byte(rng.Uint32())
				}
			}
			// What the damage leaves as it was is not damaged.
			first, last := from, from+length
			for damaged[first] == b.bytes[first] {
				first++
			}
			for damaged[last-1] == b.bytes[last-1] {
				last--
			}
			if checkDamage(t, b, damaged, int64(first), int64(last)) {
				corrupt++
			}
		}
	}
	if corrupt < 100 {
		t.Errorf("%d damaged", corrupt)
	}
}

// TestKnownFromOutside: what others know to be synced is damage if it does not verify, even at the end of the file; and
// where they found its end, it ends.
func TestKnownFromOutside(t *testing.T) {
	for _, seal := range []bool{true, false} {
		b := build(t, testHeader, seal, groups...)
		size := int64(len(b.bytes))
		for cut := range size {
			res := read(t, b.bytes[:cut], testHeader, Outside{Synced: size})
			at := int64(0)
			if cut >= headerBytes {
				at = b.endOf(b.whole(cut))
			}
			corruptAt(t, res.err, at)
			damaged := bytes.Clone(b.bytes)
			damaged[cut] ^= 0x10
			corruptAt(t, read(t, damaged, testHeader, Outside{Synced: size}).err, b.damagedAt(cut))
		}
		for n := range len(b.frames) - 1 {
			end := b.endOf(n)
			res := read(t, b.bytes, testHeader, Outside{End: end})
			if res.err != nil || res.holds(t, b) != n || res.end.Offset != end || res.end.Torn {
				t.Fatalf("end at %d: %d records, %+v, %v", end, len(res.payloads), res.end, res.err)
			}
			res = read(t, b.bytes[:end], testHeader, Outside{Synced: end})
			if res.err != nil || res.end.Synced != end {
				t.Fatalf("%d synced: %+v, %v", end, res.end, res.err)
			}
		}
	}
}

func TestBehindTheSeal(t *testing.T) {
	b := build(t, testHeader, true, groups...)
	corruptAt(t, read(t, append(b.bytes, 0), testHeader, Outside{}).err, int64(len(b.bytes)))
}

// TestMoved exchanges frames of one length, and takes frames from another file: none verifies at another place.
func TestMoved(t *testing.T) {
	same := [][]string{{"aaaa"}, {"bbbb"}, {"cccc"}, {"dddd"}}
	b := build(t, testHeader, false, same...)
	other := build(t, Header{Kind: Log, Version: 3, Number: 78}, false, same...)
	for i, fi := range b.frames[:len(b.frames)-1] {
		for j, fj := range b.frames {
			if i == j {
				continue
			}
			damaged := bytes.Clone(b.bytes)
			copy(damaged[fi.start:fi.end], b.bytes[fj.start:fj.end])
			corruptAt(t, read(t, damaged, testHeader, Outside{Synced: fi.end}).err, fi.start)
		}
		damaged := bytes.Clone(b.bytes)
		copy(damaged[fi.start:fi.end], other.bytes[fi.start:fi.end])
		corruptAt(t, read(t, damaged, testHeader, Outside{Synced: fi.end}).err, fi.start)
	}
}

// TestSeeds: frames at different places of a file have different seeds, and so have files at one place.
func TestSeeds(t *testing.T) {
	seen := map[uint32]int{}
	for i := range 200000 {
		if other, ok := seen[seed(77, int64(i)*7919)]; ok {
			t.Fatalf("offsets %d and %d have one seed", other*7919, i*7919)
		}
		seen[seed(77, int64(i)*7919)] = i
	}
	clear(seen)
	for i := range 200000 {
		if other, ok := seen[seed(uint64(i)*7919, 5)]; ok {
			t.Fatalf("files %d and %d have one seed", other*7919, i*7919)
		}
		seen[seed(uint64(i)*7919, 5)] = i
	}
	if seed(1, 5) == seed(1, 5+1<<32) || seed(1, 5) == seed(1+1<<32, 5) {
		t.Error("the upper halves do not count")
	}
}

// TestHugeLengths sets the length of each frame, its sum repaired or not, to values that must not be believed.
func TestHugeLengths(t *testing.T) {
	b := build(t, testHeader, false, groups...)
	for i, f := range b.frames {
		for _, v := range []uint32{0, 1, uint32(len(f.payload)) - 1, uint32(len(f.payload)) + 1, math.MaxInt32, 1 << 31, math.MaxUint32, uint32(len(b.bytes)), uint32(len(b.bytes)) + 1} {
			if v == uint32(len(f.payload)) {
				continue
			}
			damaged := bytes.Clone(b.bytes)
			le.PutUint32(damaged[f.start+4:], v)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			res := read(t, damaged, testHeader, Outside{})
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 2<<20 {
				t.Errorf("length %d: %d bytes allocated", v, n)
			}
			if res.holds(t, b) != i {
				t.Errorf("length %d of record %d: %d records", v, i, len(res.payloads))
			}
		}
	}
}

// TestLookAlikes: a file in which next to every byte looks like the head of a long record is refused within a bound of
// work.
func TestLookAlikes(t *testing.T) {
	b := build(t, testHeader, false, []string{"a"})
	bad := int64(len(b.bytes))
	file := bytes.Clone(b.bytes)
	const size = 1 << 20
	for at := bad; at < size; at += frameBytes {
		file = le.AppendUint32(file, 0)
		file = le.AppendUint32(file, uint32(max(size-at-4*frameBytes, 1)))
		file = le.AppendUint64(file, uint64(bad)+1)
	}
	corruptAt(t, read(t, file, testHeader, Outside{}).err, bad)
}
