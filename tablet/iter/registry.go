package iter

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// registry holds the classes by name. It is filled by init functions and only read afterwards.
var registry = map[string]func() Iterator{}

// Register makes a class known by a name that settings use. It is for init functions: it does not lock. A name taken is
// a programming error.
func Register(class string, factory func() Iterator) {
	invariant.Check(registry[class] == nil, "iterator class %s registered twice", class)
	registry[class] = factory
}

func init() {
	Register(versioningClass, func() Iterator { return &VersioningIterator{} })
	Register("SummingCombiner", func() Iterator { return &SummingCombiner{} })
}

// Names are the registered classes, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// Known says whether a class is registered.
func Known(class string) bool { return registry[class] != nil }

func unknownClass(class string) error {
	return fmt.Errorf("no iterator class %q, nearest is %q: %w", class, nearest(class, Names()), tablet.ErrUsage)
}

// Build puts iterators on base: the smallest priority lowest, equal ones by name. env.Source is set for each. An error
// names the iterator.
func Build(base Iterator, settings []Setting, env Env) (Iterator, error) {
	ordered, err := Ordered(settings)
	if err != nil {
		return nil, err
	}
	top := base
	for _, s := range ordered {
		factory := registry[s.Class]
		if factory == nil {
			return nil, fmt.Errorf("iterator %q: %w", s.Name, unknownClass(s.Class))
		}
		it := factory()
		env.Source = top
		if err := it.Init(s.Options, env); err != nil {
			return nil, fmt.Errorf("iterator %q (%s): %w", s.Name, s.Class, err)
		}
		top = it
	}
	return top, nil
}

// FuseVersions takes the versioning iterators that stand lowest out of the settings: their work is done by
// StackOptions.MaxVersions, which is the smallest of theirs; 0 if there is none. rest is ordered.
func FuseVersions(settings []Setting) (maxVersions int, rest []Setting, err error) {
	rest, err = Ordered(settings)
	if err != nil {
		return 0, nil, err
	}
	for len(rest) > 0 && rest[0].Class == versioningClass {
		n, err := parseMaxVersions(rest[0].Options)
		if err != nil {
			return 0, nil, fmt.Errorf("iterator %q (%s): %w", rest[0].Name, versioningClass, err)
		}
		if maxVersions == 0 || n < maxVersions {
			maxVersions = n
		}
		rest = rest[1:]
	}
	return maxVersions, rest, nil
}

// refuseUnknown is an error if there are options beside the known ones.
func refuseUnknown(opts map[string]string, known ...string) error {
	for _, option := range slices.Sorted(maps.Keys(opts)) {
		if !slices.Contains(known, option) {
			return OptionError(option, opts[option], fmt.Sprintf("no such option, nearest is %q", nearest(option, known)))
		}
	}
	return nil
}

// parseBool reads an option that is false when missing.
func parseBool(opts map[string]string, option string) (bool, error) {
	text, ok := opts[option]
	if !ok {
		return false, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, OptionError(option, text, "want true or false")
	}
	return v, nil
}
