package main

import (
	"bytes"
	"context"
	"encoding/hex"

	"millrace/tablet"
)

// comparison walks two files side by side.
type comparison struct {
	e        *env
	o        diffOptions
	a, b     *side
	d        differences
	progress *progress
	line     []byte
}

func (c *comparison) run(ctx context.Context) error {
	a, moreA, err := c.a.it.next(ctx)
	if err != nil {
		return err
	}
	b, moreB, err := c.b.it.next(ctx)
	for err == nil && (moreA || moreB) {
		order := 0
		switch {
		case !moreB:
			order = -1
		case !moreA:
			order = 1
		default:
			order = tablet.Compare(&a.Key, &b.Key)
		}
		c.progress.add(int64(2 - order*order)) // 2 where both go on
		if err := c.take(order, &a, &b); err != nil {
			return err
		}
		if c.o.brief && c.d.count() > 0 {
			return nil
		}
		if order <= 0 {
			if a, moreA, err = c.a.it.next(ctx); err != nil {
				return err
			}
		}
		if order >= 0 {
			b, moreB, err = c.b.it.next(ctx)
		}
	}
	return err
}

// take counts the entries that both sides stand at: a alone, b alone, or both, as order says.
func (c *comparison) take(order int, a, b *tablet.Entry) error {
	switch {
	case order < 0:
		c.d.OnlyA++
		return c.show("only_a", &a.Key, a, nil)
	case order > 0:
		c.d.OnlyB++
		return c.show("only_b", &b.Key, nil, b)
	case !c.o.keys && !bytes.Equal(a.Value, b.Value):
		c.d.Values++
		return c.show("value", &a.Key, a, b)
	}
	c.d.Equal++
	return nil
}

// show prints or keeps a difference, unless there were enough.
func (c *comparison) show(kind string, k *tablet.Key, a, b *tablet.Entry) error {
	if int64(len(c.d.Shown)) >= c.o.limit {
		c.d.truncated = true
		return nil
	}
	c.d.Shown = append(c.d.Shown, difference{Kind: kind})
	if c.o.format.is(formatJSON) {
		d := &c.d.Shown[len(c.d.Shown)-1]
		d.keyDocument, d.A, d.B = *newKeyDocument(k), c.value(a), c.value(b)
		return nil
	}

	for _, side := range []struct {
		sign  byte
		entry *tablet.Entry
	}{{'-', a}, {'+', b}} {
		if side.entry == nil {
			continue
		}
		c.line = append(c.line[:0], side.sign, ' ')
		c.line = appendEntryText(c.line, k, side.entry.Value, c.o.keys)
		if _, err := c.e.out.Write(c.line); err != nil {
			return err
		}
	}
	return nil
}

// value is an entry's value in a difference.
func (c *comparison) value(entry *tablet.Entry) *string {
	if entry == nil || c.o.keys {
		return nil
	}
	v := hex.EncodeToString(entry.Value)
	return &v
}
