package iter

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"millrace/tablet"
)

func init() {
	Register("TimestampFilter", func() Iterator { return NewFilter(&timestampTest{}) })
}

// interval says what lies between two bounds, either of which may be missing.
type interval struct {
	hasStart, hasEnd             bool
	startInclusive, endInclusive bool
}

const (
	startOption          = "start"
	endOption            = "end"
	startInclusiveOption = "startInclusive"
	endInclusiveOption   = "endInclusive"
)

func (i *interval) init(opts map[string]string, start, end string, endInclusive bool) (err error) {
	_, i.hasStart = opts[start]
	_, i.hasEnd = opts[end]
	if !i.hasStart && !i.hasEnd {
		return fmt.Errorf("neither option %s nor %s is given: %w", start, end, tablet.ErrUsage)
	}
	if i.startInclusive, err = parseBool(opts, startInclusiveOption, true); err != nil {
		return err
	}
	i.endInclusive, err = parseBool(opts, endInclusiveOption, endInclusive)
	return err
}

// empty says whether nothing can lie between the bounds, by how start compares with end.
func (i *interval) empty(startEnd int) bool {
	return i.hasStart && i.hasEnd && (startEnd > 0 || startEnd == 0 && !(i.startInclusive && i.endInclusive))
}

// holds says whether something lies between the bounds, by how it compares with each.
func (i *interval) holds(withStart, withEnd int) bool {
	return (!i.hasStart || withStart > 0 || withStart == 0 && i.startInclusive) &&
		(!i.hasEnd || withEnd < 0 || withEnd == 0 && i.endInclusive)
}

// timestampTest accepts entries by their timestamps. It is TimestampFilter.
//
// Options: start and end, at least one of them, as yyyyMMddHHmmss and a time zone (GMT, UTC, GMT+01:00, +0100 and the
// zones of RFC 822) or as LONG and a number; startInclusive and endInclusive, both true if missing.
type timestampTest struct {
	interval
	start, end int64
}

func (t *timestampTest) Describe() Description {
	const value = "yyyyMMddHHmmssz|LONGn"
	return Description{
		What: "keeps entries whose timestamps lie in an interval",
		Options: []Option{
			{Name: startOption, Value: value, What: "the smallest timestamp"},
			{Name: endOption, Value: value, What: "the greatest timestamp"},
			{Name: startInclusiveOption, Value: "true|false", Default: "true", What: "start itself counts"},
			{Name: endInclusiveOption, Value: "true|false", Default: "true", What: "end itself counts"},
		},
	}
}

func (t *timestampTest) Init(opts map[string]string, _ Env) (err error) {
	if err := t.interval.init(opts, startOption, endOption, true); err != nil {
		return err
	}
	if t.hasStart {
		if t.start, err = parseTimestamp(startOption, opts[startOption]); err != nil {
			return err
		}
	}
	if t.hasEnd {
		if t.end, err = parseTimestamp(endOption, opts[endOption]); err != nil {
			return err
		}
	}
	if t.empty(cmp.Compare(t.start, t.end)) {
		return OptionError(endOption, opts[endOption], "nothing lies between start and this")
	}
	return nil
}

func (t *timestampTest) Accept(e tablet.Entry) bool {
	ts := e.Key.Timestamp()
	return t.holds(cmp.Compare(ts, t.start), cmp.Compare(ts, t.end))
}

func parseTimestamp(option, text string) (int64, error) {
	if number, ok := strings.CutPrefix(text, "LONG"); ok {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return 0, OptionError(option, text, "no number of 64 bits follows LONG")
		}
		return n, nil
	}
	const digits = "20060102150405"
	if len(text) > len(digits) {
		if zone, ok := parseZone(text[len(digits):]); ok {
			if at, err := time.Parse(digits, text[:len(digits)]); err == nil {
				return at.Add(-zone).UnixMilli(), nil
			}
		}
	}
	return 0, OptionError(option, text, "want yyyyMMddHHmmss and a zone such as GMT, GMT+01:00 or -0800; or LONG and a number")
}

// zones are those of RFC 822, hours east of Greenwich.
var zones = map[string]int{"GMT": 0, "UTC": 0, "UT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}

// parseZone reads a name, GMT with hours and minutes, or +hhmm. It returns how far east of Greenwich that is.
func parseZone(text string) (time.Duration, bool) {
	if hours, ok := zones[text]; ok {
		return time.Duration(hours) * time.Hour, true
	}
	if rest, ok := strings.CutPrefix(text, "GMT"); ok {
		hours, minutes, colon := strings.Cut(rest, ":")
		if !colon || len(hours) < 2 || len(hours) > 3 {
			return 0, false
		}
		text = hours[:1] + strings.Repeat("0", 3-len(hours)) + hours[1:] + minutes
	}
	if len(text) != 5 || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	n, err := strconv.ParseUint(text[1:], 10, 16)
	if err != nil || n/100 > 23 || n%100 > 59 {
		return 0, false
	}
	east := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	if text[0] == '-' {
		east = -east
	}
	return east, true
}
