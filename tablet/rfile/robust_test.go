package rfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"millrace/tablet"
)

// testBlockLimit is ReaderOptions.MaxBlockBytes of openBytes.
const testBlockLimit = 4 << 20

// tally counts what became of many damaged files.
type tally struct {
	t      *testing.T
	target string
	files  int
	found  int // refused, with a typed error
	panics int
	hangs  int
	wrong  int
	// untyped are errors that name no place in the file.
	untyped  int
	maxAlloc uint64 // most bytes allocated for a file, garbage included, which bounds what was live
}

// maxHang is how long one file may take.
const maxHang = time.Second

// try reads a damaged file in every way. original, if not empty, is what the file held before: then everything that is
// read without an error must be that.
func (y *tally) try(what string, file []byte, original string) (refused bool) {
	y.t.Helper()
	y.files++
	before, start := allocated(), time.Now()
	watch := time.AfterFunc(time.Minute, func() {
		fmt.Fprintf(os.Stderr, "%s: hangs: %s\n", y.target, what)
		os.Exit(2)
	})
	err := y.probe(file, original)
	took, used := time.Since(start), allocated()-before
	for again := 0; took > maxHang && again < 3; again++ { // another process may have had the processor
		start = time.Now()
		err = y.probe(file, original)
		took = min(took, time.Since(start))
	}
	watch.Stop()
	if took > maxHang {
		y.hangs++
		y.t.Errorf("%s: took %v", what, took)
	}
	y.maxAlloc = max(y.maxAlloc, used)
	if bound := uint64(2*(len(file)+testBlockLimit) + 64<<20); used > bound {
		y.t.Errorf("%s: allocated %d bytes, bound %d", what, used, bound)
	}
	y.judge(what, file, err)
	return err != nil
}

var errWrong = errors.New("wrong entries")

func (y *tally) judge(what string, file []byte, err error) {
	y.t.Helper()
	var corrupt *tablet.CorruptError
	var panicked *probePanic
	switch {
	case err == nil:
	case errors.As(err, &panicked):
		y.panics++
		y.t.Errorf("%s: %v", what, err)
	case errors.Is(err, errWrong):
		y.wrong++
		y.t.Errorf("%s: %v", what, err)
	case errors.As(err, &corrupt):
		y.found++
		if corrupt.File == "" || corrupt.Offset < 0 || corrupt.Offset > int64(len(file)) {
			y.untyped++
			y.t.Errorf("%s: %+v", what, corrupt)
		}
	case errors.Is(err, tablet.ErrUnsupported):
		y.found++
	default:
		y.untyped++
		y.t.Errorf("%s: %v", what, err)
	}
}

func (y *tally) print(extra string) {
	fmt.Printf("%s files=%d refused=%d panics=%d hangs=%d wrong=%d untyped=%d maxalloc=%d%s seed=%d\n",
		y.target, y.files, y.found, y.panics, y.hangs, y.wrong, y.untyped, y.maxAlloc, extra, *seedFlag)
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

type probePanic struct{ what string }

func (p *probePanic) Error() string { return "panic: " + p.what }

// probe opens a file, reads it front to end, verifies it, and looks entries up. Everything that comes without an error is
// held against a plain decoder, and against the original.
func (y *tally) probe(file []byte, original string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &probePanic{fmt.Sprintf("%v\n%s", p, debug.Stack())}
		}
	}()
	r, err := openBytes(y.t, file)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx := context.Background()
	seekErr := blindSeeks(ctx, r)
	if seekErr != nil && !errors.Is(seekErr, tablet.ErrCorrupt) && !errors.Is(seekErr, tablet.ErrUnsupported) {
		return seekErr
	}
	var groups [][]tablet.Entry
	for _, g := range append(slices.Clone(r.Groups()), r.Samples()...) {
		all, err := scanAll(ctx, r, g)
		if err != nil {
			return err
		}
		groups = append(groups, all)
		plain, err := plainScan(ctx, r, g)
		if err != nil || !equalEntries(all, plain) {
			// The walk over the index also holds against each other what a scan does not need.
			if errors.Is(err, tablet.ErrCorrupt) || errors.Is(err, tablet.ErrUnsupported) {
				continue
			}
			return fmt.Errorf("%w: %v: %d by the cursor, %d by the plain decoder, %v", errWrong, g, len(all), len(plain), err)
		}
	}
	reports, err := verifyAll(ctx, r)
	if original != "" {
		held := ""
		for i, g := range r.Groups() {
			d := NewDigest()
			for _, e := range groups[i] {
				d.Add(&e.Key, e.Value)
			}
			held += g.String() + d.Hex()
		}
		if held != original {
			return fmt.Errorf("%w: read without an error, not what was written", errWrong)
		}
	}
	if err != nil {
		return err
	}
	if seekErr != nil {
		return fmt.Errorf("%w: verified, but a seek says %w", errWrong, seekErr)
	}
	for i, report := range reports {
		if report.Entries != int64(len(groups[i])) {
			return fmt.Errorf("%w: %d verified, %d read", errWrong, report.Entries, len(groups[i]))
		}
		if err := lookUp(ctx, r, report.Group, groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// blindSeeks seeks in a file that was not looked at before, here and there, and returns the first error.
func blindSeeks(ctx context.Context, r *Reader) (first error) {
	for _, g := range append(slices.Clone(r.Groups()), r.Samples()...) {
		c := r.Cursor(g, CursorOptions{BatchEntries: 3})
		for _, row := range []string{"d", "b", "bb", "bcd", "c", "row_00100", "zz", "a", ""} {
			for _, rr := range []tablet.Range{tablet.RowRange(tablet.RowBounds{Start: []byte(row)}), tablet.ExactRow([]byte(row))} {
				err := c.Seek(ctx, rr, tablet.AllFamiliesBut([]byte("x")))
				if err == nil {
					_, err = c.Next(ctx)
				}
				if first == nil {
					first = err
				}
			}
		}
		c.Close()
	}
	return first
}

func scanAll(ctx context.Context, r *Reader, g *Group) ([]tablet.Entry, error) {
	c := r.Cursor(g, CursorOptions{BatchEntries: 37})
	defer c.Close()
	if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return nil, err
	}
	var all []tablet.Entry
	for {
		b, err := c.Next(ctx)
		if b == nil || err != nil {
			return all, err
		}
		for i := range b.Refs {
			all = append(all, b.Entry(i).Clone())
		}
	}
}

// plainScan decodes the blocks that the index lists.
func plainScan(ctx context.Context, r *Reader, g *Group) ([]tablet.Entry, error) {
	var all []tablet.Entry
	blocks := r.Container().NewBlockReader()
	defer blocks.Close()
	err := r.Walk(ctx, g, Visitor{Leaf: func(l LeafInfo) error {
		raw, err := blocks.AppendTo(nil, l.Region)
		if err != nil {
			return err
		}
		entries, err := plainDecode(raw, l.Entries)
		all = append(all, entries...)
		return err
	}})
	return all, err
}

func equalEntries(a, b []tablet.Entry) bool {
	return slices.EqualFunc(a, b, func(x, y tablet.Entry) bool {
		return tablet.Compare(&x.Key, &y.Key) == 0 && bytes.Equal(x.Value, y.Value)
	})
}

// lookUp seeks some of a verified group's entries, by key and by row, and wants what a scan gave.
func lookUp(ctx context.Context, r *Reader, g *Group, all []tablet.Entry) error {
	c := r.Cursor(g, CursorOptions{BatchEntries: 5})
	defer c.Close()
	for i := 0; i < len(all); i += 1 + len(all)/7 {
		first := i
		for first > 0 && tablet.Compare(&all[first-1].Key, &all[i].Key) == 0 {
			first--
		}
		row := first
		for row > 0 && tablet.SameRow(&all[row-1].Key, &all[i].Key) {
			row--
		}
		for _, try := range []struct {
			r    tablet.Range
			want *tablet.Entry
		}{{tablet.Range{}.WithStart(all[i].Key), &all[first]}, {tablet.ExactRow(all[i].Key.Row()), &all[row]}} {
			if try.r.BeforeStart(&try.want.Key) {
				continue // a delete marker of the greatest timestamp
			}
			if err := c.Seek(ctx, try.r, tablet.Families{}); err != nil {
				return err
			}
			b, err := c.Next(ctx)
			if err != nil {
				return err
			}
			if b == nil || tablet.Compare(ptr(b.Key(0)), &try.want.Key) != 0 || !bytes.Equal(b.Value(0), try.want.Value) {
				return fmt.Errorf("%w: seek of %v", errWrong, try.r)
			}
		}
	}
	return nil
}

func newTally(t *testing.T, target string) (*tally, *rand.Rand) {
	return &tally{t: t, target: target}, rand.New(rand.NewPCG(*seedFlag, 20))
}
