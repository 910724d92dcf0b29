package iter

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"millrace/tablet"
)

func init() {
	Register("RegExFilter", func() Iterator { return NewFilter(&regexTest{}) })
}

// regexTest accepts entries whose fields match regular expressions. It is RegExFilter.
//
// Options: rowRegex, colfRegex, colqRegex, valueRegex, at least one of them, as package regexp reads them: there are no
// back references, look-arounds and possessive quantifiers. All given must match; with orFields=true any does. A field
// must match as a whole; with matchSubstring=true a part does. encoding says how bytes are text, UTF-8 if missing; what is
// none counts as U+FFFD.
type regexTest struct {
	row, family, qualifier, value *regexp.Regexp // nil: not asked for
	any                           bool
	text                          charset
	scratch                       []byte
}

const (
	rowRegexOption       = "rowRegex"
	colfRegexOption      = "colfRegex"
	colqRegexOption      = "colqRegex"
	valueRegexOption     = "valueRegex"
	orFieldsOption       = "orFields"
	matchSubstringOption = "matchSubstring"
	encodingOption       = "encoding"
)

func (x *regexTest) Describe() Description {
	return Description{
		What: "keeps entries whose fields match regular expressions",
		Options: []Option{
			{Name: rowRegexOption, Value: "REGEX", What: "on the row"},
			{Name: colfRegexOption, Value: "REGEX", What: "on the family"},
			{Name: colqRegexOption, Value: "REGEX", What: "on the qualifier"},
			{Name: valueRegexOption, Value: "REGEX", What: "on the value"},
			{Name: orFieldsOption, Value: "true|false", Default: "false", What: "one match is enough"},
			{Name: matchSubstringOption, Value: "true|false", Default: "false", What: "a part of a field may match"},
			{Name: encodingOption, Value: "CHARSET", Default: "UTF-8", What: "how bytes are text: " + charsetNames},
		},
	}
}

func (x *regexTest) Init(opts map[string]string, _ Env) (err error) {
	if x.any, err = parseBool(opts, orFieldsOption, false); err != nil {
		return err
	}
	parts, err := parseBool(opts, matchSubstringOption, false)
	if err != nil {
		return err
	}
	if x.text, err = parseCharset(encodingOption, opts[encodingOption]); err != nil {
		return err
	}
	given := false
	for _, o := range []struct {
		name string
		dst  **regexp.Regexp
	}{{rowRegexOption, &x.row}, {colfRegexOption, &x.family}, {colqRegexOption, &x.qualifier}, {valueRegexOption, &x.value}} {
		pattern, ok := opts[o.name]
		if !ok {
			continue
		}
		given = true
		if *o.dst, err = compile(pattern, parts); err != nil {
			return OptionError(o.name, pattern, err.Error())
		}
	}
	if !given {
		return fmt.Errorf("none of the options %s, %s, %s, %s is given: %w", rowRegexOption, colfRegexOption, colqRegexOption, valueRegexOption, tablet.ErrUsage)
	}
	return nil
}

// compile makes an expression that matches a whole text, or parts of one. The anchors are put around the parsed
// expression, since around its text an alternative or an open quotation would take them in.
func compile(pattern string, parts bool) (*regexp.Regexp, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if parts {
		return regexp.Compile(pattern)
	}
	whole := syntax.Regexp{Op: syntax.OpConcat, Sub: []*syntax.Regexp{{Op: syntax.OpBeginText}, parsed, {Op: syntax.OpEndText}}}
	return regexp.Compile(whole.String())
}

func (x *regexTest) Accept(e tablet.Entry) bool {
	if x.any {
		return x.row != nil && x.match(x.row, e.Key.Row()) || x.family != nil && x.match(x.family, e.Key.Family()) ||
			x.qualifier != nil && x.match(x.qualifier, e.Key.Qualifier()) || x.value != nil && x.match(x.value, e.Value)
	}
	return (x.row == nil || x.match(x.row, e.Key.Row())) && (x.family == nil || x.match(x.family, e.Key.Family())) &&
		(x.qualifier == nil || x.match(x.qualifier, e.Key.Qualifier())) && (x.value == nil || x.match(x.value, e.Value))
}

func (x *regexTest) match(re *regexp.Regexp, field []byte) bool {
	if x.text != utf8Text {
		x.scratch = x.text.decode(x.scratch[:0], field)
		field = x.scratch
	}
	return re.Match(field)
}
