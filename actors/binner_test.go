package actors_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/actortest"
	"millrace/actors/protocol"
	"millrace/tablet"
)

// binnerTest is a binner between a store and two probes that play tablets: rows up to "m", and the rest.
type binnerTest struct {
	*actortest.Kit
	low, high *actortest.Probe
	binner    *actor.PID
}

func newBinnerTest(k *actortest.Kit) *binnerTest {
	b := &binnerTest{Kit: k, low: k.Probe("low"), high: k.Probe("high"), binner: k.Spawn("bins", actors.BinnerSpec(k.Runtime()))}
	k.Runtime().Send(b.binner, &protocol.TableIs{Table: "t", Tablets: []protocol.TabletRef{
		{Extent: tablet.Extent{Table: "t", EndRow: []byte("m")}, PID: b.low.PID()},
		{Extent: tablet.Extent{Table: "t", PrevEndRow: []byte("m")}, PID: b.high.PID()},
	}})
	return b
}

// write sends rows and returns the wait for the answer.
func (b *binnerTest) write(rows ...string) func() (*protocol.Written, error) {
	w := &protocol.Write{Table: "t"}
	for _, r := range rows {
		w.Mutations = append(w.Mutations, put(r))
	}
	wait := actors.AskLater(b.Runtime(), b.binner, w)
	return func() (*protocol.Written, error) { return wait(b.Context()) }
}

func put(row string) *tablet.Mutation {
	m := tablet.NewMutation([]byte(row))
	m.Put([]byte("f"), []byte("q"), nil, []byte(row))
	return m
}

func rowsOf(m *protocol.Apply) (rows string) {
	for _, mut := range m.Mutations {
		rows += string(mut.Row()) + " "
	}
	return rows
}

func TestBinnerAnswersWhenAllTabletsHave(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		b := newBinnerTest(k)
		wait := b.write("z", "a", "m", "b")
		low := actortest.Expect[*protocol.Apply](b.low, time.Second)
		high := actortest.Expect[*protocol.Apply](b.high, time.Second)
		if rowsOf(low) != "a b m " || rowsOf(high) != "z " {
			t.Errorf("binned as %q and %q", rowsOf(low), rowsOf(high))
		}
		answered := make(chan error, 1)
		go func() { _, err := wait(); answered <- err }()
		b.low.Send(b.binner, &protocol.Applied{Batch: low.Batch})
		k.Advance(time.Hour)
		if len(answered) > 0 {
			t.Fatal("answered before the second tablet")
		}
		b.high.Send(b.binner, &protocol.Applied{Batch: high.Batch})
		if err := <-answered; err != nil {
			t.Error(err)
		}
	})
}

func TestBinnerPassesOnFailuresAndRefusals(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		b := newBinnerTest(k)
		boom := errors.New("boom")
		wait := b.write("a", "z")
		low := actortest.Expect[*protocol.Apply](b.low, time.Second)
		high := actortest.Expect[*protocol.Apply](b.high, time.Second)
		b.low.Send(b.binner, &protocol.Applied{Batch: low.Batch, Err: boom})
		b.high.Send(b.binner, &protocol.Applied{Batch: high.Batch})
		if _, err := wait(); !errors.Is(err, boom) {
			t.Errorf("a tablet failed, the write got %v", err)
		}
		wait = b.write("a")
		low = actortest.Expect[*protocol.Apply](b.low, time.Second)
		b.low.Send(b.binner, &protocol.Applied{Batch: low.Batch, Refused: []protocol.Refusal{{Mutation: low.Mutations[0], Err: boom}}})
		if got, err := wait(); err != nil || len(got.Refused) != 1 || string(got.Refused[0].Mutation.Row()) != "a" {
			t.Errorf("refused %v, %v", got, err)
		}
		if _, err := actortest.Ask(k, b.binner, &protocol.Write{Table: "no"}); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("write to a table that is not there: %v", err)
		}
		if _, err := actortest.Ask(k, b.binner, &protocol.Write{Table: "t"}); err != nil {
			t.Errorf("write of nothing: %v", err)
		}
	})
}

// A tablet that does not answer closes its window; what follows waits in the binner, in order, and holds up no other. It
// goes in one batch then.
func TestBinnerKeepsTheWindowAndTheOrder(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		b := newBinnerTest(k)
		const n = protocol.ApplyWindow + 5
		var waits []func() (*protocol.Written, error)
		for i := range n {
			waits = append(waits, b.write(fmt.Sprintf("a%02d", i)))
		}
		high := b.write("z")
		got := actortest.Expect[*protocol.Apply](b.high, time.Second)
		b.high.Send(b.binner, &protocol.Applied{Batch: got.Batch})
		if _, err := high(); err != nil {
			t.Error(err)
		}
		k.Settle()
		if p := b.low.Pending(); p != protocol.ApplyWindow {
			t.Fatalf("%d batches on their way to a silent tablet, window %d", p, protocol.ApplyWindow)
		}
		for i := range protocol.ApplyWindow + 1 {
			m := actortest.Expect[*protocol.Apply](b.low, time.Second)
			want := fmt.Sprintf("a%02d ", i)
			if i == protocol.ApplyWindow {
				want = "a08 a09 a10 a11 a12 "
			}
			if rowsOf(m) != want {
				t.Fatalf("batch %d is %q", i, rowsOf(m))
			}
			b.low.Send(b.binner, &protocol.Applied{Batch: m.Batch})
		}
		for _, w := range waits {
			if _, err := w(); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestBinnerHolds(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		b := newBinnerTest(k)
		k.Runtime().Send(b.binner, &protocol.Hold{On: true})
		wait := b.write("a")
		b.low.ExpectNone(time.Hour)
		k.Runtime().Send(b.binner, &protocol.Hold{})
		m := actortest.Expect[*protocol.Apply](b.low, time.Second)
		b.low.Send(b.binner, &protocol.Applied{Batch: m.Batch})
		if _, err := wait(); err != nil {
			t.Error(err)
		}
	})
}

func TestBinnerDrains(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		b := newBinnerTest(k)
		wait := b.write("a")
		drained := actors.AskLater(k.Runtime(), b.binner, &protocol.Drain{})
		late := b.write("a")
		if _, err := late(); !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("write after a drain: %v", err)
		}
		low := actortest.Expect[*protocol.Apply](b.low, time.Second)
		done := make(chan error, 1)
		go func() { _, err := drained(k.Context()); done <- err }()
		k.Advance(time.Hour)
		if len(done) > 0 {
			t.Fatal("drained with a batch on its way")
		}
		b.low.Send(b.binner, &protocol.Applied{Batch: low.Batch})
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := wait(); err != nil {
			t.Error(err)
		}
	})
}

// Whatever ends a write, it is answered and its ticket is given back.
func TestBinnerThatDiesAnswers(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		k.AllowDeadLetters(&protocol.Write{})
		b := newBinnerTest(k)
		tickets := &counter{}
		ask := func() func() error {
			m := &protocol.Write{Table: "t", Mutations: []*tablet.Mutation{put("a")}}
			m.Admit(tickets)
			w := actors.AskLater(k.Runtime(), b.binner, m)
			return func() error { _, err := w(k.Context()); return err }
		}
		var waits []func() error
		for range protocol.ApplyWindow + 3 {
			waits = append(waits, ask())
		}
		k.Settle()
		k.Kill(b.binner)
		waits = append(waits, ask(), ask()) // the one that dies, and one behind it
		for i, w := range waits {
			if err := w(); err == nil {
				t.Errorf("write %d succeeded", i)
			}
		}
		if tickets.n != len(waits) {
			t.Errorf("%d tickets of %d came back", tickets.n, len(waits))
		}
	})
}

type counter struct{ n int }

func (c *counter) Return() { c.n++ }
