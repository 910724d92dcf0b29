package actors

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"millrace/tablet"
	"millrace/tablet/iter"
)

func TestParseBytes(t *testing.T) {
	f := func(in string, want int64) {
		t.Helper()
		if got, err := parseBytes(in, 1000); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", in, got, err, want)
		}
	}
	f("17", 17)
	f("17B", 17)
	f("100K", 102400)
	f("32m", 32<<20)
	f("1G", 1<<30)
	f("33%", 330)
	f("0.5%", 5)
	for _, bad := range []string{"", "K", "-1", "1.5M", "1T", "101%", "0%", "x%", "9999999999G"} {
		if v, err := parseBytes(bad, 1000); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%q is taken as %d, %v", bad, v, err)
		}
	}
	if _, err := parseBytes("5%", 0); !errors.Is(err, tablet.ErrUsage) {
		t.Errorf("a percentage of nothing: %v", err)
	}
}

func TestParseDuration(t *testing.T) {
	f := func(in string, want time.Duration) {
		t.Helper()
		if got, err := parseDuration(in); err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", in, got, err, want)
		}
	}
	f("250ms", 250*time.Millisecond)
	f("30s", 30*time.Second)
	f("30", 30*time.Second)
	f("5m", 5*time.Minute)
	f("1h", time.Hour)
	f("2d", 48*time.Hour)
	for _, bad := range []string{"", "s", "-1s", "1.5s", "1w", "999999999999d"} {
		if v, err := parseDuration(bad); !errors.Is(err, tablet.ErrUsage) {
			t.Errorf("%q is taken as %v, %v", bad, v, err)
		}
	}
}

func TestDefaults(t *testing.T) {
	s, err := ParseTable(nil)
	if err != nil {
		t.Fatal(err)
	}
	one := StackSettings{MaxVersions: 1, Iterators: []iter.Setting{}}
	want := TableSettings{Ratio: 3, FileMax: 15, FilePause: 100, Codec: "gz", BlockBytes: 100 << 10, IndexBlockBytes: 128 << 10,
		ScanBytes: 512 << 10, KeyBytesMax: 1 << 20, Durability: tablet.DurabilitySync, MinorIdle: 5 * time.Minute, Iterators: IteratorSettings{one, one, one}}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("table defaults\n%+v, want\n%+v", s, want)
	}
	srv, err := ParseServer(nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	wantServer := ServerSettings{MajorMax: 3, MajorOpenMax: 10, MinorMax: 4, MemoryBytes: 330, QueueBytes: 50, ScanFilesMax: 100, SessionIdle: time.Minute,
		LogBytes: 1 << 30, LogAge: 24 * time.Hour, LogReferenced: 3, HoldMax: 5 * time.Minute}
	if srv != wantServer {
		t.Errorf("server defaults %+v, want %+v", srv, wantServer)
	}
}

func TestParseTable(t *testing.T) {
	s, err := ParseTable(map[string]string{
		"table.compaction.major.ratio": "1.5",
		"table.file.max":               "0",
		"table.file.compress.type":     "none",
		"table.groups.enabled":         "a, b",
		"table.group.a":                "f1,f2",
		"table.group.b":                "f3",
		"table.group.off":              "f9",
		"table.iterator.scan.vers":     "20,org.apache.accumulo.core.iterators.user.VersioningIterator",
		// Options of the default are kept where nothing else is said.
		"table.iterator.majc.vers.opt.maxVersions": "3",
		"table.iterator.minc.vers":                 "",
		"table.iterator.minc.sum":                  "10,SummingCombiner",
		"table.iterator.minc.sum.opt.all":          "true",
		"table.iterator.majc.sum":                  "10,SummingCombiner",
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.Ratio != 1.5 || s.FileMax != 0 || s.Codec != "none" || len(s.Groups) != 2 || string(s.Groups[0].Families[1]) != "f2" {
		t.Errorf("%+v", s)
	}
	sum := iter.Setting{Name: "sum", Class: "SummingCombiner", Priority: 10}
	sumAll := sum
	sumAll.Options = map[string]string{"all": "true"}
	want := IteratorSettings{
		Scan:  StackSettings{MaxVersions: 1, Iterators: []iter.Setting{}},
		Minor: StackSettings{Iterators: []iter.Setting{sumAll}},
		// Versioning above another iterator cannot run in the system's pass.
		Major: StackSettings{Iterators: []iter.Setting{sum, {Name: "vers", Class: "VersioningIterator", Priority: 20, Options: map[string]string{"maxVersions": "3"}}}},
	}
	if !reflect.DeepEqual(s.Iterators, want) {
		t.Errorf("iterators\n%+v, want\n%+v", s.Iterators, want)
	}
}

func TestPropertiesAreRefused(t *testing.T) {
	f := func(name, value, want string) {
		t.Helper()
		_, err := ParseTable(map[string]string{name: value})
		if strings.HasPrefix(name, "tserver.") {
			_, err = ParseServer(map[string]string{name: value}, 0)
		}
		if !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s=%s: %v, want an error with %q", name, value, err, want)
		}
	}
	f("table.compaction.major.ration", "3", "nearest known name is table.compaction.major.ratio")
	f("tserver.compaction.major.concurent.max", "3", "nearest known name is tserver.compaction.major.concurrent.max")
	f("table.compaction.major.ratio", "0.5", "table.compaction.major.ratio")
	f("table.compaction.major.ratio", "NaN", "table.compaction.major.ratio")
	f("table.file.compress.type", "gzip", "nearest known name is gz")
	f("table.file.compress.blocksize", "0", "between 1B and 1G")
	f("table.groups.enabled", "a", "no property table.group.a")
	f("table.iterator.scan.x", "20,no.such.Summing", "nearest known one is")
	f("table.iterator.scan.x", "SummingCombiner", "PRIORITY,CLASS")
	f("table.iterator.scan.x.opt.y", "1", "which is not set")
	f("table.iterator.scan.vers.opt.maxVersions", "0", "maxVersions")
	f("table.iterator.scam.x", "20,SummingCombiner", "table.iterator.scan.NAME")
	f("table.durability", "snyc", "sync")
	f("table.time.type", "logic", "neither millis nor logical")
	f("table.key.size.max", "0", "between 1B and 1G")
	f("tserver.wal.max.size", "0", "no size for a segment")
	f("tserver.wal.max.referenced", "0", "at least 1")
	f("tserver.hold.time.max", "soon", "is not a time")
	f("tserver.memory.maps.max", "0", "no memory")
	f("tserver.compaction.major.concurrent.max", "0", "at least 1")
}
