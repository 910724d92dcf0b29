package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"strconv"

	"millrace/tablet"
)

// errLimit ends a command that has printed as many entries as it may.
var errLimit = errors.New("limit reached")

// printer prints entries, and allocates nothing for each.
type printer struct {
	out      *bufio.Writer
	limit    int64 // 0: none
	keys     bool
	silent   bool // count only
	ndjson   bool
	entries  int64
	line     []byte
	progress *progress
}

func newPrinter(e *env, o catOptions) *printer {
	return &printer{out: e.out, limit: o.limit, keys: o.keys, silent: o.count, ndjson: o.format.is(formatNDJSON)}
}

// print prints entries lo to hi of a batch, which are of the group with the number given.
func (p *printer) print(b *tablet.Batch, group, lo, hi int) error {
	full := false
	if p.limit > 0 && int64(hi-lo) >= p.limit-p.entries {
		hi, full = lo+int(p.limit-p.entries), true
	}
	if !p.silent {
		for i := lo; i < hi; i++ {
			k := b.Key(i)
			if p.ndjson {
				p.line = appendEntryJSON(p.line[:0], &k, b.Value(i), group, p.keys)
			} else {
				p.line = appendEntryText(p.line[:0], &k, b.Value(i), p.keys)
			}
			if _, err := p.out.Write(p.line); err != nil {
				return err
			}
		}
	}
	p.entries += int64(hi - lo)
	p.progress.set(p.entries)
	if full {
		return errLimit
	}
	return nil
}

// appendEntryText appends an entry as a line of text.
func appendEntryText(dst []byte, k *tablet.Key, value []byte, keysOnly bool) []byte {
	dst = appendKeyText(dst, k)
	if !keysOnly {
		dst = append(dst, '\t')
		dst = appendText(dst, value, 0)
	}
	return append(dst, '\n')
}

// noGroup is the group of an entry that comes from no single file.
const noGroup = -1

// appendEntryJSON appends an entry as a line of ndjson, the form that create reads.
func appendEntryJSON(dst []byte, k *tablet.Key, value []byte, group int, keysOnly bool) []byte {
	dst = append(dst, `{"row":"`...)
	dst = hex.AppendEncode(dst, k.Row())
	dst = append(dst, `","cf":"`...)
	dst = hex.AppendEncode(dst, k.Family())
	dst = append(dst, `","cq":"`...)
	dst = hex.AppendEncode(dst, k.Qualifier())
	dst = append(dst, `","cv":"`...)
	dst = hex.AppendEncode(dst, k.Visibility())
	dst = append(dst, `","ts":"`...)
	dst = strconv.AppendInt(dst, k.Timestamp(), 10)
	dst = append(dst, `","del":`...)
	dst = strconv.AppendBool(dst, k.Deleted())
	if !keysOnly {
		dst = append(dst, `,"val":"`...)
		dst = hex.AppendEncode(dst, value)
		dst = append(dst, '"')
	}
	if group != noGroup {
		dst = append(dst, `,"g":`...)
		dst = strconv.AppendInt(dst, int64(group), 10)
	}
	return append(dst, "}\n"...)
}
