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
	noOpen   error // of opening
	fail     error // of a read, after 5 entries
	released int   // 1 when it was
}

func (v *fakeView) Sources(*scan.Kit, tablet.Families) ([]iter.Source, error) {
	if v.noOpen != nil {
		return nil, v.noOpen
	}
	s := iter.FromEntries(v.entries, 7)
	if v.fail != nil {
		s = s.FailAfter(5, v.fail)
	}
	return []iter.Source{s}, nil
}

// Release counts the first call of each holder: a session releases at its end and, to be sure, when it stops.
func (v *fakeView) Release() { v.released = 1 }

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
	client *actortest.Probe
	scans  *actor.PID
}

func newScanTest(k *actortest.Kit) *scanTest {
	return &scanTest{Kit: k, client: k.Probe("client"), scans: k.Spawn("scans", actors.ScansSpec(k.Runtime(), idle))}
}

// open opens a scan in pages of ten.
func (s *scanTest) open(v *fakeView, credit int) {
	s.client.Send(s.scans, &protocol.ScanOpen{Client: s.client.PID(), Scan: 1, View: v, Credit: credit, Limits: scan.Limits{Entries: 10}})
}

// session takes a batch, and returns the session that sent it.
func (s *scanTest) session() *actor.PID {
	return actortest.Expect[*protocol.ScanBatch](s.client, time.Second).Session
}

func TestScanKeepsToItsCredit(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		s, v := newScanTest(k), viewOf(95)
		s.open(v, 2)
		rows := 0
		for seq := range 10 {
			m := actortest.Expect[*protocol.ScanBatch](s.client, time.Second)
			if m.Seq != seq || m.Scan != 1 {
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
				s.client.Send(m.Session, &protocol.Credit{Scan: 1, Batches: 1, Pages: []*scan.Page{m.Page}})
			}
		}
		if m := actortest.Expect[*protocol.ScanEnd](s.client, time.Second); m.Err != nil || rows != 95 {
			t.Errorf("end %v after %d rows", m.Err, rows)
		}
		s.client.ExpectNone(time.Hour)
		if v.released != 1 {
			t.Errorf("view released: %d", v.released)
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
			t.Errorf("view released: %d", v.released)
		}
	})
}

func TestScanEndsOnceWhateverHappens(t *testing.T) {
	boom := errors.New("boom")
	end := func(s *scanTest, v *fakeView, want error) {
		t.Helper()
		m := actortest.Fish[*protocol.ScanEnd](s.client, nil)
		if !errors.Is(m.Err, want) {
			t.Errorf("end %v, want %v", m.Err, want)
		}
		s.client.ExpectNone(time.Hour)
		if v.released != 1 {
			t.Errorf("view released: %d", v.released)
		}
	}
	actortest.Run(t, func(k *actortest.Kit) { // a source fails
		s, v := newScanTest(k), viewOf(95)
		v.fail = boom
		s.open(v, 5)
		end(s, v, boom)
	})
	actortest.Run(t, func(k *actortest.Kit) { // a file cannot be opened
		s, v := newScanTest(k), viewOf(95)
		v.noOpen = boom
		s.open(v, 5)
		end(s, v, boom)
	})
	actortest.Run(t, func(k *actortest.Kit) { // the session panics
		s, v := newScanTest(k), viewOf(95)
		s.open(v, 1)
		session := s.session()
		k.Kill(session)
		s.client.Grant(session, 1, 1)
		end(s, v, actors.ErrStopped)
	})
	actortest.Run(t, func(k *actortest.Kit) { // everything stops
		s, v := newScanTest(k), viewOf(95)
		s.open(v, 1)
		k.Settle()
		k.Stop(s.scans)
		end(s, v, actors.ErrStopped)
	})
	actortest.Run(t, func(k *actortest.Kit) { // the client falls silent
		s, v := newScanTest(k), viewOf(95)
		s.open(v, 1)
		end(s, v, tablet.ErrClosed)
	})
	actortest.Run(t, func(k *actortest.Kit) { // scans is gone
		k.AllowDeadLetters(&protocol.ScanOpen{})
		s, v := newScanTest(k), viewOf(95)
		k.Stop(s.scans)
		s.open(v, 1)
		end(s, v, actors.ErrStopped)
	})
}

// Silence counts from the last word: a client that works through its pages slowly is not idle.
func TestScanIdleCountsFromTheLastWord(t *testing.T) {
	actortest.Run(t, func(k *actortest.Kit) {
		s, v := newScanTest(k), viewOf(95)
		s.open(v, 1)
		session := s.session()
		for range 5 {
			k.Advance(idle - time.Second)
			s.client.Grant(session, 1, 1)
			s.session()
		}
		k.Advance(idle + time.Second)
		if m := actortest.Expect[*protocol.ScanEnd](s.client, time.Second); m.Err == nil {
			t.Error("an idle scan ended well")
		}
	})
}
