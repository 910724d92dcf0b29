package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/actors/protocol"
	"millrace/tablet"
	"millrace/tablet/locate"
	"millrace/writer"
)

// sentAtOnce is how many batches a batch writer's lane sends before it gathers what comes.
const sentAtOnce = 2

// writerTest is a batch writer, with one worker and virtual time, before a binner whose tablets are probes.
type writerTest struct {
	*binnerTest
	w   *writer.BatchWriter
	m   *locate.Map
	err chan error
}

func newWriterTest(k *actortest.Kit, o writer.Options) *writerTest {
	k.AllowDeadLetters(&protocol.LaneAgain{}) // of a binner that was stopped meanwhile
	w := &writerTest{binnerTest: newBinnerTest(k), m: locate.FromSplits(1, "t", [][]byte{[]byte("m")})}
	o.Binners, o.Latency = 1, writer.NoLatency
	bw, err := actors.NewWriter(k.Runtime(), w, o)
	if err != nil {
		k.Failf("%v", err)
	}
	w.w = bw
	return w
}

func (w *writerTest) Map() (*locate.Map, error) { return w.m, nil }

func (w *writerTest) Send(s *writer.Set) {
	w.Runtime().Send(w.binner, &protocol.WriteSet{Table: "t", Set: s})
}

func (w *writerTest) GiveUp(s *writer.Set) {
	w.Runtime().Send(w.binner, &protocol.GiveUp{Table: "t", Set: s, Since: s.Progress()})
}

// flush adds rows and begins a flush; the function returned waits for its end.
func (w *writerTest) flush(rows ...string) func() error {
	for _, r := range rows {
		if err := w.w.Add(w.Context(), put(r)); err != nil {
			w.Failf("add: %v", err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- w.w.Flush(context.Background()) }()
	w.Settle()
	return func() error { return <-done }
}

func (w *writerTest) expect(p *actortest.Probe, rows string) *protocol.Apply {
	m := actortest.Expect[*protocol.Apply](p, time.Minute)
	if got := strings.TrimSpace(rowsOf(m)); got != rows {
		w.Failf("%v got %q, want %q", p.PID(), got, rows)
	}
	return m
}

func (w *writerTest) answer(p *actortest.Probe, m *protocol.Apply, a protocol.Applied) {
	a.Batch = m.Batch
	p.Send(w.binner, &a)
	w.Settle()
}

func (w *writerTest) close(want ...error) *writer.RejectedError {
	err := w.w.Close(context.Background())
	var r *writer.RejectedError
	if len(want) == 0 {
		if err != nil {
			w.Failf("close: %v", err)
		}
		return nil
	}
	for _, target := range want {
		if !errors.As(err, &r) || !errors.Is(err, target) {
			w.Failf("close: %v, want %v", err, target)
		}
	}
	return r
}

func failed(r *writer.RejectedError) (s string) {
	if r == nil {
		return ""
	}
	for _, f := range r.Failed {
		s += fmt.Sprintf("%s %v; ", f.Mutation.Row(), f.Unknown)
	}
	return s
}

// A set that was binned by an old map is binned again.
func TestWriterOldMap(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		w := newWriterTest(k, writer.Options{})
		w.m = locate.FromSplits(1, "t", nil)
		flush := w.flush("z", "a", "n")
		w.answer(w.low, w.expect(w.low, "a"), protocol.Applied{})
		w.answer(w.high, w.expect(w.high, "n z"), protocol.Applied{})
		if err := flush(); err != nil {
			t.Error(err)
		}
		w.close()
	})
}

// What a tablet refuses for the moment goes again after a while, in order, and what is added meanwhile waits behind it. The
// other tablet is not concerned, and the flush is not over before.
func TestWriterTriesAgain(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		w := newWriterTest(k, writer.Options{})
		flush := w.flush("a", "b", "z")
		first := w.expect(w.low, "a b")
		w.answer(w.high, w.expect(w.high, "z"), protocol.Applied{})
		w.answer(w.low, first, protocol.Applied{Err: fmt.Errorf("no space: %w", tablet.ErrBusy)})
		second := w.flush("a", "y")
		w.answer(w.high, w.expect(w.high, "y"), protocol.Applied{})
		w.low.ExpectNone(400 * time.Millisecond)
		w.answer(w.low, w.expect(w.low, "a b a"), protocol.Applied{})
		if err := errors.Join(flush(), second()); err != nil {
			t.Error(err)
		}
		w.close()
	})
}

// Of a batch that was refused for the moment, what a later batch has overtaken is not tried again: it would win over what was
// added after it.
func TestWriterIsOvertaken(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		w := newWriterTest(k, writer.Options{})
		flush := w.flush("a", "b")
		first := w.expect(w.low, "a b")
		second := w.flush("b", "c")
		later := w.expect(w.low, "b c")
		w.answer(w.low, first, protocol.Applied{Err: tablet.ErrBusy})
		w.answer(w.low, later, protocol.Applied{})
		w.answer(w.low, w.expect(w.low, "a"), protocol.Applied{})
		flush()
		second()
		if got := failed(w.close(actors.ErrOvertaken)); got != "b false; " {
			t.Errorf("failed: %s", got)
		}
	})
}

// Other errors are final, and name what they are about.
func TestWriterErrorsAreFinal(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		boom := errors.New("boom")
		w := newWriterTest(k, writer.Options{})
		flush := w.flush("a", "b", "z")
		w.answer(w.low, w.expect(w.low, "a b"), protocol.Applied{Err: boom})
		w.answer(w.high, w.expect(w.high, "z"), protocol.Applied{Err: fmt.Errorf("%w: x", actors.ErrUnknownOutcome)})
		flush()
		if got := failed(w.close(boom, actors.ErrUnknownOutcome)); got != "a false; b false; z true; " {
			t.Errorf("failed: %s", got)
		}
	})
}

// A tablet that is gone: what it never saw goes to its successor, ahead of what waits; what it may have applied is named, or,
// if so wished, goes too. Nothing goes there before all that was on its way has come back.
func TestWriterTabletIsReplaced(t *testing.T) {
	for _, again := range []bool{false, true} {
		actortest.Run(t, func(k *actortest.Kit) {
			w := newWriterTest(k, writer.Options{AtLeastOnce: again})
			flush := w.flush("a")
			first := w.expect(w.low, "a")
			second := w.flush("b")
			unseen := w.expect(w.low, "b")
			w.answer(w.low, first, protocol.Applied{Err: fmt.Errorf("%w: %w", actors.ErrUnknownOutcome, actors.ErrStopped)})
			next := k.Probe("next")
			k.Runtime().Send(w.binner, &protocol.TableIs{Table: "t", Version: 2, Tablets: []protocol.TabletRef{
				{Extent: tablet.Extent{Table: "t", EndRow: []byte("m")}, PID: next.PID()},
				{Extent: tablet.Extent{Table: "t", PrevEndRow: []byte("m")}, PID: w.high.PID()},
			}})
			var third func() error
			if again { // else the writer has failed
				third = w.flush("c")
			}
			next.ExpectNone(time.Hour)
			w.answer(w.low, unseen, protocol.Applied{Err: actors.ErrStopped})
			if again {
				w.answer(next, w.expect(next, "a b c"), protocol.Applied{})
				for _, f := range []func() error{flush, second, third} {
					if err := f(); err != nil {
						t.Error(err)
					}
				}
				w.close()
				return
			}
			w.answer(next, w.expect(next, "b"), protocol.Applied{})
			flush()
			second()
			if got := failed(w.close(actors.ErrUnknownOutcome)); got != "a true; " {
				t.Errorf("failed: %s", got)
			}
		})
	}
}

// A tablet that does not answer is given up after the timeout: what was sent is unknown, what waits for it is not written.
// A tablet that goes on, however slowly, is waited for.
func TestWriterTimeout(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		w := newWriterTest(k, writer.Options{Timeout: time.Minute})
		var flushes []func() error
		for i := range protocol.ApplyWindow + 2 {
			flushes = append(flushes, w.flush(fmt.Sprintf("a%02d", i), "z"))
		}
		sent := w.expect(w.low, "a00")
		for range sentAtOnce + 1 { // what came meanwhile goes in one batch
			k.Advance(40 * time.Second)
			w.answer(w.high, actortest.Expect[*protocol.Apply](w.high, time.Second), protocol.Applied{})
		}
		k.Advance(time.Hour)
		for _, f := range flushes {
			f()
		}
		want := ""
		for i := range flushes {
			want += fmt.Sprintf("a%02d %v; ", i, i < sentAtOnce)
		}
		r := w.close(context.DeadlineExceeded)
		names := map[string]bool{}
		for _, f := range r.Failed {
			names[fmt.Sprintf("%s %v", f.Mutation.Row(), f.Unknown)] = true
		}
		for _, n := range strings.Split(strings.TrimSuffix(want, "; "), "; ") {
			if !names[n] {
				t.Errorf("not named: %s; failed: %s", n, failed(r))
			}
		}
		if len(r.Failed) != len(flushes) {
			t.Errorf("failed: %s", failed(r))
		}
		w.answer(w.low, sent, protocol.Applied{}) // too late, and harmless
	})
}

// A binner that dies answers for every set.
func TestWriterBinnerDies(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		k.AllowDeadLetters(&protocol.WriteSet{})
		w := newWriterTest(k, writer.Options{})
		var flushes []func() error
		for i := range protocol.ApplyWindow + 2 {
			flushes = append(flushes, w.flush(fmt.Sprintf("a%02d", i)))
		}
		k.Kill(w.binner)
		flushes = append(flushes, w.flush("b"))
		for _, f := range flushes {
			f()
		}
		want := ""
		for i := range protocol.ApplyWindow + 2 {
			want += fmt.Sprintf("a%02d %v; ", i, i < sentAtOnce)
		}
		if got := failed(w.close(actors.ErrStopped)); got != "b true; "+want {
			t.Errorf("failed: %s", got)
		}
	})
}

// A worker has two messages in its mailbox at most, however many sets there are.
func TestWriterMailbox(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		m := locate.FromSplits(1, "t", nil)
		for _, v := range writer.Variants {
			w, err := actors.NewWriter(k.Runtime(), writer.Discard{Tablets: m}, writer.Options{Variant: v, MemoryBytes: 100_000})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 3000 {
				if err := w.Add(k.Context(), put(fmt.Sprint(i))); err != nil {
					t.Fatal(err)
				}
				if i%100 == 0 {
					if err := w.Flush(k.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := w.Close(k.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if over := k.Runtime().Overfilled(); len(over) > 0 {
			t.Errorf("%v", over)
		}
	})
}

// While a tablet has two batches to do, little ones are gathered, and large ones go.
func TestWriterGathers(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		w := newWriterTest(k, writer.Options{})
		var flushes []func() error
		for i := range 5 {
			flushes = append(flushes, w.flush(fmt.Sprintf("a%d", i)))
		}
		first, second := w.expect(w.low, "a0"), w.expect(w.low, "a1")
		w.low.ExpectNone(time.Hour)
		var many []string
		for i := range 600 {
			many = append(many, fmt.Sprintf("b%03d", i))
		}
		flushes = append(flushes, w.flush(many...))
		large := w.expect(w.low, "a2 a3 a4 "+strings.Join(many, " "))
		for _, m := range []*protocol.Apply{first, second, large} {
			w.answer(w.low, m, protocol.Applied{})
		}
		for _, f := range flushes {
			if err := f(); err != nil {
				t.Error(err)
			}
		}
		w.close()
	})
}

// replace tells the binner of a successor of the low tablet.
func (w *writerTest) replace(name string) *actortest.Probe {
	next := w.Probe(name)
	w.Runtime().Send(w.binner, &protocol.TableIs{Table: "t", Version: 2, Tablets: []protocol.TabletRef{
		{Extent: tablet.Extent{Table: "t", EndRow: []byte("m")}, PID: next.PID()},
		{Extent: tablet.Extent{Table: "t", PrevEndRow: []byte("m")}, PID: w.high.PID()},
	}})
	w.Settle()
	return next
}

// A successor gets nothing while anything is on its way to the one before it.
func TestWriterWaitsForTheOldTablet(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		w := newWriterTest(k, writer.Options{})
		first := w.flush("a")
		old := w.expect(w.low, "a")
		next := w.replace("next")
		second := w.flush("a", "b")
		next.ExpectNone(time.Hour)
		w.answer(w.low, old, protocol.Applied{Err: actors.ErrStopped})
		w.answer(next, w.expect(next, "a a b"), protocol.Applied{})
		if err := errors.Join(first(), second()); err != nil {
			t.Error(err)
		}
		w.close()
	})
}

// What was sent again because its outcome was not known stays unknown, whatever the second outcome says of the second try.
func TestWriterDoubtStays(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		boom := errors.New("boom")
		w := newWriterTest(k, writer.Options{AtLeastOnce: true})
		flush := w.flush("a")
		w.answer(w.low, w.expect(w.low, "a"), protocol.Applied{Err: fmt.Errorf("%w: %w", actors.ErrUnknownOutcome, actors.ErrStopped)})
		next := w.replace("next")
		w.answer(next, w.expect(next, "a"), protocol.Applied{Err: boom})
		flush()
		if got := failed(w.close(boom)); got != "a true; " {
			t.Errorf("failed: %s", got)
		}
	})
}

// slowMap is a destination whose map is not there before a gate is opened.
type slowMap struct {
	writer.Discard
	gate chan struct{}
}

func (s slowMap) Map() (*locate.Map, error) {
	<-s.gate
	return s.Discard.Map()
}

// A Close that cannot wait ends the workers behind the sets that they still have.
func TestWriterEndsBehindItsSets(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		d := slowMap{writer.Discard{Tablets: locate.FromSplits(1, "t", nil)}, make(chan struct{})}
		w, err := actors.NewWriter(k.Runtime(), d, writer.Options{Binners: 1, MemoryBytes: 3000})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if err := w.Add(k.Context(), put(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(k.Context())
		cancel()
		if err := w.Close(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("close: %v", err)
		}
		close(d.gate)
		k.Settle()
		if st := w.Stats(); st.Acknowledged != 10 || st.Sets < 2 {
			t.Errorf("%+v", st)
		}
		if err := w.Close(k.Context()); err != nil {
			t.Error(err)
		}
	})
}
