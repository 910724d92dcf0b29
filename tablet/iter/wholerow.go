package iter

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"millrace/tablet"
)

func init() { Register("WholeRowIterator", func() Iterator { return &WholeRowIterator{} }) }

// WholeRowIterator makes one entry of a row, whose key is the row alone with the greatest timestamp, and whose value
// DecodeRow takes apart. So a row is seen as it was at one moment, or not at all. A row is held in memory.
//
// A range that starts within a row gives the part of the row that lies in it. One that starts behind the row's own key,
// as after a scan was torn down, goes on with the next row.
//
// Delete markers, which compactions meet, pass by themselves, behind the row; only one of the row's own key goes before
// it. A range that starts behind a marker gives no more than further markers of that row.
//
// Option: maxBufferSize, in bytes or with K, M or G: larger rows are an error.
type WholeRowIterator struct {
	source Iterator
	scope  Scope
	most   int64 // bytes of a row

	key     tablet.Key // of the row; owns its bytes
	value   []byte
	entries int            // encoded in value
	markers []tablet.Entry // of the row; owned
	before  int            // how many of them sort before the row's own key
	at      int            // of the current entry: markers before, the row if it has entries, the other markers
	some    bool           // there is a current entry
}

const (
	maxBufferOption = "maxBufferSize"
	entryWeight     = 128 // of an entry beside its bytes, when a row is weighed
)

// Describe is as in Describer.
func (w *WholeRowIterator) Describe() Description {
	return Description{
		What:    "makes one entry of all entries of a row",
		Options: []Option{{Name: maxBufferOption, Value: "BYTES", Default: "no limit", What: "larger rows are an error; K, M and G are powers of 1024"}},
	}
}

// Init is as in Iterator.
func (w *WholeRowIterator) Init(opts map[string]string, env Env) (err error) {
	if env.Source == nil {
		return errNoSource
	}
	w.source, w.scope, w.most = env.Source, env.Scope, math.MaxInt64
	if err := w.Describe().refuseUnknown(opts); err != nil {
		return err
	}
	if text, ok := opts[maxBufferOption]; ok {
		w.most, err = parseBytes(maxBufferOption, text)
	}
	return err
}

// parseBytes reads a size as Accumulo writes it.
func parseBytes(option, text string) (int64, error) {
	number, shift := text, 0
	if n := len(text) - 1; n > 0 {
		if i := strings.IndexByte("BKMG", text[n]&^0x20); i >= 0 {
			number, shift = text[:n], 10*i
		}
	}
	size, err := strconv.ParseUint(number, 10, 63)
	if err != nil || bits.Len64(size)+shift > 63 {
		return 0, OptionError(option, text, "want a number of bytes, which K, M or G may follow")
	}
	return int64(size) << shift, nil
}

// Seek is as in Iterator.
func (w *WholeRowIterator) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	w.some = false
	start, ok := r.Start()
	given := ok && !start.Inclusive && w.hadRow(&start.Key)
	if given && w.scope == Scan {
		r, given = r.WithStart(afterRow(start.Key.Row())), false
	}
	if err := w.source.Seek(ctx, r, f); err != nil {
		return err
	}
	if given && inRow(w.source, start.Key.Row()) {
		return w.collect(ctx, false)
	}
	return w.collect(ctx, true)
}

// hadRow says whether the row came before a key that was delivered.
func (w *WholeRowIterator) hadRow(last *tablet.Key) bool {
	own := tablet.RowKey(last.Row())
	c := tablet.Compare(last, &own)
	return c == 0 || c > 0 && last.Deleted()
}

// Next is as in Iterator.
func (w *WholeRowIterator) Next(ctx context.Context) error {
	if !w.some {
		return errNoTop
	}
	if w.at++; w.at < w.delivers() {
		return nil
	}
	w.some = false
	return w.collect(ctx, true)
}

// delivers is the number of entries that the row gives.
func (w *WholeRowIterator) delivers() int { return len(w.markers) + min(w.entries, 1) }

// collect reads rows until one gives an entry. Of the first, entries that are no markers count only if asked for.
func (w *WholeRowIterator) collect(ctx context.Context, encode bool) error {
	for {
		top, ok := w.source.Top()
		if !ok {
			return nil
		}
		own := tablet.RowKey(top.Key.Row())
		w.key.Assign(&own)
		if err := w.collectRow(ctx, encode); err != nil {
			return fmt.Errorf("encode row %q: %w", w.key.Row(), err)
		}
		if w.delivers() > 0 {
			w.at, w.some = 0, true
			return nil
		}
		encode = true
	}
}

func (w *WholeRowIterator) collectRow(ctx context.Context, encode bool) (err error) {
	w.value = append(w.value[:0], 0, 0, 0, 0) // the count
	w.markers, w.entries, w.before = w.markers[:0], 0, 0
	weight := int64(0)
	for inRow(w.source, w.key.Row()) {
		top, _ := w.source.Top()
		switch {
		case top.Key.Deleted():
			w.markers = append(w.markers, top.Clone())
			if tablet.Compare(&top.Key, &w.key) < 0 {
				w.before++
			}
		case encode:
			if w.value, err = appendRowEntry(w.value, &top); err != nil {
				return err
			}
			w.entries++
		}
		if weight += int64(top.Key.Size()+len(top.Value)) + entryWeight; weight > w.most {
			return fmt.Errorf("more than %s=%d bytes: %w", maxBufferOption, w.most, tablet.ErrUnsupported)
		}
		if err := w.source.Next(ctx); err != nil {
			return err
		}
	}
	if w.entries > math.MaxInt32 {
		return fmt.Errorf("%d entries: %w", w.entries, tablet.ErrUnsupported)
	}
	putCount(w.value, w.entries)
	return nil
}

// Top is as in Iterator.
func (w *WholeRowIterator) Top() (tablet.Entry, bool) {
	if !w.some {
		return tablet.Entry{}, false
	}
	at := w.at
	if w.entries > 0 && at >= w.before {
		if at == w.before {
			return tablet.Entry{Key: w.key, Value: w.value}, true
		}
		at--
	}
	return w.markers[at], true
}

// Clone is as in Iterator.
func (w *WholeRowIterator) Clone(env Env) (Iterator, error) {
	if env.Source == nil {
		return nil, errNoSource
	}
	return &WholeRowIterator{source: env.Source, scope: w.scope, most: w.most}, nil
}
