package script

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"millrace/tablet"
)

// expectation is what a read must give.
type expectation struct {
	list        []wanted
	whole       bool // list counts
	first, last *wanted
	count       int // -1: any
	digest      string
	digestTS    bool
}

// wanted is an entry that a read must give.
type wanted struct {
	fields [4][]byte
	ts     int64
	anyTS  bool
	value  byteString
}

// parseExpectation takes the expectations of a read, of which there must be one at least.
func parseExpectation(o *object) (e expectation) {
	e.count = -1
	n := 0
	for _, name := range []string{"expect", "expectCount", "expectFirst", "expectLast", "expectDigest"} {
		if o.has(name) {
			n++
		}
	}
	if n == 0 {
		o.failf("nothing is expected of this read")
	}
	e.whole = o.has("expect")
	for _, raw := range o.list("expect") {
		e.list = append(e.list, o.wanted("expect", raw))
	}
	e.first, e.last = parseWanted(o, "expectFirst"), parseWanted(o, "expectLast")
	e.count = o.count("expectCount", 0, -1)
	e.digest = o.text("expectDigest")
	e.digestTS = o.flag("digestTs", true)
	return e
}

func parseWanted(o *object, name string) *wanted {
	raw, ok := o.take(name)
	if !ok {
		return nil
	}
	w := o.wanted(name, raw)
	return &w
}

// wanted reads [row, cf, cq, cv, ts, value].
func (o *object) wanted(name string, raw json.RawMessage) (w wanted) {
	parts, err := listOf(raw)
	if err != nil || len(parts) != 6 {
		o.failf("field %q: %s is not an entry of six parts", name, excerpt(raw))
		return w
	}
	for i := range w.fields {
		b, err := parseBytes(parts[i], false)
		if err != nil {
			o.failf("field %q: %v", name, err)
		}
		w.fields[i] = b.bytes()
	}
	if w.anyTS = string(parts[4]) == "null"; !w.anyTS {
		if w.ts, err = strconv.ParseInt(string(parts[4]), 10, 64); err != nil {
			o.failf("field %q: %s is no timestamp", name, excerpt(parts[4]))
		}
	}
	if w.value, err = parseBytes(parts[5], false); err != nil {
		o.failf("field %q: %v", name, err)
	}
	return w
}

func (w *wanted) is(e *tablet.Entry) bool {
	k := &e.Key
	for i, f := range [][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()} {
		if !bytes.Equal(f, w.fields[i]) {
			return false
		}
	}
	return (w.anyTS || k.Timestamp() == w.ts) && bytes.Equal(e.Value, w.value.bytes())
}

// check holds what a read gave against what it must give.
func (x *expectation) check(found []tablet.Entry) error {
	switch {
	case x.whole && !x.same(found):
		return &mismatch{found: showEntries(found, x.differs(found)), expected: showWanted(x.list, x.differs(found))}
	case x.count >= 0 && len(found) != x.count:
		return &mismatch{found: fmt.Sprintf("%d entries", len(found)), expected: fmt.Sprintf("%d entries", x.count)}
	case x.first != nil && (len(found) == 0 || !x.first.is(&found[0])):
		return &mismatch{found: "first of " + showEntries(found, 0), expected: "first " + x.first.String()}
	case x.last != nil && (len(found) == 0 || !x.last.is(&found[len(found)-1])):
		return &mismatch{found: "last of " + showEntries(found, max(len(found)-1, 0)), expected: "last " + x.last.String()}
	case x.digest != "":
		if d := digest(found, x.digestTS); d != x.digest {
			return &mismatch{found: fmt.Sprintf("digest %s of %d entries", d, len(found)), expected: "digest " + x.digest}
		}
	}
	return nil
}

func (x *expectation) same(found []tablet.Entry) bool {
	return len(found) == len(x.list) && x.differs(found) == len(found)
}

// differs is the first entry that is not the expected one.
func (x *expectation) differs(found []tablet.Entry) int {
	n := min(len(found), len(x.list))
	for i := range n {
		if !x.list[i].is(&found[i]) {
			return i
		}
	}
	return n
}

// digest is the SHA-256 over all entries: row, cf, cq, cv and value with their lengths, the timestamp before the value.
func digest(entries []tablet.Entry, withTS bool) string {
	h := sha256.New()
	put := func(b []byte) {
		h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
		h.Write(b)
	}
	for i := range entries {
		k := &entries[i].Key
		for _, f := range [][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()} {
			put(f)
		}
		if withTS {
			h.Write(binary.BigEndian.AppendUint64(nil, uint64(k.Timestamp())))
		}
		put(entries[i].Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// shownEntries is how many entries a message shows.
const shownEntries = 4

// showEntries is entries for a message, from the first that matters on.
func showEntries(entries []tablet.Entry, from int) string {
	return show(len(entries), from, func(i int) string { return showEntry(&entries[i]) })
}

func showWanted(list []wanted, from int) string {
	return show(len(list), from, func(i int) string { return list[i].String() })
}

func show(n, from int, one func(i int) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d entries", n)
	if from > 0 && from < n {
		fmt.Fprintf(&b, ", from number %d", from)
	}
	for i := from; i < n; i++ {
		if i == from+shownEntries {
			b.WriteString(" …")
			break
		}
		b.WriteString(" [" + one(i) + "]")
	}
	return b.String()
}

func showEntry(e *tablet.Entry) string {
	k := &e.Key
	return fmt.Sprintf("%s %s:%s %s @%d = %s", quoted(k.Row()), quoted(k.Family()), quoted(k.Qualifier()), quoted(k.Visibility()), k.Timestamp(), quoted(e.Value))
}

func (w *wanted) String() string {
	ts := "any"
	if !w.anyTS {
		ts = strconv.FormatInt(w.ts, 10)
	}
	return fmt.Sprintf("%s %s:%s %s @%s = %s", quoted(w.fields[0]), quoted(w.fields[1]), quoted(w.fields[2]), quoted(w.fields[3]), ts, quoted(w.value.bytes()))
}
