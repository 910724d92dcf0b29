package iter

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/tablet"
)

// Setting configures one iterator of a table, scan or compaction.
type Setting struct {
	Name     string // unique among the settings that apply together
	Class    string // registered
	Priority int    // at least 1; smaller is nearer to the data
	Options  map[string]string
}

// ParseSetting reads
//
//	name=priority[,class=Class][,option=value]...
//
// The name stands for the class too when class is missing. A part without "=" goes on with the value before it, so that
// a value may hold commas. Errors wrap tablet.ErrUsage.
func ParseSetting(text string) (Setting, error) {
	head, rest, more := strings.Cut(text, ",")
	name, priority, ok := strings.Cut(head, "=")
	if !ok || name == "" {
		return Setting{}, fmt.Errorf("iterator %q: want name=priority,option=value: %w", text, tablet.ErrUsage)
	}
	s := Setting{Name: name, Class: Canonical(name)}
	var err error
	if s.Priority, err = strconv.Atoi(priority); err != nil || s.Priority < 1 {
		return Setting{}, fmt.Errorf("iterator %q: priority %q is not a number above 0: %w", name, priority, tablet.ErrUsage)
	}
	if more {
		if s.Options, err = parseOptions(name, rest); err != nil {
			return Setting{}, err
		}
	}
	if class, ok := s.Options["class"]; ok {
		s.Class = Canonical(class)
		delete(s.Options, "class")
	}
	if !Known(s.Class) {
		return Setting{}, fmt.Errorf("iterator %q: %w", name, unknownClass(s.Class))
	}
	return s, nil
}

func parseOptions(name, text string) (map[string]string, error) {
	options, last := map[string]string{}, ""
	for part := range strings.SplitSeq(text, ",") {
		option, value, ok := strings.Cut(part, "=")
		if !ok {
			if last == "" {
				return nil, fmt.Errorf("iterator %q: %q is not option=value: %w", name, part, tablet.ErrUsage)
			}
			options[last] += "," + part
			continue
		}
		if _, twice := options[option]; twice || option == "" {
			return nil, fmt.Errorf("iterator %q: option %q is empty or given twice: %w", name, option, tablet.ErrUsage)
		}
		options[option], last = value, option
	}
	return options, nil
}

// String is the form that ParseSetting reads, options sorted.
func (s Setting) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s=%d", s.Name, s.Priority)
	if s.Class != s.Name {
		fmt.Fprintf(&b, ",class=%s", s.Class)
	}
	for _, option := range slices.Sorted(maps.Keys(s.Options)) {
		fmt.Fprintf(&b, ",%s=%s", option, s.Options[option])
	}
	return b.String()
}

// compareSettings is the order from the data upwards.
func compareSettings(a, b Setting) int {
	if c := cmp.Compare(a.Priority, b.Priority); c != 0 {
		return c
	}
	return cmp.Compare(a.Name, b.Name)
}

// Ordered returns the settings from the data upwards: by priority, then name. A name used twice is an error that wraps
// tablet.ErrUsage.
func Ordered(settings []Setting) ([]Setting, error) {
	names := map[string]bool{}
	for _, s := range settings {
		if names[s.Name] {
			return nil, fmt.Errorf("iterator %q is set twice: %w", s.Name, tablet.ErrUsage)
		}
		names[s.Name] = true
	}
	return slices.SortedStableFunc(slices.Values(settings), compareSettings), nil
}

// Combine adds the settings of one scan or compaction to those of its table, ordered. It is an error if both use one
// name or one priority.
func Combine(table, added []Setting) ([]Setting, error) {
	for _, a := range added {
		for _, t := range table {
			if a.Priority == t.Priority {
				return nil, fmt.Errorf("iterators %q and %q both have priority %d: %w", t.Name, a.Name, a.Priority, tablet.ErrUsage)
			}
		}
	}
	return Ordered(slices.Concat(table, added))
}
