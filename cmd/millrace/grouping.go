package main

import (
	"bytes"
	"fmt"
	"strings"

	"millrace/tablet/rfile"
)

// grouping says which families go into which group of an output. What no named group holds goes into the default group,
// which comes last.
type grouping struct {
	named []namedGroup
	owner map[string]int // number of the named group that holds a family
}

type namedGroup struct {
	name     string
	families [][]byte
}

// maxGroups bounds the named groups: entries are sorted by the number of theirs.
const maxGroups = 1<<16 - 2

// addGroup adds a named group.
func (g *grouping) addGroup(name string, families [][]byte) error {
	for _, other := range g.named {
		if other.name == name {
			return fmt.Errorf("group %q is given twice", name)
		}
	}
	if len(g.named) == maxGroups {
		return fmt.Errorf("more than %d groups", maxGroups)
	}
	if g.owner == nil {
		g.owner = map[string]int{}
	}
	for _, f := range families {
		if other, taken := g.owner[string(f)]; taken && other < len(g.named) {
			return fmt.Errorf("family %q is in group %q and in group %q", appendText(nil, f, 0), g.named[other].name, name)
		}
		g.owner[string(f)] = len(g.named)
	}
	g.named = append(g.named, namedGroup{name, families})
	return nil
}

// of is the number of the group that holds a family; the default group has the last number.
func (g *grouping) of(family []byte) int {
	if n, ok := g.owner[string(family)]; ok {
		return n
	}
	return len(g.named)
}

// start begins a group in an output. The groups must be started in order.
func (g *grouping) start(w *rfile.Writer, n int) error {
	if n == len(g.named) {
		return w.StartDefaultGroup()
	}
	return w.StartGroup(g.named[n].name, g.named[n].families)
}

// groups is the number of groups, the default group included.
func (g *grouping) groups() int { return len(g.named) + 1 }

// groupingOf copies the grouping of a file, and the order in which it lists families. A family that a group lists without
// having it, and that another group has, stays with that one.
func groupingOf(r *rfile.Reader) (g grouping, order [][]byte, err error) {
	has := map[string]*rfile.Group{}
	for _, group := range r.Groups() {
		for _, f := range group.Families {
			order = append(order, f.Family)
			if f.Count > 0 || has[string(f.Family)] == nil {
				has[string(f.Family)] = group
			}
		}
	}
	for _, group := range r.Groups() {
		if group.Default {
			continue
		}
		var families [][]byte
		for _, f := range group.Families {
			if has[string(f.Family)] == group {
				families = append(families, bytes.Clone(f.Family))
			}
		}
		if err := g.addGroup(group.Name, families); err != nil {
			return grouping{}, nil, fmt.Errorf("%s: %w", r.Name(), err)
		}
	}
	return g, order, nil
}

// groupingFlag is the flag --groups: name=family,family;name=family, with escapes. It may be given several times.
type groupingFlag struct{ grouping }

func (g *groupingFlag) Type() string { return "name=fam,fam;..." }

func (g *groupingFlag) String() string {
	var parts []string
	for _, n := range g.named {
		families := familyList(n.families)
		parts = append(parts, string(appendText(nil, []byte(n.name), escapeList))+"="+families.String())
	}
	return strings.Join(parts, ";")
}

func (g *groupingFlag) Set(text string) error {
	for part := range strings.SplitSeq(text, ";") {
		name, list, ok := strings.Cut(part, "=")
		if !ok || name == "" {
			return fmt.Errorf("%q is not name=family,family", part)
		}
		raw, err := unescape(name)
		if err != nil {
			return err
		}
		families, err := splitFamilies(list)
		if err != nil {
			return err
		}
		if err := g.addGroup(string(raw), families); err != nil {
			return err
		}
	}
	return nil
}
