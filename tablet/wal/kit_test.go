package wal

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// Flags of the tests that try many cases, to be given behind -args. Without -n they try a hundredth of what a full check
// wants.
var (
	seedFlag  = flag.Uint64("seed", 1, "seed of the tests that draw at random")
	casesFlag = flag.Int("n", 0, "number of cases to try; 0 is each test's default")
)

// cases is how many cases a test is to try, of which a full check wants so many.
func cases(full int) int {
	if *casesFlag > 0 {
		return *casesFlag
	}
	return max(1, full/100)
}

// fate is what became of an entry.
type fate uint8

const (
	inFlight fate = iota // appended, its commit has not returned
	acked                // acknowledged
	refused              // refused, and no void is durable: it may be there or not
	gone                 // refused for good, or not there after a crash: it never comes back
)

// logged is an entry and what is known of it.
type logged struct {
	id                   uint64 // 1 for the first, and so on; LSNs of entries that a crash took are used again
	lsn, tablet, session uint64
	level                tablet.Durability
	fate                 fate
}

// world is a log on a disk that can fail and crash, and what must be in it.
type world struct {
	t        failer
	mem      *vfs.MemFS
	disk     *vfs.FaultyFS
	opts     Options
	number   uint64
	log      *Log
	now      time.Time
	entries  []logged          // by id
	sessions map[uint64]uint64 // each tablet's
	filed    map[uint64]uint64 // what the manifest says
	report   Report            // of the last open
}

// failer is a *testing.T or a *rapid.T.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func newWorld(t failer, o Options) *world {
	t.Helper()
	w := &world{t: t, mem: vfs.Mem(), opts: o, sessions: map[uint64]uint64{}, filed: map[uint64]uint64{}, now: time.Unix(1000, 0)}
	for tablet := uint64(1); tablet <= 4; tablet++ {
		w.sessions[tablet], w.filed[tablet] = 1, 0
	}
	w.open()
	return w
}

// open replays and makes a log, on a disk without faults.
func (w *world) open() {
	w.t.Helper()
	w.disk = vfs.Faulty(w.mem)
	var present map[uint64]bool
	present, w.report = w.replay(w.mem)
	for i := range w.entries {
		e := &w.entries[i]
		if e.session <= w.filed[e.tablet] {
			continue
		}
		e.fate = gone
		if present[e.id] {
			e.fate, e.level = acked, tablet.DurabilitySync // it was seen: it must stay
		}
	}
	o := w.opts
	o.Recovered, o.Now = &w.report, w.now
	o.NextNumber = func() uint64 { w.number++; return w.number }
	var err error
	if w.log, err = New(w.disk, o); err != nil {
		w.t.Fatalf("open: %v", err)
	}
	if w.log.Refusal() != nil {
		w.t.Fatalf("open: %v", w.log.Refusal())
	}
}

// entry is the entry of an id: it can be told from all others, and nothing of it can be missing unseen.
func entry(id, tab, session uint64) *Entry {
	e := &Entry{Tablet: tab, Session: session, Timestamp: int64(id), Step: int64(id % 2)}
	for i := range 1 + id%3 {
		m := tablet.NewMutation(fmt.Appendf(nil, "row %d of tablet %d", i, tab))
		m.Put([]byte("id"), fmt.Append(nil, id), nil, []byte(strings.Repeat("v", int(id*7%50))))
		m.Delete(fmt.Append(nil, session), nil, []byte("a&b"))
		e.Mutations = append(e.Mutations, m)
	}
	return e
}

// same says whether an entry is what entry made.
func same(got *Entry) bool {
	want := entry(uint64(got.Timestamp), got.Tablet, got.Session)
	want.LSN = got.LSN
	return slices.Equal(appendEntry(nil, got), appendEntry(nil, want))
}

func (w *world) append(tab uint64, level tablet.Durability) {
	w.t.Helper()
	session := w.sessions[tab]
	e := entry(uint64(len(w.entries))+1, tab, session)
	err := w.log.Append(e, level)
	var busy *RefusedError
	if err != nil {
		if !errors.As(err, &busy) || !errors.Is(err, tablet.ErrBusy) || w.log.Refusal() == nil {
			w.t.Fatalf("append: %v", err)
		}
		return
	}
	l := logged{id: uint64(len(w.entries)) + 1, lsn: e.LSN, tablet: tab, session: session, level: level}
	if level == tablet.DurabilityLog {
		l.fate = acked
	}
	w.entries = append(w.entries, l)
}

// turn makes what has one fate have another.
func (w *world) turn(from, to fate) {
	for i := range w.entries {
		if w.entries[i].fate == from {
			w.entries[i].fate = to
		}
	}
}

func (w *world) commit() error {
	err := w.log.Commit(w.now)
	if err != nil {
		w.turn(inFlight, refused)
		return err
	}
	w.turn(inFlight, acked)
	return nil
}

func (w *world) heal() error {
	err := w.log.Heal(w.now)
	if err == nil {
		w.turn(refused, gone)
	}
	return err
}

// flush moves a tablet's memtable into a file that the manifest names.
func (w *world) flush(tab uint64) {
	for _, e := range w.entries {
		if e.tablet == tab && e.fate == inFlight {
			return // a flush waits for what is prepared
		}
	}
	w.filed[tab] = w.sessions[tab]
	w.sessions[tab] += 2
	w.log.Flushed(tab, w.filed[tab])
}

// replay reads the log on a disk and checks each entry.
func (w *world) replay(fsys vfs.FS) (present map[uint64]bool, r Report) {
	w.t.Helper()
	present, r, err := w.tryReplay(fsys)
	if err != nil {
		w.t.Fatalf("replay: %v", err)
	}
	return present, r
}

func (w *world) tryReplay(fsys vfs.FS) (present map[uint64]bool, r Report, err error) {
	w.t.Helper()
	segments, err := List(fsys)
	if err != nil {
		w.t.Fatalf("list: %v", err)
	}
	present = map[uint64]bool{}
	last := uint64(0)
	from := func(tab uint64) (uint64, bool) { s, ok := w.filed[tab]; return s, ok }
	r, err = Replay(context.Background(), fsys, segments, from, func(e *Entry) error {
		if e.LSN <= last {
			w.t.Fatalf("entry %d follows %d", e.LSN, last)
		}
		last = e.LSN
		id := uint64(e.Timestamp)
		if id == 0 || id > uint64(len(w.entries)) || !same(e) {
			w.t.Fatalf("entry %d of tablet %d in session %d was never logged like that", e.LSN, e.Tablet, e.Session)
		}
		if l := w.entries[id-1]; l.lsn != e.LSN || l.tablet != e.Tablet || l.session != e.Session || present[id] {
			w.t.Fatalf("entry %d of tablet %d in session %d was logged as %+v", e.LSN, e.Tablet, e.Session, l)
		}
		present[id] = true
		return nil
	})
	return present, r, err
}

// check replays an image of a crash and holds it against what must be there.
func (w *world) check(image vfs.FS, least tablet.Durability) {
	w.t.Helper()
	present, r := w.replay(image)
	w.holds(present, least)
	for _, e := range w.entries {
		if present[e.id] && r.NextLSN <= e.lsn {
			w.t.Fatalf("next LSN is %d, %d was seen", r.NextLSN, e.lsn)
		}
	}
}

// holds checks what is present after a crash that entries acknowledged at a level outlive.
func (w *world) holds(present map[uint64]bool, least tablet.Durability) {
	w.t.Helper()
	lost := uint64(0) // first entry that could be there and is not
	for _, e := range w.entries {
		switch {
		case e.session <= w.filed[e.tablet]:
			if present[e.id] {
				w.t.Fatalf("entry %d of a session in files is given", e.id)
			}
		case e.fate == gone:
			if present[e.id] {
				w.t.Fatalf("entry %d came back", e.id)
			}
		case e.fate == refused:
		case present[e.id] && lost != 0:
			w.t.Fatalf("entry %d is there and %d before it is not", e.id, lost)
		case !present[e.id]:
			if e.fate == acked && e.level >= least {
				w.t.Fatalf("entry %d is lost, acknowledged at %v", e.id, e.level)
			}
			lost = e.id
		}
	}
}

// levels are those that an entry is logged at.
var levels = []tablet.Durability{tablet.DurabilityLog, tablet.DurabilityFlush, tablet.DurabilitySync}

// outlives is the least level whose entries a crash must leave.
func outlives(mode vfs.ImageMode) tablet.Durability {
	if mode == vfs.ImageAll {
		return tablet.DurabilityFlush
	}
	return tablet.DurabilitySync
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
