package iter

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// parseBool reads an option that may be missing.
func parseBool(opts map[string]string, option string, missing bool) (bool, error) {
	text, ok := opts[option]
	if !ok {
		return missing, nil
	}
	v, err := strconv.ParseBool(text)
	if err != nil {
		return false, OptionError(option, text, "want true or false")
	}
	return v, nil
}

// parseMillis reads a stretch of time in milliseconds.
func parseMillis(option, text string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n < 0 {
		return 0, OptionError(option, text, "want milliseconds, a number of at least 0")
	}
	return n, nil
}

// parseColumns reads a list of columns, separated by commas.
func parseColumns(list string) ([]Column, error) {
	var out []Column
	for part := range strings.SplitSeq(list, ",") {
		c, err := parseColumn(part)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// parseColumn reads family or family:qualifier. %xx stands for a byte. With nothing behind the colon the whole family is
// meant: so Accumulo reads it, even where it wrote it for the empty qualifier.
func parseColumn(text string) (Column, error) {
	family, qualifier, _ := strings.Cut(text, ":")
	if strings.Contains(qualifier, ":") || text == ":" {
		return Column{}, fmt.Errorf("%q is not family or family:qualifier; %%3a is a colon", text)
	}
	f, err := unescape(family)
	if err != nil {
		return Column{}, err
	}
	q, err := unescape(qualifier)
	if err != nil {
		return Column{}, err
	}
	return Column{Family: f, Qualifier: q, Whole: qualifier == ""}, nil
}

func unescape(text string) ([]byte, error) {
	out := []byte{}
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			out = append(out, text[i])
			continue
		}
		if i+3 > len(text) {
			return nil, fmt.Errorf("%q is not %%xx", text[i:])
		}
		b, err := hex.DecodeString(text[i+1 : i+3])
		if err != nil {
			return nil, fmt.Errorf("%q is not %%xx", text[i:i+3])
		}
		out = append(out, b...)
		i += 2
	}
	return out, nil
}
