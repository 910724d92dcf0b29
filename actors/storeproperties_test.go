package actors_test

import (
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// Every property that can change on a live table can, and back; what is wrong changes nothing; all are there after the
// next opening.
func TestSetEachProperty(t *testing.T) {
	fs := vfs.Mem()
	runStore(t, fs, func(t *testing.T, s *actors.Store, _ *killer) {
		want, err := s.Properties(t.Context(), "ci")
		if err != nil {
			t.Fatal(err)
		}
		f := func(name, good, bad string) {
			t.Helper()
			for _, value := range []string{good, "", good} {
				if err := s.SetProperties(t.Context(), "ci", map[string]string{name: value}); err != nil {
					t.Errorf("%s=%q: %v", name, value, err)
				}
				if want[name] = value; value == "" {
					delete(want, name)
				}
				if got, err := s.Properties(t.Context(), "ci"); err != nil || !maps.Equal(got, want) {
					t.Errorf("%s=%q: properties %v, %v", name, value, got, err)
				}
				mustApply(t, s, []*tablet.Mutation{put("1")})
				if err := s.Flush(t.Context(), "ci"); err != nil {
					t.Errorf("%s=%q: flush: %v", name, value, err)
				}
			}
			if err := s.SetProperties(t.Context(), "ci", map[string]string{name: bad}); !errors.Is(err, tablet.ErrUsage) {
				t.Errorf("%s=%q: %v", name, bad, err)
			}
			if got, err := s.Properties(t.Context(), "ci"); err != nil || !maps.Equal(got, want) {
				t.Errorf("%s=%q: properties %v, %v", name, bad, got, err)
			}
		}
		f("table.compaction.major.ratio", "2", "x")
		f("table.file.max", "7", "-1")
		f("table.file.pause", "20", "-1")
		f("table.file.compress.type", "lz4", "lzz")
		f("table.file.compress.blocksize", "10K", "0")
		f("table.file.compress.blocksize.index", "11K", "x")
		f("table.scan.max.memory", "100K", "x")
		f("table.key.size.max", "2K", "x")
		f("table.durability", "flush", "often")
		f("table.compaction.minor.idle", "1m", "x")
		f("table.split.threshold", "2G", "x")
		f("table.iterator.scan.vers.opt.maxVersions", "3", "0")
		if err := s.SetProperties(t.Context(), "ci", map[string]string{"table.group.g": "f", "table.groups.enabled": "g"}); err != nil {
			t.Error(err)
		}
		mustApply(t, s, []*tablet.Mutation{put("2")})
		if err := s.Flush(t.Context(), "ci"); err != nil {
			t.Error(err)
		}
		if err := s.SetProperties(t.Context(), "ci", map[string]string{"table.time.type": "logical"}); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("the type of time changed: %v", err)
		}
		want["table.group.g"], want["table.groups.enabled"] = "f", "g"
		closeStore(t, s)
		s = openStore(t, fs)
		if got, err := s.Properties(t.Context(), "ci"); err != nil || !maps.Equal(got, want) {
			t.Errorf("after opening: properties %v, %v", got, err)
		}
		closeStore(t, s)
	})
}

// What a property says holds from the return of SetProperties on.
func TestSetPropertiesTakesEffect(t *testing.T) {
	fs := vfs.Mem()
	runStore(t, fs, func(t *testing.T, s *actors.Store, _ *killer) {
		set := func(name, value string) {
			t.Helper()
			if err := s.SetProperties(t.Context(), "ci", map[string]string{name: value}); err != nil {
				t.Fatal(err)
			}
		}
		long := func() error {
			m := tablet.NewMutation(fmt.Appendf(nil, "2%0100d", 0))
			m.Put([]byte("f"), nil, nil, nil)
			return s.Apply(t.Context(), "ci", []*tablet.Mutation{m})
		}
		set("table.key.size.max", "50")
		if err := long(); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("a key of 102 bytes: %v", err)
		}
		set("table.key.size.max", "")
		if err := long(); err != nil {
			t.Error(err)
		}

		set("table.durability", "none")
		mustApply(t, s, []*tablet.Mutation{put("3")})
		lost := fs.Durable()
		set("table.durability", "sync")
		mustApply(t, s, []*tablet.Mutation{put("4")})
		kept := fs.Durable()
		rows := func(fs vfs.FS) int {
			o := openStore(t, fs)
			defer closeStore(t, o)
			return len(scanRows(t, o, actors.ScanOptions{}))
		}
		if l, k := rows(lost), rows(kept); l != 1 || k != 2 {
			t.Errorf("%d rows are left of one synced and one at none, %d with one more synced", l, k)
		}

		set("table.compaction.minor.idle", "10s")
		mustApply(t, s, []*tablet.Mutation{put("5")})
		time.Sleep(21 * time.Second)
		stats, err := s.Stats(t.Context(), "ci")
		if err != nil || stats[0].MemoryEntries > 0 {
			t.Errorf("%d entries in memory, %v", stats[0].MemoryEntries, err)
		}

		set("table.iterator.scan.vers.opt.maxVersions", "5")
		before := len(scanRows(t, s, actors.ScanOptions{}))
		time.Sleep(time.Second)
		mustApply(t, s, []*tablet.Mutation{put("5")})
		if after := len(scanRows(t, s, actors.ScanOptions{})); after != before+1 {
			t.Errorf("%d entries before a new version, %d after", before, after)
		}
	})
}
