package actors_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// everyVersion shows an entry that was put in twice.
var everyVersion = map[string]string{
	"table.file.compress.type":                 "none",
	"table.iterator.scan.vers.opt.maxVersions": "9",
	"table.iterator.minc.vers.opt.maxVersions": "9",
	"table.iterator.majc.vers.opt.maxVersions": "9",
	"table.split.threshold":                    "1G",
}

// longLog is a store whose log holds far more than an opening with little memory may keep, in one session of each tablet,
// and the entries of it. Some are in files already.
func longLog(t *testing.T, entries int) (*vfs.MemFS, []string) {
	t.Helper()
	fs := vfs.Mem()
	s := openStore(t, fs)
	mustCreate(t, s, [][]byte{[]byte("3"), []byte("6")}, everyVersion)
	for i := range entries {
		m := tablet.NewMutation(fmt.Appendf(nil, "%d%03d", i*7%10, i%97))
		m.Put([]byte("f"), nil, nil, fmt.Appendf(nil, "%0200d", i))
		mustApply(t, s, []*tablet.Mutation{m})
		if i == entries/10 {
			if err := s.Flush(t.Context(), "ci"); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := scanRows(t, s, actors.ScanOptions{})
	image := fs.Durable()
	closeStore(t, s)
	return image, all
}

const littleMemory = 40_000

var openedLittle = actors.WithProperties(map[string]string{"tserver.memory.maps.max": fmt.Sprint(littleMemory)})

// logLines is what was logged, by a store that may be logging.
type logLines struct {
	mu  sync.Mutex
	all []byte
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, p...)
	return len(p), nil
}

// written is all of it until now.
func (l *logLines) written() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.all)
}

// An opening takes no more memory than the store may, however long the log is; what it wrote on the way is like what
// flushes write.
func TestOpenKeepsToItsMemory(t *testing.T) {
	fs, all := longLog(t, 2000)
	for round := range 2 {
		var lines logLines
		s := openStore(t, fs, openedLittle, actors.WithLogger(slog.New(slog.NewJSONHandler(&lines, nil))))
		var line struct {
			Msg     string
			Entries int64
			Peak    int64 `json:"peak bytes"`
			Files   int
		}
		for l := range bytes.Lines(lines.written()) {
			if json.Unmarshal(l, &line) == nil && line.Msg == "log replayed" {
				break
			}
		}
		if most := int64(littleMemory + 2000); round == 0 && line.Entries != 1799 || line.Peak > most || round == 0 && line.Files < 15 {
			t.Errorf("opening %d: %+v, want at most %d bytes and many files", round, line, most)
		}
		if got := scanRows(t, s, actors.ScanOptions{}); !slices.Equal(got, all) {
			t.Fatalf("%d entries, want %d", len(got), len(all))
		}
		if _, err := s.Compact(t.Context(), "ci", actors.CompactOptions{}); err != nil {
			t.Fatal(err)
		}
		image := fs.Durable()
		closeStore(t, s)
		fs = image
	}
}

// A crash in the middle of such an opening, at whatever call, leaves a store that opens again, with each entry once.
func TestOpenKeepsToItsMemoryCrashes(t *testing.T) {
	fs, all := longLog(t, 300)
	var images []*vfs.MemFS
	take := func(e vfs.Event) {
		images = append(images, fs.Durable(), fs.Image(vfs.ImageOptions{Mode: vfs.ImageAll}), fs.Image(vfs.ImageOptions{Mode: vfs.ImageRandom, Seed: e.Number}))
	}
	opening := true
	s := openStore(t, vfs.Trace(fs, vfs.TraceOptions{Before: func(e vfs.Event) {
		if opening && e.Op != vfs.OpRead {
			take(e)
		}
	}}), openedLittle)
	opening = false
	closeStore(t, s)
	if len(images) < 100 {
		t.Errorf("only %d images", len(images))
	}
	for i, image := range images {
		if testing.Short() && i%5 != 0 {
			continue
		}
		s := openStore(t, image, openedLittle)
		if got := scanRows(t, s, actors.ScanOptions{}); !slices.Equal(got, all) {
			t.Fatalf("image %d of %d: %d entries, want %d", i, len(images), len(got), len(all))
		}
		closeStore(t, s)
	}
	t.Logf("%d images", len(images))
}
