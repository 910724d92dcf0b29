package iter

import (
	"bytes"

	"millrace/tablet"
)

func init() {
	Register("GrepIterator", func() Iterator { return NewFilter(&grepTest{}) })
	Register("ColumnSliceFilter", func() Iterator { return NewFilter(&sliceTest{}) })
	Register("ReqVisFilter", func() Iterator { return NewFilter(labelTest{}) })
}

// grepTest accepts entries that hold a term. It is GrepIterator.
//
// Options: term; matchRow, matchColumnFamily, matchColumnQualifier, matchValue, true if missing, and
// matchColumnVisibility, false if missing, say where to look.
type grepTest struct {
	term                                   []byte
	row, family, qualifier, label, inValue bool
}

const termOption = "term"

func (g *grepTest) Describe() Description {
	return Description{
		What: "keeps entries that hold a term in any of their fields",
		Options: []Option{
			{Name: termOption, Value: "TEXT", Required: true, What: "what to look for"},
			{Name: "matchRow", Value: "true|false", Default: "true", What: "look in the row"},
			{Name: "matchColumnFamily", Value: "true|false", Default: "true", What: "look in the family"},
			{Name: "matchColumnQualifier", Value: "true|false", Default: "true", What: "look in the qualifier"},
			{Name: "matchColumnVisibility", Value: "true|false", Default: "false", What: "look in the visibility"},
			{Name: "matchValue", Value: "true|false", Default: "true", What: "look in the value"},
		},
	}
}

func (g *grepTest) Init(opts map[string]string, _ Env) (err error) {
	if g.term = []byte(opts[termOption]); len(g.term) == 0 {
		return OptionError(termOption, "", "want what to look for")
	}
	for _, o := range []struct {
		name    string
		dst     *bool
		missing bool
	}{
		{"matchRow", &g.row, true},
		{"matchColumnFamily", &g.family, true},
		{"matchColumnQualifier", &g.qualifier, true},
		{"matchColumnVisibility", &g.label, false},
		{"matchValue", &g.inValue, true},
	} {
		if *o.dst, err = parseBool(opts, o.name, o.missing); err != nil {
			return err
		}
	}
	return nil
}

func (g *grepTest) Accept(e tablet.Entry) bool {
	return g.inValue && bytes.Contains(e.Value, g.term) ||
		g.row && bytes.Contains(e.Key.Row(), g.term) ||
		g.family && bytes.Contains(e.Key.Family(), g.term) ||
		g.qualifier && bytes.Contains(e.Key.Qualifier(), g.term) ||
		g.label && bytes.Contains(e.Key.Visibility(), g.term)
}

// sliceTest accepts entries whose qualifiers lie in an interval, in the order of keys. It is ColumnSliceFilter.
//
// Options: startBound and endBound, at least one of them; startInclusive, true if missing; endInclusive, false if missing.
type sliceTest struct {
	interval
	start, end []byte
}

const (
	startBoundOption = "startBound"
	endBoundOption   = "endBound"
)

func (s *sliceTest) Describe() Description {
	return Description{
		What: "keeps entries whose qualifiers lie in an interval",
		Options: []Option{
			{Name: startBoundOption, Value: "TEXT", What: "the smallest qualifier"},
			{Name: endBoundOption, Value: "TEXT", What: "the greatest qualifier"},
			{Name: startInclusiveOption, Value: "true|false", Default: "true", What: "startBound itself counts"},
			{Name: endInclusiveOption, Value: "true|false", Default: "false", What: "endBound itself counts"},
		},
	}
}

func (s *sliceTest) Init(opts map[string]string, _ Env) error {
	if err := s.interval.init(opts, startBoundOption, endBoundOption, false); err != nil {
		return err
	}
	s.start, s.end = []byte(opts[startBoundOption]), []byte(opts[endBoundOption])
	if s.empty(bytes.Compare(s.start, s.end)) {
		return OptionError(endBoundOption, opts[endBoundOption], "nothing lies between startBound and this")
	}
	return nil
}

func (s *sliceTest) Accept(e tablet.Entry) bool {
	q := e.Key.Qualifier()
	return s.holds(bytes.Compare(q, s.start), bytes.Compare(q, s.end))
}

// labelTest accepts entries with a visibility. It is ReqVisFilter, which has no option of its own.
type labelTest struct{}

func (labelTest) Describe() Description {
	return Description{What: "keeps entries that have a visibility label"}
}

func (labelTest) Init(map[string]string, Env) error { return nil }

func (labelTest) Accept(e tablet.Entry) bool { return len(e.Key.Visibility()) > 0 }
