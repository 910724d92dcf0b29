package iter

import (
	"fmt"
	"maps"
	"slices"

	"millrace/internal/nearest"
)

// Description is what a class does and which options it knows.
type Description struct {
	Class   string
	What    string // a phrase that goes on from the class: "keeps …"
	Options []Option
	Others  string // what options of any other name are; empty: there are none
}

// Option is one of a class.
type Option struct {
	Name     string
	Value    string // what it takes: MS, TEXT, true|false
	Default  string // empty: none
	Required bool
	What     string
}

// Describer is an Iterator that can describe its class. It is asked before Init, too.
type Describer interface {
	// Describe need not fill in Class.
	Describe() Description
}

// Describe returns the description of a registered class; one without a Describer has a description that holds no more
// than the class.
func Describe(class string) (Description, bool) {
	class = Canonical(class)
	factory := registry[class]
	if factory == nil {
		return Description{}, false
	}
	var d Description
	if it, ok := factory().(Describer); ok {
		d = it.Describe()
	}
	d.Class = class
	return d, true
}

// refuseUnknown is an error if there are options beside those described.
func (d Description) refuseUnknown(opts map[string]string) error {
	if d.Others != "" {
		return nil
	}
	for _, option := range slices.Sorted(maps.Keys(opts)) {
		if !slices.ContainsFunc(d.Options, func(o Option) bool { return o.Name == option }) {
			return OptionError(option, opts[option], d.unknown(option))
		}
	}
	return nil
}

func (d Description) unknown(option string) string {
	var known []string
	for _, o := range d.Options {
		known = append(known, o.Name)
	}
	if len(known) == 0 {
		return "no such option; there are none"
	}
	return fmt.Sprintf("no such option, nearest is %q", nearest.Name(option, known))
}
