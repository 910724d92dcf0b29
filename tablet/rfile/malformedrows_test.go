package rfile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/tablet"
)

// malformedRow returns what checks one row of a table: it takes a file of own apart, changes it and looks at the answer. at
// gives the places that the error may point at (none: any) and is nil where the file is not damaged but not supported; says
// is a part of the error.
func malformedRow(t *testing.T, own map[string][]byte) func(name, host string, change func(m *model), want answer, says string, at func(m *model) []int64) {
	return func(name, host string, change func(m *model), want answer, says string, at func(m *model) []int64) {
		t.Run(name, func(t *testing.T) {
			m := takeApart(t, host, own[host])
			m.sums = sumsNone
			content := contentOf(t, own[host])
			change(m)
			file := m.write(t)
			got, err := answerOf(t, file, content)
			if got != want {
				t.Fatalf("%v, want %v: %v", got, want, err)
			}
			if got == accepted || got == refusedByVerify {
				checkRanges(t, file)
			}
			if err == nil {
				return
			}
			if !strings.Contains(err.Error(), says) {
				t.Errorf("%v; want it to say %q", err, says)
			}
			var corrupt *tablet.CorruptError
			if at == nil {
				if !errors.Is(err, tablet.ErrUnsupported) {
					t.Errorf("%v; want it to be unsupported", err)
				}
			} else if places := at(m); !errors.As(err, &corrupt) || len(places) > 0 && !slices.Contains(places, corrupt.Offset) || corrupt.File == "" {
				t.Errorf("%v; want it at %d", err, places)
			}
		})
	}
}

// checkRanges reads a file, from which a scan gave all that it holds, by ranges: those that end before, at and behind any
// two entries of a group, by cursors that were used before and by new ones. Bloom filters are left out: one that lacks
// keys hides them, which is why a full check looks for them.
func checkRanges(t *testing.T, file []byte) {
	t.Helper()
	ctx := context.Background()
	r := readBytes(t, file)
	for _, g := range append(slices.Clone(r.Groups()), r.Samples()...) {
		all, err := scanAll(ctx, r, g)
		if err != nil {
			t.Fatal(err)
		}
		used := r.Cursor(g, CursorOptions{BatchEntries: 3, NoBloom: true})
		step := 1 + len(all)/9
		for i := 0; i < len(all); i += step {
			for j := i; j < len(all); j += step {
				fresh := r.Cursor(g, CursorOptions{BatchEntries: 3, NoBloom: true})
				for _, rng := range rangesBetween(t, all[i].Key, all[j].Key) {
					want := slices.DeleteFunc(slices.Clone(all), func(e tablet.Entry) bool { return !rng.Contains(&e.Key) })
					for _, c := range []*Cursor{fresh, used} {
						if got, err := scanRange(ctx, c, rng); err != nil || !equalEntries(got, want) {
							t.Errorf("%v, %v: %d entries of %d, %v", g, rng, len(got), len(want), err)
						}
					}
				}
				fresh.Close()
			}
		}
		used.Close()
	}
}

// rangesBetween are ranges from or up to one of two keys that ascend.
func rangesBetween(t *testing.T, k, l tablet.Key) []tablet.Range {
	both, err := tablet.NewRange(&tablet.Bound{Key: k, Inclusive: true}, &tablet.Bound{Key: l, Inclusive: true})
	if err != nil {
		t.Fatal(err)
	}
	before, err := tablet.NewRange(nil, &tablet.Bound{Key: l})
	if err != nil {
		t.Fatal(err)
	}
	return []tablet.Range{both, before, both.After(k), tablet.ExactRow(l.Row())}
}

func scanRange(ctx context.Context, c *Cursor, r tablet.Range) (all []tablet.Entry, err error) {
	if err := c.Seek(ctx, r, tablet.Families{}); err != nil {
		return nil, err
	}
	for {
		b, err := c.Next(ctx)
		if b == nil || err != nil {
			return all, err
		}
		for i := range b.Refs {
			all = append(all, b.Entry(i).Clone())
		}
	}
}

// TestMalformedInDetail is TestMalformed for places that its rows leave out: each kind of length and each field of a key,
// each bit that a first key must not have, and what must be accepted though no writer does it.
func TestMalformedInDetail(t *testing.T) {
	own := modelFiles(t)
	row := malformedRow(t, own)
	at := func(names ...string) func(m *model) []int64 {
		return func(m *model) (at []int64) {
			for _, p := range m.parts {
				if slices.Contains(names, p.name) {
					at = append(at, p.region.Offset)
				}
			}
			return at
		}
	}
	anywhere := func(*model) []int64 { return nil }
	atMeta := func(m *model) []int64 { return []int64{m.blocksEnd()} }
	set := func(field string, i int, n int64) func(m *model) {
		return func(m *model) { m.find(t, field, i).set(n) }
	}
	raw := func(field string, i int, b ...byte) func(m *model) {
		return func(m *model) {
			f := m.find(t, field, i)
			f.kind, f.b, f.link = fieldBytes, b, nil
		}
	}

	// Integers of the container that have no form, wherever one stands.
	for _, b := range []byte{0x80, 0x81, 0x82} {
		name := fmt.Sprintf("an integer that begins with %x: ", b)
		row(name+"meta blocks", "own gz", raw("meta blocks count", 0, b), refusedAtOpen, "", anywhere)
		row(name+"length of a meta name", "own gz", raw("meta name length", 0, b), refusedAtOpen, "", anywhere)
		row(name+"length of a codec", "own gz", raw("meta codec length", 0, b), refusedAtOpen, "", anywhere)
		row(name+"place of a named block", "own gz", raw("meta offset", 0, b), refusedAtOpen, "", anywhere)
		row(name+"length of the default codec", "own gz", raw("default codec length", 0, b), refusedAtOpen, "", at("BCFile.index"))
		row(name+"regions", "own gz", raw("regions count", 0, b), refusedAtOpen, "", at("BCFile.index"))
		row(name+"place of a data block", "own gz", raw("region offset", 0, b), refusedByScan, "index entry", at("index node"))
		row(name+"size of a data block", "own gz", raw("region raw size", 0, b), refusedByScan, "index entry", at("index node"))
	}

	// Names of codecs.
	for _, codec := range []string{"xyz", "GZ", ""} {
		row(fmt.Sprintf("codec %q of a named block", codec), "own gz", func(m *model) { m.find(t, "meta codec", 0).b = []byte(codec) }, refusedAtOpen, fmt.Sprintf("%q", codec), nil)
		row(fmt.Sprintf("default codec %q", codec), "own gz", func(m *model) { m.find(t, "default codec", 0).b = []byte(codec) }, refusedAtOpen, fmt.Sprintf("%q", codec), nil)
	}

	// Named blocks that leave the area of blocks.
	for name, change := range map[string]func(m *model){
		"before it": set("meta offset", 0, 3), "behind it": set("meta offset", 0, 1<<40),
		"across its end": set("meta stored size", 0, 1<<30), "of negative size": set("meta stored size", 0, -1),
		"of a negative place": set("meta offset", 0, -16), "of negative raw size": set("meta raw size", 0, -1),
	} {
		row("a named block "+name, "own gz", change, refusedAtOpen, "", atOrBehind(atMeta))
	}
	// Index nodes that do.
	last := func(field string, n int64) func(m *model) {
		return func(m *model) {
			p := m.block(t, indexName, 0)
			for _, f := range p.fields {
				if f.name == field {
					f.set(n)
					return
				}
			}
			t.Fatalf("the root has no %s", field)
		}
	}
	for name, n := range map[string]int64{"before the blocks": 3, "behind the blocks": 1 << 40, "at a negative place": -1} {
		row("an index node "+name, "own gz", last("region offset", n), refusedByScan, "", at(indexName))
	}

	// Lengths in the index.
	row("a named group of -1 families", "own gz", set("families count", 0, -1), refusedAtOpen, "number of families", at(indexName))
	row("families: too many", "own gz", set("families count", 0, 1<<30), refusedAtOpen, "number of families", at(indexName))
	row("a family of negative length", "own gz", set("group family length", 0, -1), refusedAtOpen, "family", at(indexName))
	row("a family too long", "own gz", set("group family length", 0, 1<<30), refusedAtOpen, "family", at(indexName))
	row("a group's name too long", "own gz", set("group name length", 0, 60_000), refusedAtOpen, "name", at(indexName))
	row("a negative number of blocks", "own gz", set("blocks count", 0, -1), refusedAtOpen, "number of blocks", at(indexName))
	row("a negative number of groups", "own gz", set("groups count", 0, -1), refusedAtOpen, "number of groups", at(indexName))
	row("a first key of a group without entries", "v8_empty_default.rf", func(m *model) {
		for _, f := range m.block(t, indexName, 0).fields {
			if f.name == "has first key" && f.n == 0 {
				f.kind, f.b = fieldBytes, []byte{1, 0, 0, 0, 0, 0, 0}
				return
			}
		}
		t.Fatal("no group without entries")
	}, refusedAtOpen, "first key present", at(indexName))
	row("a node of negative size", "own gz", set("node size", 0, -1), refusedByScan, "", at("index node"))
	row("a node of negative entries", "own gz", set("node entries count", 0, -1), refusedByScan, "", at("index node"))
	row("a node of too many entries", "own gz", set("node entries count", 0, 1<<30), refusedByScan, "", at("index node"))

	// Keys of the index against the data.
	row("an index key before the block's last key", "own gz", func(m *model) { m.find(t, "index key fields", 0).b[0] = 0 }, refusedByScan, "behind the index key", at("data block"))

	// Lengths in a key, of each field.
	for _, field := range []string{"row", "family", "qualifier", "visibility", "value"} {
		for _, n := range []int64{-1, 1 << 30, 1<<31 - 1, -1 << 31} {
			row(fmt.Sprintf("%s of %d bytes", field, n), "own gz", set(field+" length", 0, n), refusedByScan, "", at("data block"))
		}
	}
	row("input ends within the last value", "own gz", func(m *model) {
		p := m.block(t, "data block", 0)
		p.fields = append(p.fields[:len(p.fields)-1], &modelField{kind: fieldBytes, b: nil})
		p.fields[len(p.fields)-2].set(1)
	}, refusedByScan, "", at("data block"))
	row("input ends within a key", "own gz", func(m *model) {
		p := m.block(t, "data block", 0)
		p.fields = p.fields[:1+2]
	}, refusedByScan, "", at("data block"))

	// A first key that has a prefix of, or a difference to, a key that is not there.
	for i, field := range []string{"row", "family", "qualifier", "visibility", "timestamp"} {
		for _, flags2 := range []byte{1 << i, 0} {
			row(fmt.Sprintf("prefix bits %02x of a first key: %s", flags2, field), "own gz", func(m *model) {
				p := m.block(t, "data block", 0)
				p.fields[0].set(p.fields[0].n | flagPrefixes)
				more := []*modelField{{kind: fieldU8, n: int64(flags2)}}
				p.fields = slices.Insert(p.fields, 1, more...)
				if j := slices.IndexFunc(p.fields, func(f *modelField) bool { return f.name == field+" length" }); flags2 != 0 && j > 0 {
					p.fields = slices.Insert(p.fields, j, &modelField{kind: fieldHV, n: 0})
				}
			}, refusedByScan, "refer to a key before it", at("data block"))
		}
	}

	// What is to be accepted.
	row("integers longer than need be", "own gz", func(m *model) {
		for _, f := range m.block(t, "data block", 0).fields {
			if f.kind == fieldHV {
				b := binary.BigEndian.AppendUint64([]byte{0x88}, uint64(f.value(nil))) // value ≥ 0, 8 bytes
				if f.value(nil) < 0 {
					b = binary.BigEndian.AppendUint64([]byte{0x80}, ^uint64(f.value(nil)))
				}
				f.kind, f.b, f.link = fieldBytes, b, nil
			}
		}
		for _, f := range m.meta {
			if f.kind == fieldTV && strings.HasSuffix(f.name, "length") {
				f.kind, f.b = fieldBytes, binary.BigEndian.AppendUint64([]byte{0x87}, uint64(f.value(nil)))
				f.link = nil
			}
		}
	}, accepted, "", nil)
	row("bytes between blocks", "own gz", func(m *model) {
		gap := &modelPart{name: "gap", codec: "none", raw: -1, fields: []*modelField{{kind: fieldBytes, b: []byte("not a block")}}}
		m.parts = slices.Insert(m.parts, 1, gap)
		m.parts = slices.Insert(m.parts, 0, gap)
	}, accepted, "", nil)
	row("data blocks from back to front", "own gz", func(m *model) {
		var data, rest []*modelPart
		for _, p := range m.parts {
			if p.name == "data block" {
				data = append(data, p)
			} else {
				rest = append(rest, p)
			}
		}
		slices.Reverse(data)
		m.parts = append(data, rest...)
	}, accepted, "", nil)
	row("flags of other values than 1", "own gz", func(m *model) {
		for _, f := range m.all() {
			if f.kind == fieldU8 && f.n == 1 && (strings.HasSuffix(f.name, "hasNext") || strings.HasPrefix(f.name, "has ") || strings.HasSuffix(f.name, "default") || strings.HasSuffix(f.name, "deleted")) {
				f.set(0xfe)
			}
		}
	}, accepted, "", nil)
	row("the index in a codec of its own", "own gz", func(m *model) {
		m.block(t, indexName, 0).codec = "zstd"
		setMetaCodec(t, m, indexName, "zstd")
	}, accepted, "", nil)
}

// atOrBehind are the places of a function and those a few bytes on.
func atOrBehind(f func(m *model) []int64) func(m *model) []int64 {
	return func(m *model) (at []int64) {
		for _, n := range f(m) {
			for i := range int64(200) {
				at = append(at, n+i)
			}
		}
		return at
	}
}
