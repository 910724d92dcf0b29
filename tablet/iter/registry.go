package iter

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace/internal/invariant"
	"millrace/internal/nearest"
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

// packages are what precedes the classes that Accumulo brings along, in its settings.
var packages = []string{"org.apache.accumulo.core.iterators.user.", "org.apache.accumulo.core.iterators."}

// Canonical is the name that a class is registered by: settings may also name one of Accumulo's with its package. A name
// that is not known stays.
func Canonical(class string) string {
	for _, prefix := range packages {
		if name, ok := strings.CutPrefix(class, prefix); ok && registry[name] != nil {
			return name
		}
	}
	return class
}

// Names are the registered classes, sorted.
func Names() []string { return slices.Sorted(maps.Keys(registry)) }

// Known says whether a class is registered.
func Known(class string) bool { return registry[Canonical(class)] != nil }

func unknownClass(class string) error {
	return fmt.Errorf("no iterator class %q, nearest is %q: %w", class, nearest.Name(class[strings.LastIndexByte(class, '.')+1:], Names()), tablet.ErrUsage)
}

// Build puts iterators on base: the smallest priority lowest, equal ones by name. env.Source is set for each. An error
// names the iterator.
func Build(base Iterator, settings []Setting, env Env) (Iterator, error) {
	ordered, err := Ordered(settings)
	if err != nil {
		return nil, err
	}
	top := watchIterator(base, "entries", true)
	for _, s := range ordered {
		factory := registry[Canonical(s.Class)]
		if factory == nil {
			return nil, fmt.Errorf("iterator %q: %w", s.Name, unknownClass(s.Class))
		}
		it := factory()
		env.Source = top
		if err := it.Init(s.Options, env); err != nil {
			return nil, fmt.Errorf("iterator %q (%s): %w", s.Name, s.Class, err)
		}
		top = watchIterator(it, s.Name, false)
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
	for len(rest) > 0 && Canonical(rest[0].Class) == versioningClass {
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
