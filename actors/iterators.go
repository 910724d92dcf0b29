package actors

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/internal/nearest"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile/bcfile"
)

// IteratorSettings are a table's iterators, by where they run.
type IteratorSettings struct{ Scan, Minor, Major StackSettings }

// StackSettings are the iterators of one scope. A VersioningIterator that is nearest to the data runs as part of the
// system's own pass.
type StackSettings struct {
	MaxVersions int            // 0: no versioning in the system's pass
	Iterators   []iter.Setting // ordered from the data upwards
}

const versioning = "VersioningIterator"

// defaultVersioning is what every table has in every scope, unless its properties set it otherwise.
var defaultVersioning = iter.Setting{Name: "vers", Class: versioning, Priority: 20, Options: map[string]string{"maxVersions": "1"}}

// parseIterators takes table.iterator.SCOPE.NAME = PRIORITY,CLASS and table.iterator.SCOPE.NAME.opt.OPTION = VALUE. A
// class is known by what follows its last dot. The name vers with an empty value takes the default versioning away.
func parseIterators(rest map[string]string) (IteratorSettings, map[string]string, error) {
	var all IteratorSettings
	for scope, dst := range map[string]*StackSettings{"scan": &all.Scan, "minc": &all.Minor, "majc": &all.Major} {
		settings, err := parseScope("table.iterator."+scope+".", rest)
		if err == nil {
			*dst, err = stackOf(settings)
		}
		if err != nil {
			return all, nil, fmt.Errorf("iterators of scope %s: %w", scope, err)
		}
	}
	return all, rest, nil
}

// parseScope takes one scope's properties out of rest.
func parseScope(prefix string, rest map[string]string) ([]iter.Setting, error) {
	byName := map[string]*iter.Setting{"vers": {Name: "vers", Class: versioning, Priority: 20, Options: maps.Clone(defaultVersioning.Options)}}
	options := map[string]map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		tail, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		value := rest[key]
		delete(rest, key)
		if name, option, isOption := strings.Cut(tail, ".opt."); isOption {
			if options[name] == nil {
				options[name] = map[string]string{}
			}
			options[name][option] = value
			continue
		}
		if value == "" {
			delete(byName, tail)
			continue
		}
		s, err := parseIterator(tail, value)
		if err != nil {
			return nil, fmt.Errorf("property %s: %w", key, err)
		}
		byName[tail] = &s
	}
	for name, opts := range options {
		s, ok := byName[name]
		if !ok {
			return nil, fmt.Errorf("options for iterator %q, which is not set: %w", name, tablet.ErrUsage)
		}
		if s.Options == nil {
			s.Options = map[string]string{}
		}
		maps.Copy(s.Options, opts)
	}
	var settings []iter.Setting
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		settings = append(settings, *byName[name])
	}
	return settings, nil
}

func parseIterator(name, value string) (iter.Setting, error) {
	priority, class, ok := strings.Cut(value, ",")
	p, err := strconv.Atoi(priority)
	if !ok || err != nil || p < 1 {
		return iter.Setting{}, fmt.Errorf("%q is not PRIORITY,CLASS: %w", value, tablet.ErrUsage)
	}
	class = class[strings.LastIndexByte(class, '.')+1:]
	if !iter.Known(class) {
		return iter.Setting{}, fmt.Errorf("unknown iterator class %q; the nearest known one is %s: %w", class, nearest.Name(class, iter.Names()), tablet.ErrUsage)
	}
	return iter.Setting{Name: name, Class: class, Priority: p}, nil
}

// stackOf orders settings, and takes versioning into the system's pass if nothing is below it.
func stackOf(settings []iter.Setting) (s StackSettings, err error) {
	s.MaxVersions, s.Iterators, err = iter.FuseVersions(settings)
	return s, err
}

func parseCodec(dst *string, v string) error {
	if known := bcfile.Codecs(); !slices.Contains(known, v) {
		return fmt.Errorf("unknown codec %q; the nearest known name is %s: %w", v, nearest.Name(v, known), tablet.ErrUsage)
	}
	*dst = v
	return nil
}
