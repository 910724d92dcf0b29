package rfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// lateCompressor is a BlockCompressor that does its work as late as it may.
type lateCompressor struct {
	window int
	press  bcfile.Compressor
	raw    [][]byte
	stored []byte
	fails  int // how many blocks from now; 0 never
}

var errPress = errors.New("the press is stuck")

func (c *lateCompressor) Start(codec string, level int) (err error) {
	c.press, err = bcfile.NewCompressor(codec, level)
	return err
}

func (c *lateCompressor) Window() int { return c.window }

func (c *lateCompressor) Put(raw []byte) []byte {
	c.raw = append(c.raw, slices.Clone(raw))
	if len(c.raw) > c.window {
		panic("more blocks than the window")
	}
	return raw[:0]
}

func (c *lateCompressor) Get() (stored []byte, err error) {
	if c.fails--; c.fails == 0 {
		return nil, errPress
	}
	c.stored, err = c.press.Compress(c.stored[:0], c.raw[0])
	c.raw = c.raw[1:]
	return c.stored, err
}

// copyRuns copies all groups of a file by runs, cut anywhere.
func copyRuns(rng *rand.Rand, r *Reader, w *Writer, groups [][]string) (tablet.FileMeta, error) {
	ctx := context.Background()
	for i, group := range groups {
		var families [][]byte
		for _, f := range group {
			families = append(families, []byte(f))
		}
		err := w.StartDefaultGroup
		if group != nil {
			err = func() error { return w.StartGroup(fmt.Sprint("g", i), families) }
		}
		if err := err(); err != nil {
			return tablet.FileMeta{}, err
		}
		c := r.Cursor(r.Groups()[i], CursorOptions{BatchEntries: 1 + rng.IntN(60)})
		defer c.Close()
		if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
			return tablet.FileMeta{}, err
		}
		for {
			b, err := c.Next(ctx)
			if err != nil {
				return tablet.FileMeta{}, err
			}
			if b == nil {
				break
			}
			for lo := 0; lo < b.Len(); {
				hi := lo + 1 + rng.IntN(b.Len()-lo)
				if err := w.AppendRun(b, b.Codes[lo], lo, hi); err != nil {
					return tablet.FileMeta{}, err
				}
				lo = hi
			}
		}
	}
	return w.Finish()
}

// manyFamilies are more than a default group lists.
func manyFamilies() []string {
	all := []string{"f", "ff", ""}
	for i := range maxTrackedFamilies + 50 {
		all = append(all, fmt.Sprint("n", i))
	}
	return all
}

// TestAppendRun copies files batch by batch into blocks of another size, compressed there or behind, and holds the result
// against one written entry by entry.
func TestAppendRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 4))
	layouts := [][][]string{{nil}, {{"ff", "zz"}, nil}, {{"f"}, {"", "ff"}, nil}}
	for round := range 150 {
		families, n := []string{"f", "ff", ""}, 500
		if round%10 == 0 {
			families, n = manyFamilies(), 4000
		}
		groups := layouts[round%len(layouts)]
		all := randomEntries(rng, n, []string{"ab", "\x00\xff", "0123456789"}[rng.IntN(3)], families)
		from := WriterOptions{Codec: "none", BlockBytes: 1 + rng.IntN(3000)}
		o := WriterOptions{Codec: bcfile.Codecs()[rng.IntN(len(bcfile.Codecs()))], BlockBytes: 1 + rng.IntN(3000),
			IndexBlockBytes: 50 + rng.IntN(2000), FileID: [16]byte{1}}
		switch rng.IntN(6) {
		case 0:
			o.Sampler = &Sampler{Class: "RowSampler", Options: map[string]string{"hasher": "murmur3_32", "modulus": "3"}}
		case 1:
			o.Bloom = &BloomOptions{Functor: "RowFunctor", Keys: 1000}
		}
		source, _ := writeGroups(t, from, all, groups)
		want, wantMeta := writeGroups(t, o, all, groups)
		if rng.IntN(2) == 0 {
			o.Behind = &lateCompressor{window: 1 + rng.IntN(3)}
		}
		var out bytes.Buffer
		w, err := NewWriter(&out, o)
		if err != nil {
			t.Fatal(err)
		}
		meta, err := copyRuns(rng, readBytes(t, source), w, groups)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), want) {
			t.Fatalf("round %d, %+v: copy by runs differs from byte %d on", round, o, tablet.CommonPrefix(out.Bytes(), want))
		}
		if fmt.Sprintf("%+v", meta) != fmt.Sprintf("%+v", wantMeta) {
			t.Fatalf("round %d: copy by runs is known as\n%+v, want\n%+v", round, meta, wantMeta)
		}
	}
}

// TestBehindFails has a compressor fail at some block. That is the writer's error, whatever goes wrong with entries that
// come later, and it stays.
func TestBehindFails(t *testing.T) {
	all := someIngest()[:2000]
	for fails := 1; fails < 30; fails++ {
		for _, disorder := range []bool{false, true} {
			press := &lateCompressor{window: 1 + fails%3, fails: fails}
			w, err := NewWriter(discard{}, WriterOptions{Codec: "snappy", BlockBytes: 5000, Behind: press})
			if err != nil {
				t.Fatal(err)
			}
			for i := range all {
				if err = w.Append(&all[i].Key, all[i].Value); err != nil {
					break
				}
				if disorder && len(press.raw) > 0 && press.fails == 1 { // the block that will fail is on its way
					err = w.Append(&all[0].Key, nil)
					break
				}
			}
			if err == nil {
				_, err = w.Finish()
			}
			if !errors.Is(err, errPress) {
				t.Fatalf("block %d, disorder %v: %v", fails, disorder, err)
			}
			if _, again := w.Finish(); !errors.Is(again, errPress) {
				t.Fatalf("Finish after it: %v", again)
			}
		}
	}
}

// TestRunBounds refuses in a run what it refuses alone: a family of another group.
func TestRunBounds(t *testing.T) {
	all := randomEntries(rand.New(rand.NewPCG(3, 3)), 400, "abcdef", []string{"f", "g"})
	source, _ := writeGroups(t, WriterOptions{Codec: "none"}, all, [][]string{nil})
	w, err := NewWriter(discard{}, WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.StartGroup("g", [][]byte{[]byte("g")}); err != nil {
		t.Fatal(err)
	}
	if _, err = copyRuns(rand.New(rand.NewPCG(1, 1)), readBytes(t, source), w, [][]string{nil}); !errors.Is(err, tablet.ErrUsage) {
		t.Fatalf("family g in the default group: %v", err)
	}
}
