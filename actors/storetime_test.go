package actors_test

import (
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// TestAgeOffUsesTheStoresClock lets entries grow old: a scan no longer gives them, and a full compaction drops them.
func TestAgeOffUsesTheStoresClock(t *testing.T) {
	now := clock.NewManual(time.UnixMilli(1_000_000))
	s := openStore(t, vfs.Mem(), actors.WithClock(now))
	defer closeStore(t, s)
	properties := map[string]string{}
	for _, scope := range []string{"scan", "majc"} {
		properties["table.iterator."+scope+".age"] = "10,AgeOffFilter"
		properties["table.iterator."+scope+".age.opt.ttl"] = "5000"
	}
	if err := s.CreateTable(t.Context(), "t", nil, properties); err != nil {
		t.Fatal(err)
	}
	put := func(row string, ts int64) {
		t.Helper()
		m := tablet.NewMutation([]byte(row))
		m.Add(tablet.Update{Family: []byte("f"), Value: []byte("v"), Timestamp: ts, HasTimestamp: true})
		if err := s.Apply(t.Context(), "t", []*tablet.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int) {
		t.Helper()
		scanner, err := s.Scan(t.Context(), "t", actors.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer scanner.Close()
		n := 0
		for scanner.Next() {
			n++
		}
		if scanner.Err() != nil || n != want {
			t.Errorf("%d entries, %v; want %d", n, scanner.Err(), want)
		}
	}
	put("old", 996_000)
	put("new", 1_000_000)
	count(2)
	now.Advance(2 * time.Second)
	count(1)
	done, err := s.Compact(t.Context(), "t", actors.CompactOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if b := done[0].Books; b.Read != 2 || b.Written != 1 || b.Reduced != 1 {
		t.Errorf("%+v", b)
	}
	count(1)
}
