package actors

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"millrace/internal/nearest"
	"millrace/tablet"
	"millrace/tablet/hosted"
)

// TableSettings are a table's properties, understood. They are plain values; ParseTable makes them.
type TableSettings struct {
	Ratio           float64 // table.compaction.major.ratio
	FileMax         int     // table.file.max; 0: as many as a scan may open, less one
	FilePause       int     // table.file.pause: with more files than that flushes wait for a compaction; 0: never
	Codec           string  // table.file.compress.type
	BlockBytes      int     // table.file.compress.blocksize
	IndexBlockBytes int     // table.file.compress.blocksize.index
	ScanBytes       int64   // table.scan.max.memory
	KeyBytesMax     int     // table.key.size.max, which Accumulo does not have
	Durability      tablet.Durability
	Time            hosted.TimeType // table.time.type, which Accumulo is told when a table is made; it stays
	MinorIdle       time.Duration   // table.compaction.minor.idle; 0: never
	Groups          []LocalityGroup
	Iterators       IteratorSettings
}

// LocalityGroup names families that are stored together.
type LocalityGroup struct {
	Name     string
	Families [][]byte
}

// ServerSettings are the properties that hold for a whole store.
type ServerSettings struct {
	MajorMax      int           // tserver.compaction.major.concurrent.max
	MajorOpenMax  int           // tserver.compaction.major.thread.files.open.max: inputs of one job
	MinorMax      int           // tserver.compaction.minor.concurrent.max
	MemoryBytes   int64         // tserver.memory.maps.max: all memtables together
	QueueBytes    int64         // tserver.total.mutation.queue.max: mutations on their way to memtables
	ScanFilesMax  int           // tserver.scan.files.open.max
	SessionIdle   time.Duration // tserver.session.idle.max
	LogBytes      int64         // tserver.wal.max.size: of a segment
	LogAge        time.Duration // tserver.wal.max.age: of a segment
	LogReferenced int           // tserver.wal.max.referenced: segments that a tablet may keep
	HoldMax       time.Duration // tserver.hold.time.max: writers wait for memory no longer; 0: for ever
}

// property is one name with its default and what it sets.
type property[S any] struct {
	name, value string
	set         func(s *S, value string) error
}

var tableProperties = []property[TableSettings]{
	{"table.compaction.major.ratio", "3", func(s *TableSettings, v string) (err error) {
		s.Ratio, err = parseNumber(v, 1)
		return err
	}},
	{"table.file.max", "15", func(s *TableSettings, v string) error { return parseCount(&s.FileMax, v, 0) }},
	{"table.file.pause", "100", func(s *TableSettings, v string) error { return parseCount(&s.FilePause, v, 0) }},
	{"table.file.compress.type", "gz", func(s *TableSettings, v string) error { return parseCodec(&s.Codec, v) }},
	{"table.file.compress.blocksize", "100K", func(s *TableSettings, v string) error { return parseBlock(&s.BlockBytes, v) }},
	{"table.file.compress.blocksize.index", "128K", func(s *TableSettings, v string) error { return parseBlock(&s.IndexBlockBytes, v) }},
	{"table.scan.max.memory", "512K", func(s *TableSettings, v string) (err error) {
		s.ScanBytes, err = parseBytes(v, 0)
		return err
	}},
	{"table.key.size.max", "1M", func(s *TableSettings, v string) error { return parseBlock(&s.KeyBytesMax, v) }},
	{"table.durability", "sync", func(s *TableSettings, v string) (err error) {
		s.Durability, err = tablet.ParseDurability(v)
		return err
	}},
	{timeType, "millis", func(s *TableSettings, v string) error { return parseTime(&s.Time, v) }},
	{"table.compaction.minor.idle", "5m", func(s *TableSettings, v string) (err error) {
		s.MinorIdle, err = parseDuration(v)
		return err
	}},
	// Nothing is split by size here, so any threshold holds.
	{"table.split.threshold", "1G", func(_ *TableSettings, v string) error { _, err := parseBytes(v, 0); return err }},
	{"table.groups.enabled", "", func(*TableSettings, string) error { return nil }}, // see parseGroups
}

var serverProperties = []property[ServerSettings]{
	{"tserver.compaction.major.concurrent.max", "3", func(s *ServerSettings, v string) error { return parseCount(&s.MajorMax, v, 1) }},
	{"tserver.compaction.major.thread.files.open.max", "10", func(s *ServerSettings, v string) error { return parseCount(&s.MajorOpenMax, v, 2) }},
	{"tserver.compaction.minor.concurrent.max", "4", func(s *ServerSettings, v string) error { return parseCount(&s.MinorMax, v, 1) }},
	{"tserver.memory.maps.max", "33%", nil},
	{"tserver.total.mutation.queue.max", "5%", nil},
	{"tserver.scan.files.open.max", "100", func(s *ServerSettings, v string) error { return parseCount(&s.ScanFilesMax, v, 2) }},
	{"tserver.session.idle.max", "1m", func(s *ServerSettings, v string) (err error) {
		s.SessionIdle, err = parseDuration(v)
		return err
	}},
	{"tserver.wal.max.size", "1G", func(s *ServerSettings, v string) (err error) {
		if s.LogBytes, err = parseBytes(v, 0); err == nil && s.LogBytes < 1 {
			err = fmt.Errorf("%q is no size for a segment: %w", v, tablet.ErrUsage)
		}
		return err
	}},
	{"tserver.wal.max.age", "24h", func(s *ServerSettings, v string) (err error) {
		s.LogAge, err = parseDuration(v)
		return err
	}},
	{"tserver.wal.max.referenced", "3", func(s *ServerSettings, v string) error { return parseCount(&s.LogReferenced, v, 1) }},
	{"tserver.hold.time.max", "5m", func(s *ServerSettings, v string) (err error) {
		s.HoldMax, err = parseDuration(v)
		return err
	}},
}

// DefaultMemoryLimit is the base of percentages when none is given.
const DefaultMemoryLimit = 1 << 30

// ParseServer understands the properties of a store. Missing ones take Accumulo's defaults; percentages are of
// memoryLimit bytes. An unknown name is an error that names the nearest known one; all errors wrap tablet.ErrUsage.
func ParseServer(properties map[string]string, memoryLimit int64) (ServerSettings, error) {
	if memoryLimit <= 0 {
		memoryLimit = DefaultMemoryLimit
	}
	memory := map[string]func(*ServerSettings) *int64{
		"tserver.memory.maps.max":          func(s *ServerSettings) *int64 { return &s.MemoryBytes },
		"tserver.total.mutation.queue.max": func(s *ServerSettings) *int64 { return &s.QueueBytes },
	}
	list := slices.Clone(serverProperties)
	for i := range list {
		if field, ok := memory[list[i].name]; ok {
			list[i].set = func(s *ServerSettings, v string) (err error) {
				if *field(s), err = parseBytes(v, memoryLimit); err == nil && *field(s) < 1 {
					err = fmt.Errorf("%q is no memory at all: %w", v, tablet.ErrUsage)
				}
				return err
			}
		}
	}
	var s ServerSettings
	rest, err := apply(&s, list, properties)
	if err != nil {
		return s, err
	}
	return s, unknown(rest, names(list))
}

// ParseTable understands the properties of a table: as ParseServer.
func ParseTable(properties map[string]string) (TableSettings, error) {
	var s TableSettings
	rest, err := apply(&s, tableProperties, properties)
	if err != nil {
		return s, err
	}
	if s.Groups, rest, err = parseGroups(properties["table.groups.enabled"], rest); err != nil {
		return s, err
	}
	if s.Iterators, rest, err = parseIterators(rest); err != nil {
		return s, err
	}
	return s, unknown(rest, append(names(tableProperties), "table.group.NAME",
		"table.iterator.scan.NAME", "table.iterator.minc.NAME", "table.iterator.majc.NAME"))
}

// apply sets what the list knows, in its order, and returns what it does not.
func apply[S any](s *S, list []property[S], given map[string]string) (rest map[string]string, err error) {
	rest = maps.Clone(given)
	for _, p := range list {
		v, ok := given[p.name]
		if !ok {
			v = p.value
		}
		if err := p.set(s, v); err != nil {
			return nil, fmt.Errorf("property %s: %w", p.name, err)
		}
		delete(rest, p.name)
	}
	return rest, nil
}

func names[S any](list []property[S]) []string {
	var n []string
	for _, p := range list {
		n = append(n, p.name)
	}
	return n
}

// unknown is the error for properties that nobody took.
func unknown(rest map[string]string, known []string) error {
	if len(rest) == 0 {
		return nil
	}
	name := slices.Min(slices.Collect(maps.Keys(rest)))
	return fmt.Errorf("unknown property %q; the nearest known name is %s: %w", name, nearest.Name(name, known), tablet.ErrUsage)
}

// parseGroups takes table.group.NAME for each enabled group.
func parseGroups(enabled string, rest map[string]string) ([]LocalityGroup, map[string]string, error) {
	var groups []LocalityGroup
	owner := map[string]string{}
	for name := range strings.SplitSeq(enabled, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		key := "table.group." + name
		families, ok := rest[key]
		if !ok {
			return nil, nil, fmt.Errorf("property table.groups.enabled: group %q has no property %s: %w", name, key, tablet.ErrUsage)
		}
		delete(rest, key)
		g := LocalityGroup{Name: name}
		for f := range strings.SplitSeq(families, ",") {
			if other, taken := owner[f]; taken {
				return nil, nil, fmt.Errorf("property %s: family %q is in group %q already: %w", key, f, other, tablet.ErrUsage)
			}
			owner[f] = name
			g.Families = append(g.Families, []byte(f))
		}
		groups = append(groups, g)
	}
	for key := range rest { // of groups that are not enabled
		if strings.HasPrefix(key, "table.group.") {
			delete(rest, key)
		}
	}
	return groups, rest, nil
}

// timeType is the one property that a table keeps for life.
const timeType = "table.time.type"

func parseTime(dst *hosted.TimeType, v string) error {
	switch v {
	case "millis":
		*dst = hosted.Millis
	case "logical":
		*dst = hosted.Logical
	default:
		return fmt.Errorf("%q is neither millis nor logical: %w", v, tablet.ErrUsage)
	}
	return nil
}

func parseNumber(v string, least float64) (float64, error) {
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || !(f >= least) {
		return 0, fmt.Errorf("%q is not a number of at least %v: %w", v, least, tablet.ErrUsage)
	}
	return f, nil
}

func parseCount(dst *int, v string, least int) error {
	n, err := strconv.Atoi(v)
	if err != nil || n < least {
		return fmt.Errorf("%q is not a whole number of at least %d: %w", v, least, tablet.ErrUsage)
	}
	*dst = n
	return nil
}

func parseBlock(dst *int, v string) error {
	n, err := parseBytes(v, 0)
	if err == nil && (n < 1 || n > 1<<30) {
		err = fmt.Errorf("%q is not between 1B and 1G: %w", v, tablet.ErrUsage)
	}
	*dst = int(n)
	return err
}
