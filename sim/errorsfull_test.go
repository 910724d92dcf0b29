package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// fullDisk is a store with little memory, on whose disk there is now and then no space, and those who use it meanwhile.
type fullDisk struct {
	seed   uint64
	mem    *vfs.MemFS
	w      *World
	over   bool
	failed []failedTry
	acked  map[string]tablet.Durability
	unsure map[string]bool
	last   []time.Duration // when each writer was answered last, and well
	most   int             // tries within a minute
	worst  time.Duration   // until all writers were answered, after there was space
	scans  int
	refuse int
	broken []breach
}

// failedTry is what an actor did in one message that found no space, be it in two calls: a log's record, and the same in
// a new segment.
type failedTry struct {
	at   time.Duration
	role string
	what string
}

const fullWriters = 5

// newFullDisk opens the store, with a table in two tablets.
func newFullDisk(seed uint64) (*fullDisk, error) {
	d := &fullDisk{
		seed: seed, mem: vfs.Mem(), acked: make(map[string]tablet.Durability), unsure: make(map[string]bool),
		last: make([]time.Duration, fullWriters),
	}
	schedules := []ScheduleKind{Uniform, FIFO, PCT, Burst} // a client that is starved waits as long as the others run
	d.w = New(Options{
		Seed: seed, Schedule: Schedule{Kind: schedules[seed%4]}, FS: d.mem, PerStep: 20 * time.Microsecond,
		Store: []actors.Option{actors.WithProperties(map[string]string{"tserver.memory.maps.max": "128K"})},
		Layers: func(fs vfs.FS) vfs.FS {
			return vfs.Trace(fs, vfs.TraceOptions{After: func(e vfs.Event) {
				if errors.Is(e.Err, syscall.ENOSPC) {
					d.noSpace(e)
				}
			}})
		},
	})
	if err := d.w.Open(); err != nil {
		return nil, err
	}
	return d, d.w.Store().CreateTable(context.Background(), "t", [][]byte{[]byte("w2")}, map[string]string{"table.file.compress.type": "none"})
}

func (d *fullDisk) noSpace(e vfs.Event) {
	f := failedTry{d.w.Clock().Elapsed(), d.w.role(), e.Call.String()}
	if n := len(d.failed); n > 0 && d.failed[n-1].at == f.at && d.failed[n-1].role == f.role {
		return
	}
	d.failed = append(d.failed, f)
}

func (d *fullDisk) breach(what string, err error) { d.broken = append(d.broken, breach{what, err}) }

// write is a writer: it writes row after row, and the same again when it is told that there is no space.
func (d *fullDisk) write(c *Client, n int) {
	level := []tablet.Durability{tablet.DurabilitySync, tablet.DurabilityNone, tablet.DurabilityLog, tablet.DurabilityFlush, tablet.DurabilitySync}[n]
	r := stream(d.seed, c.Name)
	for i := 0; !d.over; i++ {
		row := fmt.Sprintf("w%d-%06d", n, i)
		m := tablet.NewMutation([]byte(row))
		m.Put([]byte("f"), []byte("q"), nil, make([]byte, 1+r.IntN(6000)))
		err := d.w.Store().Apply(context.Background(), "t", []*tablet.Mutation{m}, actors.WithDurability(level))
		switch {
		case err == nil:
			d.acked[row] = level
			d.last[n] = d.w.Clock().Elapsed()
		case Crashed(err) || errors.Is(err, ErrDeadlock):
			d.breach("stuck", err)
			return
		default:
			d.refuse++
			d.unsure[row] = true
			if !errors.Is(err, syscall.ENOSPC) || !tablet.OutcomeOf(err).Retryable {
				d.breach("unnamed", fmt.Errorf("a write: %w", err))
			}
		}
		if err := c.Sleep(time.Duration(5+r.IntN(50)) * time.Millisecond); err != nil {
			return
		}
	}
}

// read scans all the time; a full disk is no reason to fail.
func (d *fullDisk) read(c *Client) {
	for !d.over {
		rows, err := d.rows()
		if err != nil {
			d.breach("unread", fmt.Errorf("a scan: %w", err))
			return
		}
		for row := range d.acked {
			if !rows[row] && d.last[row[1]-'0'] < d.w.Clock().Elapsed()-time.Minute {
				d.breach("lost", fmt.Errorf("row %s is not in a scan", row))
			}
		}
		d.scans++
		if err := c.Sleep(700 * time.Millisecond); err != nil {
			return
		}
	}
}

func (d *fullDisk) rows() (map[string]bool, error) {
	sc, err := d.w.Store().Scan(context.Background(), "t", actors.ScanOptions{})
	if err != nil {
		return nil, err
	}
	defer sc.Close()
	rows := make(map[string]bool)
	for sc.Next() {
		e := sc.Entry()
		rows[string(e.Key.Row())] = true
	}
	return rows, sc.Err()
}

// control makes the disk full, and gives space again.
func (d *fullDisk) control(c *Client, cycles int) {
	defer func() { d.over = true }()
	r := stream(d.seed, "control")
	for range cycles {
		if c.Sleep(time.Duration(500+r.IntN(3000))*time.Millisecond) != nil {
			return
		}
		d.mem.SetCapacity(d.mem.Used() + uint64(r.IntN(40_000)))
		if c.Sleep(time.Duration(70+r.IntN(40))*time.Second) != nil {
			return
		}
		back := d.w.Clock().Elapsed()
		d.count()
		d.mem.SetCapacity(0)
		if c.Sleep(time.Second) != nil {
			return
		}
		for n, last := range d.last {
			if last < back {
				d.breach("late", fmt.Errorf("writer %d is not answered within a second of space; its last answer was %v before", n, back-last))
			}
		}
	}
}

// count adds up the tries of the worst minute while the disk was full.
func (d *fullDisk) count() {
	for i, from := range d.failed {
		n := 0
		for _, f := range d.failed[i:] {
			if f.at < from.at+time.Minute {
				n++
			}
		}
		if d.most = max(d.most, n); n > 12 {
			d.breach("eager", fmt.Errorf("%d tries within a minute on a full disk: %v", n, d.failed[i:i+n]))
			break
		}
	}
	d.failed = nil
}

func (d *fullDisk) run(cycles int) {
	defer d.w.End()
	for n := range fullWriters {
		d.w.Go(fmt.Sprint("writer ", n), func(c *Client) { d.write(c, n) })
	}
	d.w.Go("reader", d.read)
	d.w.Go("control", func(c *Client) { d.control(c, cycles) })
	if err := d.w.Run(); err != nil {
		d.breach("stuck", err)
		return
	}
	d.check("at the end", tablet.DurabilityNone)
	d.w.Crash(d.mem.Durable())
	if err := d.w.Open(); err != nil {
		d.breach("unusable", fmt.Errorf("open after a power cut: %w", err))
		return
	}
	d.check("after a power cut", tablet.DurabilitySync)
	if err := d.w.CloseStore(); err != nil {
		d.breach("unusable", err)
	}
}

// check wants every acknowledged row of a level and above, and none that nobody has written.
func (d *fullDisk) check(when string, level tablet.Durability) {
	rows, err := d.rows()
	if err != nil {
		d.breach("unusable", fmt.Errorf("scan %s: %w", when, err))
		return
	}
	for row, at := range d.acked {
		if at >= level && !rows[row] {
			d.breach("lost", fmt.Errorf("%s, row %s, acknowledged at %v", when, row, at))
		}
	}
	for row := range rows {
		if _, acked := d.acked[row]; !acked && !d.unsure[row] {
			d.breach("lost", fmt.Errorf("%s, row %s, which nobody has written", when, row))
		}
	}
}

// TestDiskFull fills the disk, gives space, and fills it again: meanwhile little is tried and all can be read, and as soon
// as there is space writers are answered. -n is how many times it gets full.
func TestDiskFull(t *testing.T) {
	const cycles = 3
	y := newTally(t)
	var seeds []uint64
	for n := 0; n < runs(6); n += cycles {
		seeds = append(seeds, firstSeed()+uint64(len(seeds)))
	}
	tries, scans, refused, rows, minutes := 0, 0, 0, 0, 0
	inParallel(y, seeds, func(seed uint64) {
		d, err := newFullDisk(seed)
		if err != nil {
			t.Error(err)
			return
		}
		d.run(cycles)
		y.mu.Lock()
		defer y.mu.Unlock()
		minutes += cycles
		tries, scans, refused, rows = max(tries, d.most), scans+d.scans, refused+d.refuse, rows+len(d.acked)
		if len(d.broken) > 0 {
			y.failed++
		}
		for i, b := range d.broken {
			if y.figures[b.what]++; i < 3 {
				t.Errorf("seed %d: %s: %v\nagain: go test ./sim -run '^%s$' -v -args -seed %d -n %d", seed, b.what, b.err, t.Name(), seed, cycles)
			}
		}
	})
	offsets := 0
	for _, seed := range seeds[:min(len(seeds), max(1, len(seeds)/4))] {
		offsets += fullInARecord(t, y, seed)
	}
	lastLine(t, "R13", append([]figure{count("cycles", minutes), count("tries", tries), count("rows", rows), count("refused", refused),
		count("scans", scans), count("offsets", offsets)},
		y.zeros("eager", "late", "lost", "unnamed", "unread", "stuck", "unusable")...)...)
}

// fullInARecord has the disk full at each byte of a record of the log, then not: five more writes are there after a crash,
// and of the one that failed all or nothing.
func fullInARecord(t *testing.T, y *tally, seed uint64) (offsets int) {
	length := uint64(1)
	for at := uint64(0); at < length; at++ {
		if err := func() error {
			mem := vfs.Mem()
			w := New(Options{Seed: seed, FS: mem})
			defer w.End()
			full := false
			p := NewPlayer(w, PlayOptions{Tolerate: func(_ Op, err error) bool { return full && errors.Is(err, syscall.ENOSPC) }})
			h := NewHistory(seed, HistoryOptions{Ops: 9, Weights: map[OpKind]int{Write: 1}})
			if err := errors.Join(p.Begin(), p.Play(h[:3])); err != nil {
				return err
			}
			before := mem.Used()
			if at == 0 { // learn how long the record is
				if err := p.Do(h[3]); err != nil {
					return err
				}
				length = mem.Used() - before
				return nil
			}
			full = true
			mem.SetCapacity(before + at - 1)
			if err := p.Do(h[3]); err != nil {
				return err
			}
			mem.SetCapacity(0)
			if p.Did[Write] == 4 {
				return fmt.Errorf("a write succeeds with %d bytes for %d", at-1, length)
			}
			if err := w.Sleep(time.Second); err != nil {
				return err
			}
			full = false
			for _, op := range h[4:] {
				if err := p.Do(op); err != nil {
					return fmt.Errorf("%v: %w", op, err)
				}
			}
			m := p.Moment()
			for i, mode := range slices.Concat([]vfs.ImageMode{vfs.ImageStrict}, vfs.ImageModes()) {
				image := mem.Image(vfs.ImageOptions{Mode: mode, Seed: seed + at})
				if err := m.Verify(seed, image, mode == vfs.ImageAll); err != nil {
					return fmt.Errorf("image %d, %v: %w", i, mode, err)
				}
			}
			return w.CloseStore()
		}(); err != nil {
			y.figures["lost"]++
			t.Errorf("seed %d, full at byte %d of %d of a record: %v\nagain: go test ./sim -run '^TestDiskFull$' -v -args -seed %d -n 1", seed, at-1, length, err, seed)
			return offsets
		}
		offsets++
	}
	return offsets
}
