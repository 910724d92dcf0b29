package wal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// outcome is what Replay makes of a disk whose bytes may be anything.
type outcome struct {
	given     [][]byte // records, encoded again
	err       error
	panicked  any
	allocated uint64
	took      time.Duration
}

func try(t testing.TB, d disk, filed map[uint64]uint64) (o outcome) {
	t.Helper()
	fsys := d.with(t, 0, nil)
	begun, before := time.Now(), allocated()
	defer func() {
		o.panicked = recover()
		o.allocated, o.took = allocated()-before, time.Since(begun)
	}()
	_, o.err = Replay(context.Background(), fsys, d.numbers(), func(tab uint64) (uint64, bool) { s, ok := filed[tab]; return s, ok },
		func(e *Entry) error { o.given = append(o.given, appendEntry(nil, e)); return nil })
	return o
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// tally counts what became of malformed logs.
type tally struct {
	t                                              *testing.T
	files, accepted, panics, hangs, wrong, untyped int
	most                                           uint64
}

// judge holds what Replay made of a disk against what a plain reading makes of it.
func (y *tally) judge(what any, d disk, filed map[uint64]uint64) {
	y.t.Helper()
	size := 0
	for _, b := range d {
		size += len(b)
	}
	o := try(y.t, d, filed)
	y.files++
	y.most = max(y.most, o.allocated)
	var corrupt *tablet.CorruptError
	plain, plainErr := plainReplay(d, filed)
	switch {
	case o.panicked != nil:
		y.panics++
		y.t.Errorf("%v: panic: %v", what, o.panicked)
	case o.took > time.Second:
		y.hangs++
		y.t.Errorf("%v: took %v", what, o.took)
	case o.allocated > uint64(2*size)+64<<20:
		y.untyped++
		y.t.Errorf("%v: %d bytes allocated for %d", what, o.allocated, size)
	case o.err == nil && plainErr != nil, o.err == nil && len(plain) != len(o.given), len(plain) < len(o.given):
		y.wrong++
		y.t.Errorf("%v: %d entries, a plain reading gives %d, %v", what, len(o.given), len(plain), plainErr)
	case !slices.EqualFunc(o.given, plain[:len(o.given)], bytes.Equal):
		y.wrong++
		y.t.Errorf("%v: the entries are not those of a plain reading", what)
	case o.err == nil:
		y.accepted++
	case errors.As(o.err, &corrupt) && corrupt.File != "" && corrupt.Offset >= 0 && corrupt.Offset <= int64(size):
	case errors.Is(o.err, tablet.ErrUnsupported):
	default:
		y.untyped++
		y.t.Errorf("%v: %v", what, o.err)
	}
}

// TestMalformedLog changes logs field by field, knowing the layout, mostly with sums that are right. What is read is what a
// plain reading gives, or it is refused with the place. Target R23.
func TestMalformedLog(t *testing.T) {
	n := cases(10000)
	y := &tally{t: t}
	rng := rand.New(rand.NewPCG(*seedFlag, 23))
	for y.files < n {
		w := randomLog(t, rng)
		good := readDisk(t, w.mem)
		unchanged := disk{}
		for number, b := range good {
			unchanged[number] = modelOf(b, number).bytes(number)
			if !bytes.Equal(unchanged[number], b) {
				t.Fatalf("the model of segment %d is wrong", number)
			}
		}
		y.judge("unchanged", unchanged, w.filed)
		if y.accepted == 0 {
			t.Fatal("a good log is refused")
		}
		for range 40 {
			m := &mutator{rng: rng}
			var segments []*modelSegment
			for _, number := range good.numbers() {
				segments = append(segments, modelOf(good[number], number))
			}
			m.mutate(segments)
			d := disk{}
			for i, number := range good.numbers() {
				if rng.IntN(60) > 0 {
					d[number] = segments[i].bytes(number)
				}
			}
			y.judge(m.log, d, w.filed)
		}
	}
	if y.accepted < n/20 || y.accepted > n*19/20 {
		t.Errorf("%d of %d logs are accepted", y.accepted, y.files)
	}
	fmt.Printf("R23 log files=%d accepted=%d panics=%d hangs=%d wrong=%d untyped=%d maxalloc=%d seed=%d\n",
		y.files, y.accepted, y.panics, y.hangs, y.wrong, y.untyped, y.most, *seedFlag)
}

// TestLogHugeFields sets each number of a log in turn to values that must not be believed, with sums that are right.
// Target R24.
func TestLogHugeFields(t *testing.T) {
	y := &tally{t: t}
	w := newWorld(t, Options{MaxBytes: 300})
	w.write(1, 2)
	w.write(3)
	w.disk.Add(vfs.Rule{Op: vfs.OpSync, Sticky: true})
	w.append(1, tablet.DurabilitySync)
	w.commit()
	w.disk.Heal()
	must(t, w.heal())
	w.write(2)
	good := readDisk(t, w.mem)
	for _, number := range good.numbers() {
		size := len(good[number])
		for i, f := range modelOf(good[number], number).frames {
			for j := range f.fields {
				for _, v := range []uint64{0, 1, 1<<64 - 1, f.fields[j].n - 1, f.fields[j].n + 1, 1<<31 - 1, 1 << 31, 1 << 32, 1<<63 - 1, uint64(size) + 1} {
					s := modelOf(good[number], number)
					s.frames[i].fields[j].n = v
					d := disk{}
					for n, b := range good {
						d[n] = b
					}
					d[number] = s.bytes(number)
					y.judge(fmt.Sprintf("field %d of frame %d of segment %d to %d", j, i, number, v), d, w.filed)
				}
			}
		}
	}
	if y.accepted == 0 || y.accepted == y.files {
		t.Errorf("%d of %d logs are accepted", y.accepted, y.files)
	}
	fmt.Printf("R24 log files=%d accepted=%d panics=%d hangs=%d wrong=%d untyped=%d maxalloc=%d\n", y.files, y.accepted, y.panics, y.hangs, y.wrong, y.untyped, y.most)
}
