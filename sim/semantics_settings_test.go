package sim

import (
	"fmt"
	"maps"
	"strings"

	"millrace/actors"
	"millrace/compactor/plan"
	"millrace/tablet/iter"
)

// setting is one way to run a store that must make no difference to what it answers.
type setting struct {
	name     string
	schedule Schedule
	table    map[string]string
	server   map[string]string
	store    []actors.Option
	page     int // entries, 0 for a player's usual pages
}

func (s setting) String() string { return s.name }

// world and play are the options of a run under the setting.
func (s setting) world(seed uint64) Options {
	store := append([]actors.Option{}, s.store...)
	if s.server != nil {
		store = append(store, actors.WithProperties(s.server))
	}
	return Options{Seed: seed, Schedule: s.schedule, Store: store}
}

func (s setting) play() PlayOptions {
	properties := maps.Clone(QuietTable)
	maps.Copy(properties, s.table)
	return PlayOptions{Properties: properties, PageEntries: s.page}
}

// with changes one thing more.
func (s setting) with(o setting) setting {
	s.name = strings.TrimPrefix(s.name+", "+o.name, ", ")
	if o.schedule != (Schedule{}) {
		s.schedule = o.schedule
	}
	s.table, s.server = merged(s.table, o.table), merged(s.server, o.server)
	s.store = append(append([]actors.Option{}, s.store...), o.store...)
	if o.page != 0 {
		s.page = o.page
	}
	return s
}

func merged[K comparable, V any](a, b map[K]V) map[K]V {
	if len(a)+len(b) == 0 {
		return nil
	}
	m := maps.Clone(a)
	if m == nil {
		m = map[K]V{}
	}
	maps.Copy(m, b)
	return m
}

// busy has the planner compact whatever it can.
var busy = map[string]string{"table.compaction.major.ratio": "1", "table.file.max": "3"}

func tableSetting(key, value string) setting {
	return setting{name: strings.TrimPrefix(key, "table.") + "=" + value, table: map[string]string{key: value}}
}

func serverSetting(key, value string) setting {
	return setting{name: strings.TrimPrefix(key, "tserver.") + "=" + value, server: map[string]string{key: value}}
}

func modeSetting(m iter.Mode) setting {
	return setting{name: "merge " + m.String(), store: []actors.Option{actors.WithMergeMode(m)}}
}

func profileSetting(p plan.Profile) setting {
	return setting{name: "profile " + p.String(), store: []actors.Option{actors.WithProfile(p)}, table: busy}
}

func blockSetting(data, index int) setting {
	return setting{name: fmt.Sprintf("blocks of %d and %d bytes", data, index), table: map[string]string{
		"table.file.compress.blocksize": fmt.Sprintf("%dB", data), "table.file.compress.blocksize.index": fmt.Sprintf("%dB", index),
	}}
}

// dimensions are the ways in which settings differ, each with its values. The store keeps no blocks in memory; what it
// caches are open files.
var dimensions = func() [][]setting {
	var modes, profiles, codecs, schedules []setting
	for _, m := range iter.Modes() {
		modes = append(modes, modeSetting(m))
	}
	for _, p := range plan.Profiles() {
		profiles = append(profiles, profileSetting(p))
	}
	for _, c := range []string{"none", "gz", "lz4", "snappy", "zstd"} {
		codecs = append(codecs, tableSetting("table.file.compress.type", c))
	}
	for _, k := range []ScheduleKind{PCT, FIFO, LIFO, Starve, Burst} {
		schedules = append(schedules, setting{name: scheduleNames[k], schedule: Schedule{Kind: k}})
	}
	return [][]setting{
		modes, profiles, codecs, schedules,
		{blockSetting(1, 1), blockSetting(64, 32), blockSetting(200, 4096), blockSetting(1<<20, 1)},
		{serverSetting("tserver.memory.maps.max", "1K"), serverSetting("tserver.memory.maps.max", "4K"), serverSetting("tserver.total.mutation.queue.max", "1B")},
		{tableSetting("table.durability", "log"), tableSetting("table.durability", "flush")},
		{
			{name: "group of f", table: map[string]string{"table.groups.enabled": "one", "table.group.one": "f"}},
			{name: "groups of f and g", table: map[string]string{"table.groups.enabled": "one,two", "table.group.one": "f", "table.group.two": "g"}},
		},
		{{name: "window of 1", store: []actors.Option{actors.WithWindow(1)}}, {name: "window of 2", store: []actors.Option{actors.WithWindow(2)}}},
		{{name: "pages of 1", page: 1}, {name: "pages of 3", page: 3}, tableSetting("table.scan.max.memory", "1B")},
		{serverSetting("tserver.scan.files.open.max", "2"), serverSetting("tserver.compaction.major.thread.files.open.max", "2")},
		{serverSetting("tserver.wal.max.size", "200B"), serverSetting("tserver.wal.max.referenced", "1")},
		{tableSetting("table.compaction.minor.idle", "1s"), tableSetting("table.time.type", "logical")},
	}
}()

// fixedSettings change one thing each, and two of them much at once.
func fixedSettings() (all []setting) {
	for _, values := range dimensions {
		all = append(all, values...)
	}
	small := setting{table: busy}.with(blockSetting(1, 1)).with(setting{page: 1}).with(serverSetting("tserver.memory.maps.max", "1K"))
	small.name = "everything small and busy"
	return append(all, small, small.with(modeSetting(iter.Old)).with(setting{store: []actors.Option{actors.WithWindow(1)}}))
}

// randomSetting draws about half of the dimensions.
func randomSetting(seed uint64) setting {
	r := stream(seed, "setting")
	var s setting
	for _, values := range dimensions {
		if r.IntN(2) == 0 {
			s = s.with(values[r.IntN(len(values))])
		}
	}
	s.name = fmt.Sprintf("random %d: %s", seed, s.name)
	return s
}

// allSettings are the fixed and as many random ones.
func allSettings(random int) []setting {
	all := fixedSettings()
	for i := range random {
		all = append(all, randomSetting(uint64(i)))
	}
	return all
}
