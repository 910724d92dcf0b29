package iter

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"millrace/tablet"
)

// sample is a setting of a class, and what that does in the slow, obvious way.
type sample struct {
	class   string
	options string // as in a setting
	value   func(r *rand.Rand) []byte
	model   func(in []tablet.Entry, scope Scope) []tablet.Entry
	// byRow says that a range that starts within a row gives something else than what the whole gives in that range.
	byRow bool
	// beyondEnd says that what lies behind the end of a range plays a part in what lies in it.
	beyondEnd bool
	// dropsMarkers says that delete markers do not all pass, even in compactions.
	dropsMarkers bool
}

func (s sample) String() string { return s.class + "," + s.options }

func (s sample) setting(t testing.TB, priority int) Setting {
	t.Helper()
	text := fmt.Sprintf("n%d=%d,class=%s", priority, priority, s.class)
	if s.options != "" {
		text += "," + s.options
	}
	set, err := ParseSetting(text)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// noon is what the clock of the samples says, in ms.
const noon = 43_200_000

func sampleEnv(scope Scope) Env {
	return Env{Scope: scope, FullMajor: scope == Major, Now: func() time.Time { return time.UnixMilli(noon) }}
}

func anyValue(r *rand.Rand) []byte { return fmt.Appendf(nil, "v%d", r.IntN(1000)) }
func decimal(r *rand.Rand) []byte  { return fmt.Append(nil, r.IntN(2000)-1000) }

func list(r *rand.Rand) []byte {
	var parts []string
	for range 1 + r.IntN(3) {
		parts = append(parts, string(decimal(r)))
	}
	return []byte(strings.Join(parts, ","))
}

// samples hold every registered class, and each option of each.
var samples = []sample{
	{class: "VersioningIterator", options: "maxVersions=2", value: anyValue, dropsMarkers: true,
		model: func(in []tablet.Entry, _ Scope) []tablet.Entry { return modelVersions(in, 2) }},
	{class: "SummingCombiner", options: "all=true,type=STRING", value: decimal, model: modelCombine(nil, foldSum)},
	{class: "SummingCombiner", options: "columns=a,aa:b,type=STRING,lossy=true", value: anyValue, model: modelCombine(columnsSample, foldNothing("0"))},
	{class: "SummingCombiner", options: "all=true,type=STRING,reduceOnFullCompactionOnly=true", value: decimal, model: modelCombine(nil, foldSum)},
	{class: "MaxCombiner", options: "all=true,type=STRING", value: decimal, model: modelCombine(nil, foldMost(1))},
	{class: "MaxCombiner", options: "columns=a,aa:b,type=STRING,lossy=true,reduceOnFullCompactionOnly=false", value: anyValue,
		model: modelCombine(columnsSample, foldNothing(fmt.Sprint(math.MinInt64)))},
	{class: "MinCombiner", options: "all=true,type=STRING", value: decimal, model: modelCombine(nil, foldMost(-1))},
	{class: "MinCombiner", options: "columns=a,aa:b,type=STRING,lossy=true,reduceOnFullCompactionOnly=false", value: anyValue,
		model: modelCombine(columnsSample, foldNothing(fmt.Sprint(math.MaxInt64)))},
	{class: "SummingArrayCombiner", options: "all=true,type=STRING", value: list, model: modelCombine(nil, foldLists)},
	{class: "SummingArrayCombiner", options: "columns=a,aa:b,type=STRING,lossy=true,reduceOnFullCompactionOnly=false", value: anyValue,
		model: modelCombine(columnsSample, foldNothing(""))},

	{class: "AgeOffFilter", options: "ttl=43199999", value: anyValue, model: modelFilter(func(e tablet.Entry) bool { return youngerThan(e, noon, 43199999) })},
	{class: "AgeOffFilter", options: "ttl=0,currentTime=256,negate=true", value: anyValue,
		model: modelFilter(func(e tablet.Entry) bool { return !youngerThan(e, 256, 0) })},
	{class: "ColumnAgeOffFilter", options: "a=0,a:b=43200000,ab:=1,negate=false", value: anyValue, model: modelFilter(func(e tablet.Entry) bool {
		switch f, q := string(e.Key.Family()), string(e.Key.Qualifier()); {
		case f == "a" && q == "b":
			return youngerThan(e, noon, noon)
		case f == "a":
			return youngerThan(e, noon, 0)
		case f == "ab":
			return youngerThan(e, noon, 1)
		}
		return true
	})},
	{class: "TimestampFilter", options: "start=LONG-1,end=LONG256", value: anyValue,
		model: modelFilter(func(e tablet.Entry) bool { return e.Key.Timestamp() >= -1 && e.Key.Timestamp() <= 256 })},
	{class: "TimestampFilter", options: "start=LONG-1,end=LONG256,startInclusive=false,endInclusive=false,negate=true", value: anyValue,
		model: modelFilter(func(e tablet.Entry) bool { return e.Key.Timestamp() <= -1 || e.Key.Timestamp() >= 256 })},
	{class: "RegExFilter", options: "rowRegex=a*|b,valueRegex=v1.*,encoding=UTF-8", value: anyValue, model: modelFilter(func(e tablet.Entry) bool {
		row := string(e.Key.Row())
		return (strings.Trim(row, "a") == "" || row == "b") && bytes.HasPrefix(e.Value, []byte("v1"))
	})},
	{class: "RegExFilter", options: "colfRegex=b,colqRegex=^a,orFields=true,matchSubstring=true,negate=true", value: anyValue,
		model: modelFilter(func(e tablet.Entry) bool {
			return !bytes.Contains(e.Key.Family(), []byte("b")) && !bytes.HasPrefix(e.Key.Qualifier(), []byte("a"))
		})},
	{class: "GrepIterator", options: "term=a,negate=false", value: anyValue, model: modelFilter(func(e tablet.Entry) bool {
		return bytes.Contains(bytes.Join([][]byte{e.Key.Row(), e.Key.Family(), e.Key.Qualifier(), e.Value}, []byte("|")), []byte("a"))
	})},
	{class: "GrepIterator", options: "term=1,matchRow=false,matchColumnFamily=false,matchColumnQualifier=false,matchColumnVisibility=true,matchValue=true", value: anyValue,
		model: modelFilter(func(e tablet.Entry) bool {
			return bytes.ContainsRune(e.Value, '1') || bytes.ContainsRune(e.Key.Visibility(), '1')
		})},
	{class: "ColumnSliceFilter", options: "startBound=a,endBound=b", value: anyValue,
		model: modelFilter(func(e tablet.Entry) bool { q := string(e.Key.Qualifier()); return q >= "a" && q < "b" })},
	{class: "ColumnSliceFilter", options: "startBound=a,startInclusive=false,endBound=b,endInclusive=true,negate=true", value: anyValue,
		model: modelFilter(func(e tablet.Entry) bool { q := string(e.Key.Qualifier()); return q <= "a" || q > "b" })},
	{class: "ReqVisFilter", options: "negate=false", value: anyValue,
		model: modelFilter(func(e tablet.Entry) bool { return len(e.Key.Visibility()) > 0 })},

	{class: "WholeRowIterator", options: "maxBufferSize=10M", value: anyValue, model: modelWholeRow, byRow: true},
	{class: "FirstEntryInRowIterator", options: "scansBeforeSeek=2", value: anyValue, model: modelFirst},
	{class: "test.RowsWithValue", options: "digit=7", value: anyValue, model: modelRows, beyondEnd: true},
}

var columnsSample = []Column{{Family: []byte("a"), Whole: true}, {Family: []byte("aa"), Qualifier: []byte("b")}}

func youngerThan(e tablet.Entry, now, ttl int64) bool {
	age := new(big.Int).Sub(big.NewInt(now), big.NewInt(e.Key.Timestamp()))
	return age.Cmp(big.NewInt(ttl)) <= 0
}

func modelFilter(keep func(e tablet.Entry) bool) func([]tablet.Entry, Scope) []tablet.Entry {
	return func(in []tablet.Entry, _ Scope) (out []tablet.Entry) {
		for _, e := range in {
			if e.Key.Deleted() || keep(e) {
				out = append(out, e)
			}
		}
		return out
	}
}

// modelCombine folds stretches of entries of one cell of the columns; without columns, of all.
func modelCombine(columns []Column, fold func(values []string) string) func([]tablet.Entry, Scope) []tablet.Entry {
	return func(in []tablet.Entry, _ Scope) (out []tablet.Entry) {
		for len(in) > 0 {
			n := 1
			for n < len(in) && !in[0].Key.Deleted() && !in[n].Key.Deleted() && tablet.SameCell(&in[0].Key, &in[n].Key) {
				n++
			}
			stretch := in[:n]
			in = in[n:]
			if stretch[0].Key.Deleted() || len(modelColumns(stretch, columns)) == 0 {
				out = append(out, stretch...)
				continue
			}
			var values []string
			for _, e := range stretch {
				values = append(values, string(e.Value))
			}
			out = append(out, tablet.Entry{Key: stretch[0].Key, Value: []byte(fold(values))})
		}
		return out
	}
}

func foldNothing(so string) func([]string) string { return func([]string) string { return so } }

func foldSum(values []string) string {
	sum := 0
	for _, v := range values {
		var n int
		fmt.Sscan(v, &n)
		sum += n
	}
	return fmt.Sprint(sum)
}

func foldMost(sign int) func([]string) string {
	return func(values []string) string {
		var most int
		for i, v := range values {
			var n int
			fmt.Sscan(v, &n)
			if i == 0 || sign*n > sign*most {
				most = n
			}
		}
		return fmt.Sprint(most)
	}
}

func foldLists(values []string) string {
	columns := [][]string{}
	for _, v := range values {
		for i, n := range strings.Split(v, ",") {
			if i == len(columns) {
				columns = append(columns, nil)
			}
			columns[i] = append(columns[i], n)
		}
	}
	var sums []string
	for _, c := range columns {
		sums = append(sums, foldSum(c))
	}
	return strings.Join(sums, ",")
}

// eachRow calls f with the entries of one row at a time.
func eachRow(in []tablet.Entry, f func(row []tablet.Entry) []tablet.Entry) (out []tablet.Entry) {
	for len(in) > 0 {
		n := 1
		for n < len(in) && tablet.SameRow(&in[0].Key, &in[n].Key) {
			n++
		}
		out = append(out, f(in[:n])...)
		in = in[n:]
	}
	return out
}

func modelWholeRow(in []tablet.Entry, _ Scope) []tablet.Entry {
	return eachRow(in, func(row []tablet.Entry) (out []tablet.Entry) {
		own := tablet.RowKey(row[0].Key.Row())
		var puts, before, after []tablet.Entry
		for _, e := range row {
			switch {
			case !e.Key.Deleted():
				puts = append(puts, e)
			case tablet.Compare(&e.Key, &own) < 0:
				before = append(before, e)
			default:
				after = append(after, e)
			}
		}
		if len(puts) > 0 {
			value, err := EncodeRow(nil, puts)
			if err != nil {
				panic(err)
			}
			before = append(before, tablet.Entry{Key: own, Value: value})
		}
		return append(before, after...)
	})
}

func modelFirst(in []tablet.Entry, _ Scope) []tablet.Entry {
	return eachRow(in, func(row []tablet.Entry) (out []tablet.Entry) {
		given := false
		for _, e := range row {
			if e.Key.Deleted() || !given {
				out = append(out, e)
			}
			given = given || !e.Key.Deleted()
		}
		return out
	})
}

// rowsWithDigit is a RowTest that accepts rows with a value that ends in a digit.
type rowsWithDigit struct{ digit string }

func init() {
	Register("test.RowsWithValue", func() Iterator { return NewRowFilter(&rowsWithDigit{}) })
}

func (d *rowsWithDigit) Init(opts map[string]string, _ Env) error {
	if d.digit = opts["digit"]; len(d.digit) != 1 {
		return OptionError("digit", d.digit, "want one digit")
	}
	return nil
}

func (d *rowsWithDigit) Describe() Description {
	return Description{What: "keeps rows with a value that ends in a digit", Options: []Option{{Name: "digit", Value: "N", Required: true, What: "the digit"}}}
}

func (d *rowsWithDigit) AcceptRow(ctx context.Context, row []byte, entries Iterator) (bool, error) {
	for {
		e, ok := entries.Top()
		if !ok {
			return false, nil
		}
		if !bytes.Equal(e.Key.Row(), row) {
			return false, fmt.Errorf("entry %v", e.Key)
		}
		if strings.HasSuffix(string(e.Value), d.digit) {
			return true, nil
		}
		if err := entries.Next(ctx); err != nil {
			return false, err
		}
	}
}

func modelRows(in []tablet.Entry, _ Scope) []tablet.Entry {
	return eachRow(in, func(row []tablet.Entry) (out []tablet.Entry) {
		accepted := false
		for _, e := range row {
			accepted = accepted || bytes.HasSuffix(e.Value, []byte("7"))
			if e.Key.Deleted() {
				out = append(out, e)
			}
		}
		if accepted {
			return row
		}
		return out
	})
}
