package iter

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"millrace/tablet"
)

func init() {
	Register("AgeOffFilter", func() Iterator { return NewFilter(&ageTest{}) })
	Register("ColumnAgeOffFilter", func() Iterator { return NewFilter(&columnAgeTest{}) })
}

// age is now - timestamp, as near as 64 bits allow.
func age(now, timestamp int64) int64 {
	d := now - timestamp
	switch {
	case now >= 0 && timestamp < 0 && d < 0:
		return math.MaxInt64
	case now < 0 && timestamp > 0 && d > 0:
		return math.MinInt64
	}
	return d
}

// ageTest accepts entries that are at most ttl old. It is AgeOffFilter.
//
// Options: ttl, in milliseconds; currentTime, in milliseconds since 1970, in place of the time of Init.
type ageTest struct{ now, ttl int64 }

const (
	ttlOption         = "ttl"
	currentTimeOption = "currentTime"
)

func (a *ageTest) Describe() Description {
	return Description{
		What: "keeps entries whose timestamps are no more than ttl old",
		Options: []Option{
			{Name: ttlOption, Value: "MS", Required: true, What: "time to live"},
			{Name: currentTimeOption, Value: "MS", Default: "now", What: "the time to go by, since 1970"},
		},
	}
}

func (a *ageTest) Init(opts map[string]string, env Env) (err error) {
	if a.ttl, err = parseMillis(ttlOption, opts[ttlOption]); err != nil {
		return err
	}
	text, given := opts[currentTimeOption]
	if !given {
		if a.now, err = env.millis(); err != nil {
			return fmt.Errorf("%w; option %s gives a time", err, currentTimeOption)
		}
		return nil
	}
	if a.now, err = strconv.ParseInt(text, 10, 64); err != nil {
		return OptionError(currentTimeOption, text, "want milliseconds since 1970")
	}
	return nil
}

func (a *ageTest) Accept(e tablet.Entry) bool { return age(a.now, e.Key.Timestamp()) <= a.ttl }

// columnAgeTest accepts entries that are at most as old as their column may get; columns without a time to live stay. It
// is ColumnAgeOffFilter.
//
// Options: each names a family or family:qualifier, with %xx for odd bytes, and gives milliseconds. A pair goes before its
// family. A family called negate is written %6eegate.
type columnAgeTest struct {
	now  int64
	ttls map[string]*familyTTL
}

type familyTTL struct {
	pairs map[string]int64 // by qualifier
	whole int64            // of the other qualifiers; -1 none
}

func (c *columnAgeTest) Describe() Description {
	return Description{
		What:   "keeps entries that are no more than their column's time to live old",
		Others: "FAMILY[:QUALIFIER]=MS, the time to live of a column, %xx for odd bytes; a pair goes before its family",
	}
}

func (c *columnAgeTest) Init(opts map[string]string, env Env) (err error) {
	c.ttls = map[string]*familyTTL{}
	for _, option := range slices.Sorted(maps.Keys(opts)) {
		if option == negateOption {
			continue
		}
		if err := c.add(option, opts[option]); err != nil {
			return err
		}
	}
	if len(c.ttls) == 0 {
		return fmt.Errorf("no column has a time to live: want options family=milliseconds: %w", tablet.ErrUsage)
	}
	c.now, err = env.millis()
	return err
}

func (c *columnAgeTest) add(option, text string) error {
	column, err := parseColumn(option)
	if err != nil {
		return OptionError(option, text, err.Error())
	}
	ttl, err := parseMillis(option, text)
	if err != nil {
		return err
	}
	f := c.ttls[string(column.Family)]
	if f == nil {
		f = &familyTTL{pairs: map[string]int64{}, whole: -1}
		c.ttls[string(column.Family)] = f
	}
	if column.Whole {
		f.whole = ttl
	} else {
		f.pairs[string(column.Qualifier)] = ttl
	}
	return nil
}

func (c *columnAgeTest) Accept(e tablet.Entry) bool {
	f := c.ttls[string(e.Key.Family())]
	if f == nil {
		return true
	}
	ttl, ok := f.pairs[string(e.Key.Qualifier())]
	if !ok {
		ttl = f.whole
	}
	return ttl < 0 || age(c.now, e.Key.Timestamp()) <= ttl
}
