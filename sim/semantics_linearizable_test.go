package sim

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"millrace/actors"
	"millrace/tablet"
	"millrace/tablet/visibility"
)

// A row of these histories has two cells. Each holds the number of the write that put it there, or nothing.
type rowState [2]int

// rowAsk is what a client wants of a row: to read some of its cells, or to put or delete them in one mutation.
type rowAsk struct {
	row   int
	read  bool
	value int // 0 deletes
	cells [2]bool
}

func (a rowAsk) String() string {
	what := fmt.Sprintf("put %d in", a.value)
	switch {
	case a.read:
		what = "read"
	case a.value == 0:
		what = "delete"
	}
	return fmt.Sprintf("%s r%d%v", what, a.row, a.cells)
}

// rowModel is a row as one client alone would find it.
var rowModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		rows := make([][]porcupine.Operation, linearRows)
		for _, op := range history {
			row := op.Input.(rowAsk).row
			rows[row] = append(rows[row], op)
		}
		return rows
	},
	Init: func() any { return rowState{} },
	Step: func(state, input, output any) (bool, any) {
		s, ask := state.(rowState), input.(rowAsk)
		if !ask.read {
			for i, wanted := range ask.cells {
				if wanted {
					s[i] = ask.value
				}
			}
			return true, s
		}
		found := output.(rowState)
		for i, wanted := range ask.cells {
			if wanted && found[i] != s[i] {
				return false, s
			}
		}
		return true, s
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v: %v", input, output) },
}

const (
	linearRows    = 5
	linearClients = 8
	linearOps     = 400
)

var linearColumns = [2]string{"a", "b"}

// linear is one history that is being made.
type linear struct {
	w       *World
	seed    uint64
	history []porcupine.Operation
	begun   int // operations so far
	unknown int // of them, writes without an answer
	busy    map[OpKind]int
	err     error
}

// client does operations until enough have been begun.
func (l *linear) client(n int, r *rand.Rand) func(c *Client) {
	return func(c *Client) {
		for l.begun < linearOps && l.err == nil {
			l.begun++
			ask := rowAsk{row: r.IntN(linearRows), read: r.IntN(2) == 0, cells: [2]bool{true, true}}
			if r.IntN(3) == 0 {
				ask.cells[r.IntN(2)] = false
			}
			if !ask.read && r.IntN(3) > 0 {
				ask.value = l.begun
			}
			err := l.do(n, ask, r)
			if err == nil {
				err = c.Pause()
			}
			if Crashed(err) {
				return
			}
			if err != nil {
				l.err = fmt.Errorf("%v: %w", ask, err)
				return
			}
		}
	}
}

// do does one operation, and notes it unless it is a read without an answer.
func (l *linear) do(n int, ask rowAsk, r *rand.Rand) (err error) {
	op := porcupine.Operation{ClientId: n, Input: ask, Call: l.w.Tick()}
	if ask.read {
		found, err := l.read(ask, r)
		if err != nil {
			return err
		}
		op.Output, op.Return = found, l.w.Tick()
	} else {
		if err = l.write(ask); err != nil {
			op.Return = math.MaxInt64 // it may happen at any time, or never
			l.unknown++
		} else {
			op.Return = l.w.Tick()
		}
	}
	l.history = append(l.history, op)
	return err
}

func (l *linear) write(ask rowAsk) error {
	m := tablet.NewMutation(linearRow(ask.row))
	for i, wanted := range ask.cells {
		if wanted {
			m.Add(tablet.Update{Family: []byte("f"), Qualifier: []byte(linearColumns[i]), Deleted: ask.value == 0, Value: strconv.AppendInt(nil, int64(ask.value), 10)})
		}
	}
	return l.w.Store().Apply(context.Background(), "t", []*tablet.Mutation{m})
}

// read reads a row in one of the ways that there are: by a scan, entry by entry, or one cell alone.
func (l *linear) read(ask rowAsk, r *rand.Rand) (found rowState, err error) {
	s, ctx := l.w.Store(), context.Background()
	one := ask.cells[0] != ask.cells[1]
	switch way := r.IntN(3); {
	case way == 0 && one:
		i := int(bit(ask.cells[1]))
		e, ok, err := s.Get(ctx, "t", actors.Column{Row: linearRow(ask.row), Family: []byte("f"), Qualifier: []byte(linearColumns[i])}, visibility.Authorizations{})
		if ok {
			err = found.set(&e)
		}
		return found, err
	case way == 1:
		it, err := s.Iterator("t", actors.IteratorOptions{})
		if err != nil {
			return found, err
		}
		defer it.Close()
		for err = it.Seek(ctx, tablet.ExactRow(linearRow(ask.row))); err == nil; err = it.Next(ctx) {
			e, ok := it.Top()
			if !ok {
				break
			}
			if err := found.set(&e); err != nil {
				return found, err
			}
		}
		return found, err
	}
	sc, err := s.Scan(ctx, "t", actors.ScanOptions{Range: tablet.ExactRow(linearRow(ask.row)), PageEntries: 1 + r.IntN(2)})
	if err != nil {
		return found, err
	}
	entries, err := ReadAll(sc)
	for i := range entries {
		if err := found.set(&entries[i]); err != nil {
			return found, err
		}
	}
	return found, err
}

func (s *rowState) set(e *tablet.Entry) (err error) {
	for i, column := range linearColumns {
		if string(e.Key.Qualifier()) == column {
			if s[i] != 0 {
				return fmt.Errorf("%v twice", e.Key)
			}
			s[i], err = strconv.Atoi(string(e.Value))
		}
	}
	return err
}

func linearRow(i int) []byte { return fmt.Appendf(nil, "r%d", i) }

// disturb flushes, compacts and splits as long as there are clients.
func (l *linear) disturb(r *rand.Rand) func(c *Client) {
	return func(c *Client) {
		for l.begun < linearOps && l.err == nil {
			kind := []OpKind{Flush, Flush, Full, Partial, Split}[r.IntN(5)]
			err := l.disturbance(kind, r)
			if err == nil {
				l.busy[kind]++
				err = c.Sleep(time.Duration(r.IntN(40)) * time.Millisecond)
			}
			if Crashed(err) {
				return
			}
			if err != nil {
				l.err = fmt.Errorf("%s: %w", kind, err)
			}
		}
	}
}

func (l *linear) disturbance(kind OpKind, r *rand.Rand) error {
	s, ctx := l.w.Store(), context.Background()
	switch kind {
	case Flush:
		return s.Flush(ctx, "t")
	case Split:
		return s.AddSplits(ctx, "t", [][]byte{fmt.Appendf(nil, "r%d%d", r.IntN(linearRows), r.IntN(3))})
	case Full:
		_, err := s.Compact(ctx, "t", actors.CompactOptions{NoFlush: r.IntN(2) == 0})
		return err
	}
	stats, err := s.Stats(ctx, "t")
	if err != nil {
		return err
	}
	if files := drawFiles(stats, r.Uint64()); len(files) > 0 {
		_, err = s.Compact(ctx, "t", actors.CompactOptions{Files: files, NoFlush: true})
	}
	return err
}

// life runs clients until they are done, or the engine has crashed.
func (l *linear) life(number int) error {
	if err := l.w.Open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if _, err := l.w.Store().Tablets("t"); err != nil {
		properties := map[string]string{"table.compaction.major.ratio": "1"}
		if l.seed%2 == 0 {
			properties["table.time.type"] = "logical"
		}
		if err := l.w.Store().CreateTable(context.Background(), "t", nil, properties); err != nil {
			return fmt.Errorf("create: %w", err)
		}
	}
	for n := range linearClients {
		l.w.Go(fmt.Sprint("client ", n), l.client(number*linearClients+n, stream(l.seed, fmt.Sprint("client ", number, n))))
	}
	l.w.Go("disturber", l.disturb(stream(l.seed, fmt.Sprint("disturber ", number))))
	return l.w.Run()
}

// linearHistory makes a history, with crashes or without, and says whether somebody alone could have done it.
func linearHistory(seed uint64, crashes bool) (l *linear, err error) {
	o := Options{Seed: seed, Schedule: ScheduleFor(seed / 2)}
	r := stream(seed, "crashes")
	if crashes {
		for range 4 {
			o.Faults = append(o.Faults, Fault{Kind: Crash, At: 200 + r.Uint64N(12000)})
		}
	}
	l = &linear{w: New(o), seed: seed, busy: map[OpKind]int{}}
	defer l.w.End()
	for number := 0; ; number++ {
		err := l.life(number)
		if l.err != nil {
			return l, l.err
		}
		if err == nil {
			break
		}
		if !Crashed(err) {
			return l, err
		}
		op := Op{Kind: [2]OpKind{PowerCut, Killed}[r.IntN(2)], Pick: r.Uint64()}
		l.w.Crash(Image(op, l.w.FS()))
	}
	for row := range linearRows { // and what there is in the end
		if err := l.do(0, rowAsk{row: row, read: true, cells: [2]bool{true, true}}, r); err != nil && !Crashed(err) {
			return l, err
		}
	}
	switch porcupine.CheckOperationsTimeout(rowModel, l.history, time.Minute) {
	case porcupine.Illegal:
		return l, fmt.Errorf("not linearizable: %s", l.illegalRow())
	case porcupine.Unknown:
		return l, fmt.Errorf("not decided within a minute")
	}
	return l, nil
}

// illegalRow is the history of a row for which there is no order.
func (l *linear) illegalRow() (text string) {
	for _, ops := range rowModel.Partition(l.history) {
		if porcupine.CheckOperations(rowModel, ops) {
			continue
		}
		for _, op := range ops {
			text += fmt.Sprintf("\n%d to %d, client %d: %v", op.Call, op.Return, op.ClientId, op.Input)
			if op.Output != nil {
				text += fmt.Sprintf(": %v", op.Output)
			}
		}
		break
	}
	return text
}

// TestLinearizable has clients read, write and delete rows at the same time, while the table is flushed, compacted and split
// and, for every other seed, while the engine crashes, and looks for an order in which one client could have done all of a
// row's operations. Writes that were not answered may have happened at any time since, or not.
func TestLinearizable(t *testing.T) {
	n := runs(20)
	var operations, unknown, crashed, disturbed atomic.Int64
	failed := overSeeds(t, n, func(seed uint64) error {
		l, err := linearHistory(seed, seed%2 == 0)
		operations.Add(int64(len(l.history)))
		unknown.Add(int64(l.unknown))
		crashed.Add(int64(l.w.Hits(Crash)))
		for _, times := range l.busy {
			disturbed.Add(int64(times))
		}
		return err
	})
	if n >= 20 && (unknown.Load() == 0 || crashed.Load() == 0 || disturbed.Load() < int64(n)) {
		t.Error("too little has happened beside the clients")
	}
	lastLine(t, "R36", count("histories", n), count("operations", int(operations.Load())), count("unknown", int(unknown.Load())),
		count("crashes", int(crashed.Load())), count("disturbances", int(disturbed.Load())), zero("illegal", failed))
}

// A read that no order explains is found.
func TestLinearizableFindsAStaleRead(t *testing.T) {
	both := [2]bool{true, true}
	f := func(want bool, found rowState) {
		t.Helper()
		history := []porcupine.Operation{
			{Input: rowAsk{value: 1, cells: both}, Call: 1, Return: 2},
			{Input: rowAsk{value: 2, cells: both}, Call: 3, Return: 4},
			{Input: rowAsk{value: 3, cells: both}, Call: 5, Return: math.MaxInt64},
			{Input: rowAsk{read: true, cells: both}, Output: found, Call: 6, Return: 7},
		}
		if porcupine.CheckOperations(rowModel, history) != want {
			t.Errorf("%v, want %v", found, want)
		}
	}
	f(true, rowState{2, 2})
	f(true, rowState{3, 3})
	f(false, rowState{1, 1})
	f(false, rowState{2, 3})
	f(false, rowState{})
}
