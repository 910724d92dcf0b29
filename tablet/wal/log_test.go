package wal

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"
	"testing"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
)

func TestRoundTrip(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 2000})
	for i := range uint64(60) {
		w.append(1+i%4, levels[i%3])
		if i%5 == 4 {
			must(t, w.commit())
		}
		if i%20 == 19 {
			w.flush(1 + i%4)
		}
	}
	must(t, w.log.Close(w.now))
	present, r := w.replay(w.mem)
	if len(present) != int(r.Entries) || r.Entries+r.Filed != 60 || r.Filed == 0 || r.NextLSN != 61 || r.Torn() != 0 || r.Unsynced() != 0 {
		t.Errorf("%d entries, report %+v", len(present), r)
	}
	if want := []TabletSession{{1, 1}, {2, 1}, {3, 1}, {4, 5}}; !slices.Equal(r.Sessions, want) {
		t.Errorf("sessions %v, want %v", r.Sessions, want)
	}
	for _, s := range r.Segments {
		if !s.Sealed || s.End != s.Bytes {
			t.Errorf("segment %+v", s)
		}
	}
	if len(r.Segments) < 3 {
		t.Errorf("%d segments", len(r.Segments))
	}
}

// TestEntryExtremes: every number that an entry can hold comes back.
func TestEntryExtremes(t *testing.T) {
	mem := vfs.Mem()
	log, err := New(mem, Options{NextNumber: func() uint64 { return 9 }, NextLSN: 1 << 62})
	must(t, err)
	m := tablet.NewMutation(nil)
	m.Add(tablet.Update{Timestamp: math.MinInt64, HasTimestamp: true})
	in := []*Entry{
		{Tablet: math.MaxUint64, Session: math.MaxUint64, Timestamp: math.MinInt64, Step: math.MaxInt64, Mutations: []*tablet.Mutation{m, m}},
		{Timestamp: math.MaxInt64, Step: -1, Session: 1},
	}
	for _, e := range in {
		must(t, log.Append(e, tablet.DurabilitySync))
	}
	must(t, log.Commit(time.Time{}))
	var out []*Entry
	_, err = Replay(context.Background(), mem, []uint64{9}, func(uint64) (uint64, bool) { return 0, true },
		func(e *Entry) error { out = append(out, e); return nil })
	must(t, err)
	for i, e := range in {
		if !slices.Equal(appendEntry(nil, e), appendEntry(nil, out[i])) || e.LSN != 1<<62+uint64(i) {
			t.Errorf("%+v came back as %+v", e, out[i])
		}
	}
}

// TestOneWriteOneSync: a group costs one write and at most one sync, whatever it holds; a new segment one of its
// directory besides.
func TestOneWriteOneSync(t *testing.T) {
	w := newWorld(t, Options{})
	f := func(entries int, level tablet.Durability, writes, syncs, dirs int) {
		t.Helper()
		before := [3]int{w.disk.Calls(vfs.OpWrite), w.disk.Calls(vfs.OpSync), w.disk.Calls(vfs.OpSyncDir)}
		for range entries {
			w.append(1, level)
		}
		must(t, w.commit())
		got := [3]int{w.disk.Calls(vfs.OpWrite) - before[0], w.disk.Calls(vfs.OpSync) - before[1], w.disk.Calls(vfs.OpSyncDir) - before[2]}
		if got != [3]int{writes, syncs, dirs} {
			t.Errorf("%d entries at %v: %d writes, %d syncs, %d of the directory", entries, level, got[0], got[1], got[2])
		}
	}
	f(3, tablet.DurabilityFlush, 1, 1, 1) // a new segment
	f(100, tablet.DurabilitySync, 1, 1, 0)
	f(100, tablet.DurabilityFlush, 1, 0, 0)
	f(100, tablet.DurabilityLog, 1, 0, 0)
	f(0, tablet.DurabilityLog, 0, 0, 0)
	w.append(1, tablet.DurabilityLog)
	f(1, tablet.DurabilitySync, 1, 1, 0)
	if s := w.log.Stats(); s.Unsynced != 0 || s.Buffered != 0 || s.Segments != 1 {
		t.Errorf("%+v", s)
	}
}

// TestLevelLogWaitsForNothing: at level log nothing is written before a commit, and the bytes kept are bounded.
func TestLevelLogWaitsForNothing(t *testing.T) {
	w := newWorld(t, Options{MaxUnsynced: 5000})
	calls := w.disk.Calls(vfs.OpAny)
	w.append(1, tablet.DurabilityLog)
	if w.disk.Calls(vfs.OpAny) != calls || w.log.Stats().Buffered == 0 {
		t.Error("an append touches the disk")
	}
	most := 0
	for range 500 {
		w.append(1, tablet.DurabilityLog)
		must(t, w.commit())
		most = max(most, w.log.Stats().Unsynced)
	}
	if syncs := w.disk.Calls(vfs.OpSync); most > 5000 || syncs < 5 || syncs > 50 {
		t.Errorf("%d bytes kept, %d syncs", most, syncs)
	}
	w.everyImage()
}

func TestAppendRefuses(t *testing.T) {
	w := newWorld(t, Options{})
	for _, level := range []tablet.Durability{tablet.DurabilityDefault, tablet.DurabilityNone, 9} {
		if err := w.log.Append(entry(1, 1, 1), level); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("level %v: %v", level, err)
		}
	}
	must(t, w.log.Close(w.now))
	must(t, w.log.Close(w.now))
	for _, err := range []error{w.log.Append(entry(1, 1, 1), tablet.DurabilitySync), w.log.Commit(w.now), w.log.Heal(w.now)} {
		if !errors.Is(err, tablet.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	}
	if names, _ := w.mem.List(Dir); len(names) > 0 {
		t.Errorf("a log without entries leaves %v", names)
	}
	number := func() uint64 { return 1 }
	for _, o := range []Options{{}, {NextNumber: number, MaxBytes: -1}, {NextNumber: number, MaxAge: -1},
		{NextNumber: number, MaxUnsynced: -1}, {NextNumber: number, MaxReferenced: -1}} {
		if _, err := New(vfs.Mem(), o); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestRolls: a segment ends when it is full, and when it is old, be there something to write or not.
func TestRolls(t *testing.T) {
	w := newWorld(t, Options{MaxBytes: 1000, MaxAge: time.Hour})
	segments := func() int { n, _ := List(w.mem); return len(n) }
	w.append(1, tablet.DurabilitySync)
	must(t, w.commit())
	w.now = w.now.Add(59 * time.Minute)
	w.append(1, tablet.DurabilitySync)
	must(t, w.commit())
	if segments() != 1 {
		t.Errorf("%d segments", segments())
	}
	w.now = w.now.Add(time.Minute)
	must(t, w.commit())
	w.flush(1)
	if removed, err := w.log.Trim(); err != nil || !slices.Equal(removed, []uint64{1}) || segments() != 0 {
		t.Errorf("an old segment that nobody needs: %v, %v, %d segments", removed, err, segments())
	}
	for segments() < 4 {
		size := w.log.Stats().SegmentBytes
		if size > 1000+400 {
			t.Fatalf("a segment of %d bytes", size)
		}
		w.append(2, tablet.DurabilitySync)
		must(t, w.commit())
	}
	w.everyImage()
}

// TestBegunAtOpen: a segment that is begun at open has the age of the first commit, if nobody said what time it was.
func TestBegunAtOpen(t *testing.T) {
	w := newWorld(t, Options{MaxAge: time.Hour})
	w.write(1)
	w.crash(vfs.ImageOptions{Mode: vfs.ImageAll})
	_, r := w.replay(w.mem)
	log, err := New(w.mem, Options{NextNumber: w.log.opts.NextNumber, Recovered: &r, MaxAge: time.Hour})
	must(t, err)
	for _, age := range []time.Duration{0, 59 * time.Minute, 61 * time.Minute} {
		must(t, log.Commit(w.now.Add(age)))
		if rolled := log.Stats().SegmentBytes == 0; rolled != (age > time.Hour) {
			t.Errorf("after %v: rolled is %v", age, rolled)
		}
	}
}

// TestNames: the names of segments, and what else lies in their directory.
func TestNames(t *testing.T) {
	f := func(name string, want uint64, ok bool) {
		t.Helper()
		if n, got := ParseName(name); n != want || got != ok {
			t.Errorf("%q is %d, %v", name, n, got)
		}
	}
	f("0000000012.wal", 12, true)
	f("18446744073709551615.wal", math.MaxUint64, true)
	f("18446744073709551616.wal", 0, false)
	f("12.wal", 0, false)
	f("0000000012.wal.tmp", 0, false)
	f("00000000012.wal", 0, false)
	f("+000000012.wal", 0, false)
	f(".wal", 0, false)
	f("", 0, false)
	mem := vfs.Mem()
	if n, err := List(mem); n != nil || err != nil {
		t.Errorf("without a directory: %v, %v", n, err)
	}
	must(t, mem.MkdirAll(Dir))
	for _, name := range []string{Name(2), Name(10), Name(1), Dir + "/notes", Dir + "/3.wal"} {
		file, err := mem.Create(name)
		must(t, err)
		file.Close()
	}
	if n, err := List(mem); err != nil || !slices.Equal(n, []uint64{1, 2, 10}) {
		t.Errorf("%v, %v", n, err)
	}
	if _, err := List(vfs.Faulty(mem, vfs.Rule{Op: vfs.OpList})); err == nil {
		t.Error("a directory that cannot be read has no segments")
	}
}

// TestYieldAndContext: the caller's error comes back as it is, and a context ends the replay.
func TestYieldAndContext(t *testing.T) {
	w := newWorld(t, Options{})
	w.append(1, tablet.DurabilitySync)
	must(t, w.commit())
	all := func(uint64) (uint64, bool) { return 0, true }
	_, err := Replay(context.Background(), w.mem, []uint64{1}, all, func(*Entry) error { return fs.ErrPermission })
	if !errors.Is(err, fs.ErrPermission) || errors.Is(err, tablet.ErrCorrupt) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Replay(ctx, w.mem, []uint64{1}, all, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Replay(context.Background(), w.mem, []uint64{2, 1}, all, nil); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("%v", err)
	}
	if _, err := Replay(context.Background(), w.mem, []uint64{5}, all, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// TestEntriesOwnTheirBytes: an entry given by a replay is the caller's.
func TestEntriesOwnTheirBytes(t *testing.T) {
	w := newWorld(t, Options{})
	for range 2000 { // more than one window of the reader
		w.append(1, tablet.DurabilityFlush)
	}
	must(t, w.commit())
	var all []*Entry
	_, err := Replay(context.Background(), w.mem, []uint64{1}, func(uint64) (uint64, bool) { return 0, true },
		func(e *Entry) error { all = append(all, e); return nil })
	must(t, err)
	for _, e := range all {
		if !same(e) {
			t.Fatalf("entry %d changed after it was given", e.LSN)
		}
	}
}
