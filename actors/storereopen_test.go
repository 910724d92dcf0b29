package actors_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

var plain = map[string]string{"table.file.compress.type": "none"}

func mustCreate(t *testing.T, s *actors.Store, splits [][]byte, properties map[string]string) {
	t.Helper()
	if err := s.CreateTable(t.Context(), "ci", splits, properties); err != nil {
		t.Fatal(err)
	}
}

func mustApply(t *testing.T, s *actors.Store, mutations []*tablet.Mutation, o ...actors.WriteOption) {
	t.Helper()
	if err := s.Apply(t.Context(), "ci", mutations, o...); err != nil {
		t.Fatal(err)
	}
}

// Whatever was acknowledged at sync is there after a power cut at the worst, whether it was flushed, compacted, split or
// only logged, and after a Close; and it goes on from there, again and again.
func TestStoreReopens(t *testing.T) {
	fs := vfs.Mem()
	m := newModel()
	s := openStore(t, fs)
	mustCreate(t, s, eighths, plain)
	step := func(what string, do func() error) {
		t.Helper()
		if err := do(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for round := range 6 {
		mustApply(t, s, m.mutations(300))
		step("flush", func() error { return s.Flush(t.Context(), "ci") })
		mustApply(t, s, m.mutations(300))
		switch round {
		case 1:
			step("compact", func() error { _, err := s.Compact(t.Context(), "ci", actors.CompactOptions{}); return err })
		case 2:
			step("split", func() error { return s.AddSplits(t.Context(), "ci", [][]byte{[]byte("3"), []byte("4"), []byte("b5")}) })
		}
		mustApply(t, s, m.mutations(300))
		m.check(t, s, fmt.Sprintf("round %d", round))
		image := fs.Durable()
		closeStore(t, s)
		if round%2 == 0 {
			image = fs.Durable()
		}
		fs = image
		s = openStore(t, fs)
		m.check(t, s, fmt.Sprintf("after reopening in round %d", round))
	}
	extents, err := s.Tablets("ci")
	if err != nil || len(extents) != 10 {
		t.Errorf("%d tablets, %v", len(extents), err)
	}
	names, err := s.Tables(t.Context())
	if p, err2 := s.Properties(t.Context(), "ci"); err != nil || err2 != nil || !slices.Equal(names, []string{"ci"}) || p["table.file.compress.type"] != "none" {
		t.Errorf("tables %v, properties %v, %v, %v", names, p, err, err2)
	}
	closeStore(t, s)
}

// Timestamps go on where they were, however the clock of the next run stands: also those that only the log knows.
func TestStoreKeepsItsTime(t *testing.T) {
	for _, kind := range []string{"millis", "logical"} {
		fs := vfs.Mem()
		for i := range 5 {
			s := openStore(t, fs)
			if i == 0 {
				mustCreate(t, s, nil, map[string]string{"table.time.type": kind})
			}
			for j := range 3 {
				mut := tablet.NewMutation([]byte("r"))
				mut.Put([]byte("f"), nil, nil, fmt.Appendf(nil, "%d.%d", i, j))
				mustApply(t, s, []*tablet.Mutation{mut})
				if got := strings.Join(scanRows(t, s, actors.ScanOptions{}), "; "); !strings.HasSuffix(got, fmt.Sprintf("= %d.%d", i, j)) {
					t.Errorf("%s: after write %d.%d a scan gives %s", kind, i, j, got)
				}
				if j == 1 && i%2 == 0 {
					if err := s.Flush(t.Context(), "ci"); err != nil {
						t.Fatal(err)
					}
				}
			}
			image := fs.Durable()
			closeStore(t, s)
			fs = image
		}
	}
}

// TestStoreDurability: each level keeps what it promises, tables and writes of all levels beside each other: sync after a
// power cut, flush after the end of the process; of log and none there is a beginning, and all that was flushed to files.
func TestStoreDurability(t *testing.T) {
	fs := vfs.Mem()
	s := openStore(t, fs)
	ctx := t.Context()
	levels := []string{"none", "log", "flush", "sync"}
	for i, level := range levels {
		p := map[string]string{"table.file.compress.type": "none", "table.durability": levels[3-i]}
		if err := s.CreateTable(ctx, level, nil, p); err != nil {
			t.Fatal(err)
		}
		if err := s.SetProperties(ctx, level, map[string]string{"table.durability": level}); err != nil { // while it runs
			t.Fatal(err)
		}
	}
	const each = 30
	write := func(from, to int) {
		for i := from; i < to; i++ {
			for _, level := range levels {
				if err := s.Apply(ctx, level, []*tablet.Mutation{put(fmt.Sprintf("%03d", i))}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	write(0, each)
	for _, level := range levels {
		if err := s.Flush(ctx, level); err != nil {
			t.Fatal(err)
		}
	}
	write(each, 2*each)
	// One write asks for more than its table does; what is before it in its tablet comes with it or not.
	if err := s.Apply(ctx, "none", []*tablet.Mutation{put("sync")}, actors.WithDurability(tablet.DurabilitySync)); err != nil {
		t.Fatal(err)
	}
	power, process := fs.Durable(), fs.Clone()
	closeStore(t, s)
	closed := fs.Durable()
	check := func(what string, image *vfs.MemFS, least map[string]int) {
		t.Helper()
		s := openStore(t, image)
		defer closeStore(t, s)
		for _, level := range levels {
			sc, err := s.Scan(ctx, level, actors.ScanOptions{})
			if err != nil {
				t.Fatal(err)
			}
			n, asked := 0, false
			for e, err := range sc.All() {
				if err != nil {
					t.Fatal(err)
				}
				switch row := string(e.Key.Row()); row {
				case "sync":
					asked = true
				case fmt.Sprintf("%03d", n):
					n++
				default:
					t.Errorf("%s, %s: row %s where %03d is due", what, level, row, n)
				}
			}
			sc.Close()
			if n < least[level] || asked != (level == "none") {
				t.Errorf("%s, %s: %d rows, at least %d were promised; the one at sync is there: %v", what, level, n, least[level], asked)
			}
		}
	}
	check("power cut", power, map[string]int{"none": each, "log": each, "flush": each, "sync": 2 * each})
	check("process crash", process, map[string]int{"none": each, "log": each, "flush": 2 * each, "sync": 2 * each})
	check("close", closed, map[string]int{"none": each, "log": 2 * each, "flush": 2 * each, "sync": 2 * each})
}
