package hosted

import (
	"sync"
	"sync/atomic"
	"testing"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// TestReadersBesideTheOwner lets readers take and release views while the owner writes, flushes and compacts. A reader
// finds every row that was committed before it took its view, and no file of a view is obsolete while it is held.
func TestReadersBesideTheOwner(t *testing.T) {
	var gone sync.Map
	var tab *Tablet
	o := Options{OnObsolete: func() {
		for _, m := range tab.Obsolete() {
			if _, twice := gone.LoadOrStore(m.Number, true); twice {
				t.Errorf("file %d is obsolete twice", m.Number)
			}
		}
	}}
	tab, err := New(State{Extent: tablet.Extent{Table: "t"}}, o)
	if err != nil {
		t.Fatal(err)
	}
	const writes = 600
	var committed atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				before := committed.Load()
				v := tab.View()
				var seen uint64
				for _, s := range v.Snapshots() {
					seen += uint64(s.Entries())
				}
				for _, m := range v.Files() {
					seen += uint64(m.Entries)
					if _, ok := gone.Load(m.Number); ok {
						t.Errorf("file %d is obsolete, and in a view", m.Number)
					}
				}
				v.Retain().Release()
				v.Release()
				if int64(seen) < before {
					t.Errorf("%d entries in a view, after %d were committed", seen, before)
					return
				}
			}
		})
	}
	for i := range writes {
		m := tablet.NewMutation([]byte{byte(i >> 8), byte(i)})
		m.Put([]byte("f"), nil, nil, nil)
		p, _ := tab.Prepare([]*tablet.Mutation{m}, int64(i))
		tab.Commit(p)
		committed.Add(1)
		if i%5 == 4 {
			flushNow(t, tab, uint64(i))
		}
	}
	close(stop)
	wg.Wait()
	files := tab.Files()
	count := func() (n int) {
		gone.Range(func(any, any) bool { n++; return true })
		return n
	}
	if left := count(); left != writes/5-1 || files != 1 {
		t.Errorf("%d files obsolete and %d left of %d", left, files, writes/5)
	}
	held := tab.View()
	tab.Close()
	if count() != writes/5-1 {
		t.Error("a closed tablet let go of a file that is in a view")
	}
	held.Release()
	if count() != writes/5 {
		t.Error("a closed tablet holds a file that is in no view")
	}
}

// flushNow flushes the memtable together with the one file there is, by hand.
func flushNow(t *testing.T, tab *Tablet, number uint64) {
	t.Helper()
	tab.opts.Planner = takeAll{}
	tab.Freeze()
	f, ok := tab.NextFlush()
	if !ok {
		t.Fatal("no flush is due")
	}
	out := tablet.FileMeta{Number: number, Entries: f.Snapshot.Entries(), Ages: f.Ages}
	for _, m := range f.Merge {
		out.Entries += m.Entries
	}
	if err := tab.Install(f.Age, &out); err != nil {
		t.Fatal(err)
	}
}

type takeAll struct{ noPlan }

func (takeAll) TakeAlong(s Situation) (uint64, bool) {
	if len(s.Files) == 0 {
		return 0, false
	}
	return s.Files[0].Number, true
}

func TestMisuseIsCaught(t *testing.T) {
	f := func(name string, misuse func()) {
		t.Helper()
		defer func() {
			if _, ok := recover().(*invariant.Violation); !ok {
				t.Errorf("%s: not caught", name)
			}
		}()
		misuse()
	}
	tab, err := New(State{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	prepare := func() *Prepared {
		m := tablet.NewMutation([]byte("r"))
		m.Put(nil, nil, nil, nil)
		p, _ := tab.Prepare([]*tablet.Mutation{m}, 1)
		return p
	}
	f("commit twice", func() { p := prepare(); tab.Commit(p); tab.Commit(p) })
	f("abort after commit", func() { p := prepare(); tab.Commit(p); tab.Abort(p) })
	f("retain after release", func() { v := tab.View(); tab.Close(); v.Release(); v.Retain() })
	f("release twice", func() {
		tab, _ := New(State{}, Options{})
		v := tab.View()
		v.Release()
		v.Release() // the tablet's own hold
		v.Release()
	})
}

// TestReplay: what the log held is in memory, and time goes on behind it.
func TestReplay(t *testing.T) {
	tab, err := New(State{Time: 5, Session: 7}, Options{Time: Logical})
	if err != nil {
		t.Fatal(err)
	}
	var ms []*tablet.Mutation
	for range 3 {
		m := tablet.NewMutation([]byte("r"))
		m.Put(nil, nil, nil, nil)
		ms = append(ms, m)
	}
	tab.Replay(ms, 10, 1)
	p, _ := tab.Prepare(ms[:1], 0)
	if active, frozen := tab.MemoryEntries(); tab.Time() != 13 || p.Timestamp != 13 || active != 3 || frozen != 0 || p.Session != 7 {
		t.Errorf("time %d, next timestamp %d, %d entries, session %d", tab.Time(), p.Timestamp, active, p.Session)
	}
	tab.RaiseTime(20)
	tab.RaiseTime(15)
	if tab.Time() != 20 {
		t.Errorf("time %d after it was raised to 20", tab.Time())
	}
}
