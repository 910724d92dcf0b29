package rfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"millrace/tablet"
)

// bloomSeek says whether a row is found through the filter: a filter that denies a row that is there loses it.
func bloomSeek(t testing.TB, c *Cursor, r tablet.Range) bool {
	t.Helper()
	if err := c.Seek(context.Background(), r, tablet.Families{}); err != nil {
		t.Fatal(err)
	}
	b, err := c.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return b != nil
}

func TestBloomVectors(t *testing.T) {
	vectors := loadVectors(t).Bloom.Vectors
	if len(vectors) == 0 {
		t.Fatal("no vectors")
	}
	for _, v := range vectors {
		if got := int32(murmur2(v.Key, 0)); got != v.Murmur {
			t.Errorf("murmur of %x is %d, want %d", v.Key, got, v.Murmur)
		}
		h := bloomHeader{hashes: v.Hashes, hash: hashMurmur, vector: v.Vector}
		at := make([]int, v.Hashes)
		h.positions(v.Key, at)
		if fmt.Sprint(at) != fmt.Sprint(v.Positions) {
			t.Errorf("positions of %x are %v, want %v", v.Key, at, v.Positions)
		}
	}
}

// TestJenkins compares with the values in the source of lookup3.
func TestJenkins(t *testing.T) {
	f := func(in string, seed, want uint32) {
		t.Helper()
		if got := jenkins([]byte(in), seed); got != want {
			t.Errorf("jenkins(%q, %x) is %08x, want %08x", in, seed, got, want)
		}
	}
	f("", 0, 0xdeadbeef)
	f("", 0xdeadbeef, 0xbd5b7dde)
	f("Four score and seven years ago", 0, 0x17770551)
	f("Four score and seven years ago", 1, 0xcd628161)
}

// TestBloomGolden reads the filter of a file of Accumulo's: it lets all rows of the file through and few others. Written
// again from the dump, it is the same byte for byte.
func TestBloomGolden(t *testing.T) {
	r := openPath(t, "testdata/golden/v8_bloom.rf")
	b, err := r.Bloom()
	if err != nil || b == nil || b.Functor() != functorPackage+"RowFunctor" || b.header.vector != 8192 || len(b.rows) != 2 {
		t.Fatal(b, err)
	}
	rows := map[string]bool{}
	w := newBloomWriterOf(1, 500, 8192)
	for _, e := range loadDump(t, "testdata/golden/v8_bloom.jsonl.gz") {
		k := e.key()
		w.add(&k, 0)
		rows[string(k.Row())] = true
		if rr := tablet.ExactRow(k.Row()); !b.MayContain(&rr) {
			t.Errorf("the filter lacks row %q", k.Row())
		}
	}
	if len(rows) != 901 {
		t.Errorf("%d rows", len(rows))
	}
	meta, _ := r.Container().Meta(bloomName)
	want, err := r.Container().ReadMeta(meta)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := w.append(nil); err != nil || !bytes.Equal(got, want) {
		t.Errorf("written again, the filter differs from byte %d on, %v", tablet.CommonPrefix(got, want), err)
	}
	// 500 keys set 1 − e^(−5·500/8192) of the bits of a row, 26%; five of them by chance 0.13%; the second row less.
	const tries = 200_000
	through := 0
	for i := range tries {
		if rr := tablet.ExactRow(fmt.Appendf(nil, "other_%d", i)); b.MayContain(&rr) {
			through++
		}
	}
	if p := float64(through) / tries; p < 0.0008 || p > 0.0025 {
		t.Errorf("%.5f of other rows pass", p)
	}
}

// TestBloomWritten writes filters of several sizes and functors: no entry is lost to a look-up, by rows, families, or
// columns, and about as many others pass as was asked for.
func TestBloomWritten(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 7))
	for round := range 24 {
		o := BloomOptions{Keys: []int{1000, 100, 7, 1 << 20}[round%4], ErrorRate: []float64{0.01, 0.1, 0.005}[round%3], Functor: functors[1+round%3]}
		alphabet := []string{"ab\x00\xff", "\x7f\x80\xff", "0123456789"}[round%3]
		all := randomEntries(rng, 500, alphabet, []string{"f", "", "f\x00"})
		wo := WriterOptions{Codec: "lz4", BlockBytes: 400, Bloom: &o}
		file, _ := writeGroups(t, wo, all, [][]string{{"f"}, nil})
		r := readBytes(t, file)
		if _, err := verifyAll(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		if _, ok := r.Container().Meta(bloomName); !ok {
			t.Fatal("no filter written")
		}
		var cursors []*Cursor
		for _, g := range r.Groups() {
			cursors = append(cursors, r.Cursor(g, CursorOptions{}))
		}
		for i := range all {
			k := &all[i].Key
			if k.Deleted() && k.Timestamp() == tablet.MaxTimestamp {
				continue // sorts before the ranges made for its column
			}
			for _, rr := range []tablet.Range{tablet.ExactRow(k.Row()), tablet.Exact(k.Row(), k.Family()),
				tablet.Exact(k.Row(), k.Family(), k.Qualifier()), mustRange(t, *k, *k)} {
				found := false
				for _, c := range cursors {
					found = bloomSeek(t, c, rr) || found
				}
				if !found {
					t.Fatalf("round %d, %+v: %v is not found", round, o, rr)
				}
			}
		}
	}
}

func mustRange(t testing.TB, from, to tablet.Key) tablet.Range {
	t.Helper()
	r, err := tablet.NewRange(&tablet.Bound{Key: from, Inclusive: true}, &tablet.Bound{Key: to, Inclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBloomErrorRate fills rows of a filter and measures how many other keys pass.
func TestBloomErrorRate(t *testing.T) {
	f := func(p float64, keys, rows int) {
		t.Helper()
		o := BloomOptions{Keys: keys, ErrorRate: p}
		w := newBloomWriter(o)
		n := 0
		for ; len(w.rows) <= rows; n++ { // one more than full
			w.add(ptr(tablet.RowKey(fmt.Appendf(nil, "in%d", n))), 0)
		}
		block, err := w.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseBloom(block)
		if err != nil {
			t.Fatal(err)
		}
		const tries = 100_000
		through := 0
		for i := range tries {
			if r := tablet.ExactRow(fmt.Appendf(nil, "out%d", i)); b.MayContain(&r) {
				through++
			}
		}
		want := 1 - math.Pow(1-p, float64(rows))
		if got := float64(through) / tries; got < want/1.4 || got > want*1.4 {
			t.Errorf("rate %v, %d rows of %d keys: %v of others pass, want %.4f", p, rows, keys, got, want)
		}
	}
	f(0.01, 1000, 1)
	f(0.05, 300, 3)
	f(0.005, 20000, 1)
}

// TestBloomDenies looks up rows that are not there: nearly all seeks end without reading a block. Ranges of which the
// filter cannot tell are not affected.
func TestBloomDenies(t *testing.T) {
	all := someIngest()[:5000]
	file, _ := writeGroups(t, WriterOptions{Codec: "lz4", Bloom: &BloomOptions{}}, all, [][]string{nil})
	r := readBytes(t, file)
	c := r.Cursor(r.Groups()[0], CursorOptions{})
	rng := rand.New(rand.NewPCG(9, 1))
	for range 1000 {
		if bloomSeek(t, c, tablet.ExactRow(fmt.Appendf(nil, "%016x", rng.Uint64()>>1))) {
			t.Error("found a row that is not there")
		}
	}
	if n := c.data.blocks.Stats().Blocks; n > 30 { // 5,000 of 1,048,576 keys set few bits
		t.Errorf("%d blocks read for 1,000 rows that are not there", n)
	}
	o := CursorOptions{NoBloom: true}
	c = r.Cursor(r.Groups()[0], o)
	for i := range 100 {
		bloomSeek(t, c, tablet.ExactRow(append(all[49*i].Key.Row(), 'x')))
	}
	if c.data.blocks.Stats().Blocks == 0 {
		t.Error("no block read without the filter")
	}
	for _, rr := range []tablet.Range{{}, tablet.RowRange(tablet.RowBounds{Start: []byte("0")}), tablet.Prefix([]byte("0"))} {
		if !bloomSeek(t, r.Cursor(r.Groups()[0], CursorOptions{}), rr) {
			t.Errorf("nothing in %v", rr)
		}
	}
}

// TestBloomUnsure writes files whose filter could not be made for certain: they have none.
func TestBloomUnsure(t *testing.T) {
	all := someIngest()[:10]
	for _, o := range []BloomOptions{{Functor: "com.example.Functor"}, {Hash: "jenkins"}, {Hash: "sha1"}} {
		file, _ := writeGroups(t, WriterOptions{Codec: "none", Bloom: &o}, all, [][]string{nil})
		r := readBytes(t, file)
		if b, err := r.Bloom(); b != nil || err != nil || r.hasBloom {
			t.Errorf("%+v: %v, %v", o, b, err)
		}
	}
	for _, o := range []BloomOptions{{ErrorRate: 1}, {ErrorRate: -1}, {Keys: -1}, {Keys: 1 << 30}} {
		if _, err := NewWriter(&bytes.Buffer{}, WriterOptions{Bloom: &o}); tablet.OutcomeOf(err).Exit != 2 {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// bloomBlock makes a block of any header version from a written filter.
func bloomBlock(t testing.TB, w *bloomWriter, version int, hash hashType) []byte {
	t.Helper()
	h := w.header
	h.version, h.hash = version, hash
	header := h.append(nil)
	if version > 0 { // nbHash itself, then the vector
		header = binary.BigEndian.AppendUint32(nil, bloomHashes)
		header = binary.BigEndian.AppendUint32(header, uint32(h.vector))
	}
	block, err := w.append(nil)
	if err != nil {
		t.Fatal(err)
	}
	block = append(block[:2+len(w.functor.class()):2+len(w.functor.class())], header...)
	for _, n := range []int{w.keys, w.records, len(w.rows)} {
		block = binary.BigEndian.AppendUint32(block, uint32(n))
	}
	for _, row := range w.rows {
		block = append(block, header...)
		little := make([]byte, (h.vector+7)/8)
		for i := range little {
			little[i] = row[i^7]
		}
		block = append(block, little...)
	}
	return block
}

// TestBloomVersions reads older headers, with both hashes.
func TestBloomVersions(t *testing.T) {
	for _, v := range []struct {
		version int
		hash    hashType
	}{{bloomVersionOld, hashMurmur}, {bloomVersionOld, hashJenkins}, {1, hashJenkins}} {
		w := newBloomWriterOf(1, 50, 1001) // no multiple of 8
		w.header.hash = v.hash
		for i := range 120 {
			w.add(ptr(tablet.RowKey(fmt.Appendf(nil, "\xff%d", i))), 0)
		}
		b, err := parseBloom(bloomBlock(t, w, v.version, v.hash))
		if err != nil {
			t.Fatalf("%+v: %v", v, err)
		}
		through := 0
		for i := range 120 {
			if r := tablet.ExactRow(fmt.Appendf(nil, "\xff%d", i)); !b.MayContain(&r) {
				t.Errorf("%+v: lacks key %d", v, i)
			}
			if !b.mayContain(fmt.Appendf(nil, "x%d", i)) {
				through++
			}
		}
		if through < 80 || len(b.rows) != 3 || b.header.hash != v.hash {
			t.Errorf("%+v: %d of 120 others denied, %+v", v, through, b.header)
		}
	}
}

// TestBloomHidesNothing changes a filter so that it lacks a row, and wants Verify to say so.
func TestBloomHidesNothing(t *testing.T) {
	all := someIngest()[:100]
	var out bytes.Buffer
	w, err := NewWriter(&out, WriterOptions{Codec: "none", Bloom: &BloomOptions{Keys: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if err := w.Append(&all[i].Key, all[i].Value); err != nil {
			t.Fatal(err)
		}
	}
	at := make([]int, bloomHashes)
	w.bloom.header.positions(all[50].Key.Row(), at)
	w.bloom.rows[0][at[2]/8^7] &^= 1 << (at[2] % 8)
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	_, err = verifyAll(context.Background(), readBytes(t, out.Bytes()))
	if !errors.Is(err, tablet.ErrCorrupt) {
		t.Errorf("verify: %v", err)
	}
}

// FuzzBloom reads arbitrary bytes as a filter.
func FuzzBloom(f *testing.F) {
	w := newBloomWriterOf(1, 3, 100)
	for i := range 7 {
		w.add(ptr(tablet.RowKey([]byte{byte(i)})), 0)
	}
	block, err := w.append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(block, []byte("row"))
	f.Add(bloomBlock(f, w, bloomVersionOld, hashMurmur), []byte{0xff})
	f.Add(bloomBlock(f, w, 1, hashJenkins), []byte("thirteen bytes"))
	f.Fuzz(func(t *testing.T, block, row []byte) {
		b, err := parseBloom(block)
		if err != nil || b == nil {
			return
		}
		r := tablet.ExactRow(row)
		b.MayContain(&r)
	})
}
