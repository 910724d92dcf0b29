package actors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestStorePanicsAtEachMessage has each kind of actor panic at its k-th message of a history of writes, flushes,
// compactions, splits and changed properties. Whoever is told to try again does. In the end everything is there, also
// after a power cut; and the store does all of it once more.
func TestStorePanicsAtEachMessage(t *testing.T) {
	most := 80
	if testing.Short() || raceEnabled {
		most = 8
	}
	for _, victim := range []string{"/log.", "/manifest.", "/t.", "/bins.", "/sched.", "/files.", "/f.", "/c.", "/scans.", "/s."} {
		t.Run(victim, func(t *testing.T) {
			for k := range most {
				if killed := panicAt(t, victim, k); !killed || t.Failed() {
					t.Logf("%d messages", k)
					break
				}
			}
		})
	}
}

func panicAt(t *testing.T, victim string, k int) (killed bool) {
	fs := vfs.Mem()
	var rows []string
	runStore(t, fs, func(t *testing.T, s *actors.Store, kill *killer) {
		mustApply(t, s, []*tablet.Mutation{put("r")})
		rows = append(rows, "r")
		kill.mu.Lock()
		kill.target, kill.after = victim, k
		kill.mu.Unlock()
		when := fmt.Sprintf("%s at message %d", victim, k)
		rows = append(rows, storeHistory(t, s, 1, when)...)
		kill.mu.Lock()
		kill.target = ""
		killed = len(kill.killed) > 0
		kill.mu.Unlock()
		time.Sleep(time.Minute)
		rows = append(rows, storeHistory(t, s, 2, when)...)
		synctest.Wait()
		checkRows(t, s, rows)
		checkDir(t, s)
	})
	s := openStore(t, fs.Durable())
	checkRows(t, s, rows)
	closeStore(t, s)
	return killed
}

// storeHistory writes, flushes, splits, changes properties, compacts and reads, and tries again whatever fails. It returns
// the rows that are there afterwards.
func storeHistory(t *testing.T, s *actors.Store, round int, when string) (rows []string) {
	t.Helper()
	ctx := t.Context()
	try := func(what string, f func() error) {
		t.Helper()
		for i := 0; ; i++ {
			err := f()
			if err == nil {
				return
			}
			if i == 20 {
				t.Fatalf("%s: %s fails again and again: %v", when, what, err)
			}
			time.Sleep(time.Second)
		}
	}
	for i, row := range []string{"a", "m", "z"} {
		row = fmt.Sprintf("%s%d%d", row, round, i)
		try("write", func() error { return s.Apply(ctx, "ci", []*tablet.Mutation{put(row), put("9" + row)}) })
		rows = append(rows, row, "9"+row)
	}
	try("flush", func() error { return s.Flush(ctx, "ci") })
	try("split", func() error { return s.AddSplits(ctx, "ci", [][]byte{fmt.Appendf(nil, "m%d", round)}) })
	try("write", func() error { return s.Apply(ctx, "ci", []*tablet.Mutation{put(fmt.Sprint("n", round))}) })
	rows = append(rows, fmt.Sprint("n", round))
	try("properties", func() error { return s.SetProperties(ctx, "ci", map[string]string{"table.file.max": "10"}) })
	try("compact", func() error { _, err := s.Compact(ctx, "ci", actors.CompactOptions{}); return err })
	try("scan", func() error { return readAll(s) })
	return rows
}

// checkRows scans for exactly these rows.
func checkRows(t *testing.T, s *actors.Store, rows []string) {
	t.Helper()
	var got []string
	for _, r := range scanRows(t, s, actors.ScanOptions{}) {
		got = append(got, strings.Fields(r)[0])
	}
	want := slices.Sorted(slices.Values(rows))
	if !slices.Equal(got, want) {
		t.Errorf("rows are %v, want %v", got, want)
	}
}

// checkDir compares the directory with what the tablets name.
func checkDir(t *testing.T, s *actors.Store) {
	t.Helper()
	synctest.Wait() // until what is under way has ended: files go after those who read them have said so
	stats, err := s.Stats(t.Context(), "ci")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, st := range stats {
		for _, f := range st.Files {
			named[strings.TrimPrefix(f.Name, "data/")] = true
		}
	}
	names, err := s.FilesForTest()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if !named[n] {
			t.Errorf("%v: file %s is named by nothing", s.LeasesForTest(), n)
		}
		delete(named, n)
	}
	if len(named) > 0 {
		t.Errorf("files %v are named and not there", named)
	}
}
