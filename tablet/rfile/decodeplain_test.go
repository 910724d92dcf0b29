package rfile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
)

// plainEntries are sorted entries of one kind of keys: most are plain, and some are not.
func plainEntries(r *rand.Rand, n int) []tablet.Entry {
	alphabet := [][]byte{[]byte("ab"), {0, 1}, {0, 0xff}, []byte("a"), []byte("0123456789abcdef")}[r.IntN(5)]
	field := func(most int) []byte {
		if r.IntN(300) == 0 {
			most += 200
		}
		b := make([]byte, r.IntN(most+1))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return b
	}
	shared := field(60)
	sizes := [4]int{r.IntN(40), r.IntN(12), r.IntN(20), r.IntN(6)}
	stamps := []int64{5, 200, 1 << 40, -1 << 62, 1<<63 - 3, -1 << 63}
	out := make([]tablet.Entry, n)
	for i := range out {
		row := slices.Concat(shared, field(sizes[0]))
		if i > 0 && r.IntN(3) == 0 {
			row = slices.Clone(out[i-1].Key.Row())
		}
		out[i] = tablet.Entry{
			Key: tablet.NewKey(tablet.Fields{
				Row: row, Family: field(sizes[1]), Qualifier: field(sizes[2]), Visibility: field(sizes[3]),
				Timestamp: stamps[r.IntN(len(stamps))] + int64(r.IntN(3)), Deleted: r.IntN(20) == 0,
			}),
			Value: field(30),
		}
	}
	slices.SortFunc(out, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return out
}

// TestPlain holds what is decoded in one loop against what is decoded entry by entry, in whole blocks and in damaged ones.
func TestPlain(t *testing.T) {
	rounds := 1500
	if testing.Short() {
		rounds = 300
	}
	r := rand.New(rand.NewPCG(7, 1))
	plain, others, refused := 0, 0, 0
	for round := range rounds {
		all := plainEntries(r, 2+r.IntN(200))
		block := blockOf(all)
		if round%3 == 0 {
			block[r.IntN(len(block))] ^= 1 << r.IntN(8)
		}
		batch := []int{1, 7, 128}[r.IntN(3)]
		got, gotErr := decodeBy(block, len(all), batch, func(d *decoder, refs []tablet.EntryRef, codes []uint64) int {
			n := d.fillPlain(refs, codes, 0)
			plain += n
			return n
		})
		want, wantErr := decodeBy(block, len(all), batch, func(*decoder, []tablet.EntryRef, []uint64) int { return 0 })
		if got != want || fmt.Sprint(gotErr) != fmt.Sprint(wantErr) {
			t.Fatalf("round %d: decoded %v\n%s\nwant %v\n%s", round, gotErr, got, wantErr, want)
		}
		others += len(all)
		if wantErr != nil {
			refused++
		}
	}
	if plain < others/3 || plain >= others || refused == 0 {
		t.Errorf("%d of %d entries were plain, %d blocks were refused", plain, others, refused)
	}
}

// decodeBy decodes a block in batches, as much as ahead does and the rest entry by entry, and tells all there is to know.
func decodeBy(block []byte, entries, most int, ahead func(*decoder, []tablet.EntryRef, []uint64) int) (string, error) {
	var text bytes.Buffer
	b := &tablet.Batch{}
	d := decoder{batch: b}
	d.startBlock(block, entries)
	for d.left > 0 {
		d.startBatch()
		refs, codes := make([]tablet.EntryRef, most), make([]uint64, most)
		n := 0
		if !d.first {
			n = ahead(&d, refs, codes)
		}
		for ; n < most && d.left > 0; n++ {
			code, err := d.next(&refs[n])
			if err != nil {
				return text.String(), err
			}
			if n > 0 {
				b.Facts.MaxCode = max(b.Facts.MaxCode, code)
			}
			b.Facts.Deletes = b.Facts.Deletes || refs[n].Deleted
			codes[n] = code
		}
		last := d.prevKey()
		fmt.Fprintf(&text, "%v %x %+v at %d, %d left after %v\n", refs[:n], codes[:n], b.Facts, d.at, d.left, last)
		for _, ref := range refs[:n] {
			fmt.Fprintf(&text, "%x ", b.Arena[ref.KeyAt:ref.KeyAt+ref.KeyBytes])
		}
	}
	return text.String(), nil
}
