package actors_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestStoreSplitsKeepTheOrder: mutations of one row that are on their way while its tablet is split, again and again, count
// in the order in which they were given, and each ends in exactly one tablet.
func TestStoreSplitsKeepTheOrder(t *testing.T) {
	fs := vfs.Mem()
	s := openStore(t, fs)
	// A counter for time, and all versions kept: the entries of a row tell the order in which they were applied.
	p := map[string]string{"table.file.compress.type": "none", "table.time.type": "logical"}
	for _, scope := range []string{"scan", "minc", "majc"} {
		p["table.iterator."+scope+".vers"] = ""
	}
	mustCreate(t, s, nil, p)
	const rows = 40
	splits := make(chan error)
	go func() {
		for i := range rows {
			if err := s.AddSplits(t.Context(), "ci", [][]byte{fmt.Appendf(nil, "%02d", (i*17)%rows)}); err != nil {
				splits <- err
				return
			}
		}
		splits <- nil
	}()
	var acks []*actors.Ack
	versions := 0
	for over := false; !over; versions++ {
		select {
		case err := <-splits:
			if err != nil {
				t.Fatal(err)
			}
			over = true
		default:
		}
		var batch []*tablet.Mutation
		for r := range rows {
			m := tablet.NewMutation(fmt.Appendf(nil, "%02d", r))
			m.Put([]byte("f"), nil, nil, fmt.Appendf(nil, "%05d", versions))
			batch = append(batch, m)
		}
		level := []tablet.Durability{tablet.DurabilityNone, tablet.DurabilitySync, tablet.DurabilityLog}[versions%3]
		ack, err := s.ApplyAsync(t.Context(), "ci", batch, actors.WithDurability(level))
		if err != nil {
			t.Fatal(err)
		}
		acks = append(acks, ack)
		if n := len(acks) - 30; n >= 0 { // so many are on their way
			if err := acks[n].Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, ack := range acks[max(len(acks)-29, 0):] {
		if err := ack.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	check := func() {
		t.Helper()
		seen := map[string]int{}
		sc, err := s.Scan(t.Context(), "ci", actors.ScanOptions{Versions: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer sc.Close()
		for e, err := range sc.All() {
			if err != nil {
				t.Fatal(err)
			}
			row := string(e.Key.Row())
			if want := fmt.Sprintf("%05d", versions-1-seen[row]); string(e.Value) != want { // the newest comes first
				t.Fatalf("version %d of row %s is %s, want %s", seen[row], row, e.Value, want)
			}
			seen[row]++
		}
		for row, n := range seen {
			if n != versions || len(seen) != rows {
				t.Errorf("%d versions of row %s, %d rows; want %d and %d", n, row, len(seen), versions, rows)
			}
		}
	}
	check()
	if extents, _ := s.Tablets("ci"); len(extents) != rows+1 {
		t.Errorf("%d tablets after %d splits", len(extents), rows)
	}
	closeStore(t, s)
	s = openStore(t, fs)
	if extents, _ := s.Tablets("ci"); len(extents) != rows+1 {
		t.Errorf("%d tablets after reopening", len(extents))
	}
	closeStore(t, s)
}

// A split at a row that is no place, or at one where the table is cut already, changes nothing; files that both halves
// have stay until neither needs them.
func TestStoreSplits(t *testing.T) {
	runStore(t, vfs.Mem(), func(t *testing.T, s *actors.Store, _ *killer) {
		mustApply(t, s, []*tablet.Mutation{put("1"), put("3"), put("5"), put("9")})
		split := func(tablets int, rows ...string) {
			t.Helper()
			var all [][]byte
			for _, r := range rows {
				all = append(all, []byte(r))
			}
			if err := s.AddSplits(t.Context(), "ci", all); err != nil {
				t.Fatal(err)
			}
			if extents, _ := s.Tablets("ci"); len(extents) != tablets {
				t.Errorf("%d tablets after a split at %v: %v", len(extents), rows, extents)
			}
			checkRows(t, s, []string{"1", "3", "5", "9"})
			checkDir(t, s)
		}
		split(2, "8")
		split(4, "4", "2")
		split(4, "2", "4", "8", "2")
		split(6, "45", "46") // of a tablet whose file holds nothing there
		if _, err := s.Compact(t.Context(), "ci", actors.CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		split(7, "47")
		if err := s.AddSplits(t.Context(), "no", nil); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("split of no table: %v", err)
		}
		if err := s.DeleteTable(t.Context(), "ci"); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), "ci", []*tablet.Mutation{put("1")}); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("write to a table that is no more: %v", err)
		}
		if err := s.CreateTable(t.Context(), "ci", nil, plain); err != nil {
			t.Error(err)
		}
		checkRows(t, s, nil)
		synctest.Wait() // until the files actor is done
		if names, err := s.FilesForTest(); err != nil || len(names) > 0 {
			t.Errorf("files of a deleted table are left: %v, %v", names, err)
		}
	})
}
