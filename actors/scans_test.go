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
	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// fakeView is a view over entries in memory.
type fakeView struct {
	entries  []tablet.Entry
	fail     error // of a read, after 5 entries
	released int
}

func (v *fakeView) Sources(tablet.Families) ([]iter.Source, error) {
	s := iter.FromEntries(v.entries, 7)
	if v.fail != nil {
		s = s.FailAfter(5, v.fail)
	}
	return []iter.Source{s}, nil
}

func (v *fakeView) Release() { v.released++ }

func viewOf(n int) *fakeView {
	v := &fakeView{}
	for i := range n {
		v.entries = append(v.entries, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "%06d", i)}), Value: []byte("v")})
	}
	return v
}

const idle = time.Minute

type scanTest struct {
	*actortest.Kit
	client, tablet *actortest.Probe
	scans          *actor.PID
}

func newScanTest(k *actortest.Kit) *scanTest {
	return &scanTest{Kit: k, client: k.Probe("client"), tablet: k.Probe("tablet"), scans: k.Spawn("scans", actors.ScansSpec(k.Runtime(), idle))}
}

// open opens a scan in pages of ten and plays the tablet's part. It returns the session.
func (s *scanTest) open(v *fakeView, credit int) *actor.PID {
	s.client.Send(s.scans, &protocol.ScanOpen{Client: s.client.PID(), Scan: 1, Tablet: s.tablet.PID(), Credit: credit, Limits: scan.Limits{Entries: 10}})
	w := actortest.Expect[*protocol.WantView](s.tablet, time.Second)
	s.tablet.Send(w.From, &protocol.ViewIs{View: v})
	return w.From
}

func TestScanKeepsToItsCredit(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		s, v := newScanTest(k), viewOf(95)
		session := s.open(v, 2)
		rows := 0
		for seq := range 10 {
			m := actortest.Expect[*protocol.ScanBatch](s.client, time.Second)
			if m.Seq != seq || m.Scan != 1 || !m.Session.Equal(session) {
				t.Fatalf("batch %+v", m)
			}
			for i := range m.Page.Len() {
				if got := string(m.Page.Key(i).Row()); got != fmt.Sprintf("%06d", rows) {
					t.Fatalf("row %d is %s", rows, got)
				}
				rows++
			}
			if seq == 1 { // both credits are used
				s.client.ExpectNone(idle / 2)
			}
			if seq >= 1 && seq < 9 {
				s.client.Send(session, &protocol.Credit{Scan: 1, Batches: 1, Pages: []*scan.Page{m.Page}})
			}
		}
		if m := actortest.Expect[*protocol.ScanEnd](s.client, time.Second); m.Err != nil || rows != 95 {
			t.Errorf("end %v after %d rows", m.Err, rows)
		}
		s.client.ExpectNone(time.Hour)
		if v.released != 1 {
			t.Errorf("the view was released %d times", v.released)
		}
	})
}

func TestScanThatIsGivenUp(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		s, v := newScanTest(k), viewOf(95)
		s.open(v, 1)
		actortest.Expect[*protocol.ScanBatch](s.client, time.Second)
		s.client.Send(s.scans, &protocol.ScanClose{Client: s.client.PID(), Scan: 1})
		s.client.ExpectNone(time.Hour)
		if v.released != 1 {
			t.Errorf("the view was released %d times", v.released)
		}
		// Given up before the tablet has answered.
		s.client.Send(s.scans, &protocol.ScanOpen{Client: s.client.PID(), Scan: 2, Tablet: s.tablet.PID(), Credit: 1})
		w := actortest.Expect[*protocol.WantView](s.tablet, time.Second)
		s.client.Send(s.scans, &protocol.ScanClose{Client: s.client.PID(), Scan: 2})
		k.AllowDeadLetters(&protocol.ViewIs{})
		late := viewOf(1)
		k.Settle()
		s.tablet.Send(w.From, &protocol.ViewIs{View: late})
		s.client.ExpectNone(time.Hour)
		if late.released != 1 {
			t.Errorf("a view that came too late was released %d times", late.released)
		}
	})
}

func TestScanEndsOnceWhateverHappens(t *testing.T) {
	boom := errors.New("boom")
	end := func(k *actortest.Kit, s *scanTest, v *fakeView, want error) {
		t.Helper()
		m := actortest.Fish[*protocol.ScanEnd](s.client, nil)
		if !errors.Is(m.Err, want) {
			t.Errorf("end %v, want %v", m.Err, want)
		}
		s.client.ExpectNone(time.Hour)
		if v != nil && v.released != 1 {
			t.Errorf("the view was released %d times", v.released)
		}
	}
	actortest.Run(t, func(k *actortest.Kit) { // a source fails
		s, v := newScanTest(k), viewOf(95)
		v.fail = boom
		s.open(v, 5)
		end(k, s, v, boom)
	})
	actortest.Run(t, func(k *actortest.Kit) { // the tablet refuses
		s := newScanTest(k)
		s.client.Send(s.scans, &protocol.ScanOpen{Client: s.client.PID(), Scan: 1, Tablet: s.tablet.PID(), Credit: 1})
		w := actortest.Expect[*protocol.WantView](s.tablet, time.Second)
		s.tablet.Send(w.From, &protocol.ViewIs{Err: boom})
		end(k, s, nil, boom)
	})
	actortest.Run(t, func(k *actortest.Kit) { // the tablet is gone
		k.AllowDeadLetters(&protocol.WantView{})
		s := newScanTest(k)
		k.Stop(s.tablet.PID())
		s.client.Send(s.scans, &protocol.ScanOpen{Client: s.client.PID(), Scan: 1, Tablet: s.tablet.PID(), Credit: 1})
		end(k, s, nil, actors.ErrStopped)
	})
	actortest.Run(t, func(k *actortest.Kit) { // the session panics
		s, v := newScanTest(k), viewOf(95)
		session := s.open(v, 1)
		k.Settle()
		k.Kill(session)
		s.client.Send(session, &protocol.Credit{Scan: 1, Batches: 1})
		end(k, s, v, actors.ErrStopped)
	})
	actortest.Run(t, func(k *actortest.Kit) { // everything stops
		s, v := newScanTest(k), viewOf(95)
		s.open(v, 1)
		k.Settle()
		k.Stop(s.scans)
		end(k, s, v, actors.ErrStopped)
	})
	actortest.Run(t, func(k *actortest.Kit) { // the client falls silent
		s, v := newScanTest(k), viewOf(95)
		s.open(v, 1)
		end(k, s, v, tablet.ErrClosed)
	})
	actortest.Run(t, func(k *actortest.Kit) { // scans is gone
		k.AllowDeadLetters(&protocol.ScanOpen{})
		s := newScanTest(k)
		k.Stop(s.scans)
		s.client.Send(s.scans, &protocol.ScanOpen{Client: s.client.PID(), Scan: 1, Tablet: s.tablet.PID(), Credit: 1})
		end(k, s, nil, actors.ErrStopped)
	})
}

// Silence counts from the last word: a client that works through its pages slowly is not idle.
func TestScanIdleCountsFromTheLastWord(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		s, v := newScanTest(k), viewOf(95)
		session := s.open(v, 1)
		for range 5 {
			actortest.Expect[*protocol.ScanBatch](s.client, time.Second)
			k.Advance(idle - time.Second)
			s.client.Send(session, &protocol.Credit{Scan: 1, Batches: 1})
		}
		actortest.Expect[*protocol.ScanBatch](s.client, time.Second)
		k.Advance(idle + time.Second)
		if m := actortest.Expect[*protocol.ScanEnd](s.client, time.Second); m.Err == nil {
			t.Error("an idle scan ended well")
		}
	})
}
