package rfile

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// answer is what is wanted of a malformed file.
type answer uint8

const (
	refusedAtOpen   answer = iota
	refusedByScan          // it opens; a scan of the whole file refuses it
	refusedByVerify        // a scan gives all that the file holds; Verify finds what is wrong
	accepted               // odd, but read right
)

func (a answer) String() string {
	return [...]string{"refused at open", "refused by a scan", "refused by Verify", "accepted"}[a]
}

// TestMalformed walks the table of malformed input in the description of the format, and more of its kind: each row is a
// sound file with one thing wrong, in which everything that follows from it was put right. Rows that only a part of the
// readers would notice must be refused all the same, or read right. No wrong entry comes out of any.
func TestMalformed(t *testing.T) {
	own := modelFiles(t)
	row := malformedRow(t, own)
	atBlock := func(name string, i int) func(m *model) []int64 {
		return func(m *model) []int64 { return []int64{m.block(t, name, i).region.Offset} }
	}
	atAny := func(names ...string) func(m *model) []int64 {
		return func(m *model) (at []int64) {
			for _, p := range m.parts {
				if slices.Contains(names, p.name) {
					at = append(at, p.region.Offset)
				}
			}
			return at
		}
	}
	atIndex, atData := atBlock(indexName, 0), atBlock("data block", 0)
	atAnyNode, atAnyData := atAny("index node", indexName), atAny("data block")
	atMeta := func(m *model) []int64 { return []int64{m.blocksEnd()} }
	atAnywhere := func(m *model) []int64 { return nil }
	set := func(field string, i int, n int64) func(m *model) {
		return func(m *model) { m.find(t, field, i).set(n) }
	}
	end := func(back int64) func(m *model) []int64 {
		return func(m *model) []int64 { return []int64{int64(len(m.write(t))) - back} }
	}

	// Last 16 bytes are not the magic, or the file is cut; see TestTruncated for every cut.
	row("last magic", "own gz", func(m *model) { m.find(t, "last magic", 0).b[5] ^= 1 }, refusedAtOpen, "magic", end(16))
	// First 16 bytes wrong: accepted in a file without sums, and damage in one with them.
	row("first magic", "own gz", func(m *model) { m.head.b[3] ^= 1 }, accepted, "", nil)
	row("first magic, with sums", "own gz", func(m *model) {
		m.sums = sumsStale
		m.head.b[3] ^= 1
	}, refusedAtOpen, "first magic", func(*model) []int64 { return []int64{3} })
	// BCFile version.
	for _, v := range [][2]int64{{2, 0}, {1, 1}, {3, 7}, {4, 0}, {0, 0}} {
		row(fmt.Sprintf("container version %d.%d", v[0], v[1]), "own gz", func(m *model) {
			m.find(t, "major version", 0).set(v[0])
			m.find(t, "minor version", 0).set(v[1])
		}, refusedAtOpen, "version", nil)
	}
	row("encrypted", "own gz", func(m *model) { m.find(t, "crypto parameters", 0).b = []byte("U+1F47C") }, refusedAtOpen, "encrypted", nil)
	row("empty crypto parameters", "own gz", func(m *model) { m.find(t, "crypto parameters", 0).b = nil }, refusedAtOpen, "encrypted", nil)
	// Meta index.
	row("meta name without data:", "own gz", func(m *model) { m.find(t, "meta name", 0).b[0] = 'D' }, refusedAtOpen, "prefix", func(m *model) []int64 { return []int64{m.blocksEnd() + 1} })
	row("unknown codec of a named block", "own gz", func(m *model) { m.find(t, "meta codec", 0).b = []byte("lzo") }, refusedAtOpen, `"lzo"`, nil)
	row("unknown default codec", "own gz", func(m *model) { m.find(t, "default codec", 0).b = []byte("lzo") }, refusedAtOpen, `"lzo"`, nil)
	row("meta blocks count too large", "own gz", func(m *model) { m.find(t, "meta blocks count", 0).set(9) }, refusedAtOpen, "meta index", atAnywhere)
	row("meta blocks count too small", "own gz", func(m *model) { m.find(t, "meta blocks count", 0).set(1) }, refusedAtOpen, "", atAnywhere)
	row("meta blocks in another order", "own gz", func(m *model) { m.reverseMetas() }, accepted, "", nil)
	row("meta index offset", "own gz", set("meta index offset", 0, 1<<40), refusedAtOpen, "meta index offset", end(36))
	row("RFile.index missing", "own gz", func(m *model) { m.renameMeta(t, indexName, "RFile.indey") }, refusedAtOpen, indexName, atMeta)
	row("unknown named block", "own gz", func(m *model) { m.renameMeta(t, bloomName, "acu_blooo") }, accepted, "", nil)
	// RFile.index.
	row("index magic", "own gz", set("index magic", 0, 7), refusedAtOpen, "magic", atIndex)
	for _, v := range []int64{0, 5, 9, -1} {
		row(fmt.Sprintf("index version %d", v), "own gz", set("index version", 0, v), refusedAtOpen, "version", nil)
	}
	row("bytes after the index", "own gz", func(m *model) {
		p := m.block(t, indexName, 0)
		p.fields = append(p.fields, &modelField{kind: fieldBytes, b: []byte{0}})
	}, refusedAtOpen, "too many", atIndex)
	row("groups count too large", "own gz", set("groups count", 0, 1<<30), refusedAtOpen, "number of groups", atIndex)
	row("two default groups", "own gz", func(m *model) {
		m.find(t, "group is default", 0).set(1)
		m.find(t, "group name length", 0).gone = true
		m.find(t, "group name", 0).gone = true
	}, refusedAtOpen, "default groups", atIndex)
	row("a family in two groups", "own gz", func(m *model) { m.find(t, "group family", 1).b = []byte("g") }, refusedAtOpen, `family "g"`, atIndex)
	row("a negative count of entries", "own gz", set("family entries count", 0, -1), refusedAtOpen, "count", atIndex)
	row("count 0 for a present family", "own gz", set("family entries count", 0, 0), refusedByVerify, "recorded with 0", atIndex)
	row("first key too great", "own gz", func(m *model) { m.find(t, "first key fields", 0).b[0] = 0x7f }, refusedByVerify, "first key", atIndex)
	row("first key too small", "own gz", func(m *model) { m.find(t, "first key fields", 0).b[0] = 0 }, refusedByVerify, "first key", atIndex)
	row("no first key", "own gz", func(m *model) {
		for _, f := range []string{"first key end", "first key end", "first key end", "first key end", "first key fields", "first key timestamp", "first key deleted"} {
			for _, at := range m.all() {
				if at.name == f && !at.gone {
					at.gone = true
					break
				}
			}
		}
		m.find(t, "has first key", 0).set(0)
	}, refusedAtOpen, "first key present", atIndex)
	row("key's ends descend", "own gz", set("first key end", 2, 0), refusedAtOpen, "field end", atIndex)
	row("key's length negative", "own gz", set("first key end", 3, -1), refusedAtOpen, "field end", atIndex)
	row("blocks count", "own gz", set("blocks count", 0, 3), refusedByVerify, "leaf entries", atIndex)
	row("sampler's version", "own gz", set("sampler version", 0, 2), refusedAtOpen, "sampler", atIndex)
	// Index nodes.
	row("hasNext false on an inner leaf", "own gz", set("node hasNext", 0, 0), refusedByVerify, "none of level 0 follows", atAnyNode)
	row("hasNext true on the last leaf", "own gz", func(m *model) { m.lastNode(t).set(1) }, refusedByVerify, "says that", atAnyNode)
	row("node offset 0", "own gz", set("node offset", 1, 0), refusedByVerify, "offset 0", atAnyNode)
	row("offset array inconsistent", "own gz", set("node entry start", 1, 3), refusedByScan, "index", atAnyNode)
	row("offset array descends", "own gz", set("node entry start", 1, -1), refusedByScan, "index entry", atAnyNode)
	row("bytes after a node", "own gz", func(m *model) {
		p := m.block(t, "index node", 0)
		p.fields = append(p.fields, &modelField{kind: fieldBytes, b: []byte{0}})
	}, refusedByScan, "too many", atBlock("index node", 0))
	row("child's level", "own gz", set("node level", 0, 1), refusedByScan, "level 1 below", atBlock("index node", 0))
	row("child's last key", "own gz", func(m *model) {
		p := m.block(t, "index node", 0)
		for _, f := range slices.Backward(p.fields) {
			if f.name == "index key timestamp" {
				f.set(f.n - 1)
				return
			}
		}
	}, refusedByScan, "where the level above says", atBlock("index node", 0))
	row("a region before the blocks", "own gz", set("region offset", 0, 3), refusedByScan, "points at", atAnyNode)
	row("a region behind the blocks", "own gz", set("region offset", 0, 1<<40), refusedByScan, "points at", atAnyNode)
	row("an integer of no form", "own gz", func(m *model) {
		f := m.find(t, "region offset", 0)
		f.kind, f.b = fieldBytes, []byte{0x81}
	}, refusedByScan, "index entry", atAnyNode)
	row("a region of negative size", "own gz", set("region stored size", 0, -1), refusedByScan, "region", atAnyNode)
	row("raw size too large", "own gz", func(m *model) { m.block(t, "data block", 0).raw = 5000 }, refusedByScan, "less than the stated raw size", atData)
	row("raw size too small", "own gz", func(m *model) { m.block(t, "data block", 0).raw = 20 }, refusedByScan, "more than the stated raw size", atData)
	row("numEntries too small", "own gz", func(m *model) { f := m.find(t, "block entries count", 0); f.set(f.n - 1) }, refusedByScan, "after the last entry", atAnyData)
	row("numEntries too large", "own gz", func(m *model) { f := m.find(t, "block entries count", 0); f.set(f.n + 1) }, refusedByScan, "block ends", atAnyData)
	row("numEntries 0", "own gz", set("block entries count", 0, 0), refusedByScan, "counts 0", atAnyNode)
	row("numEntries negative", "own gz", set("block entries count", 0, -5), refusedByScan, "counts -5", atAnyNode)
	// Data blocks.
	row("negative length in a key", "own gz", set("row length", 0, -1), refusedByScan, "field of -1 bytes", atData)
	row("overlong length in a key", "own gz", set("row length", 0, 1<<40), refusedByScan, "bytes left", atData)
	row("negative length of a value", "own gz", set("value length", 0, -1), refusedByScan, "value of -1 bytes", atData)
	row("prefix longer than the field", "own gz", func(m *model) { f := m.find(t, "row prefix", 0); f.set(100) }, refusedByScan, "shared prefix of 100", atAnyData)
	row("prefix negative", "own gz", set("row prefix", 0, -1), refusedByScan, "shared prefix of -1", atAnyData)
	for _, bit := range []int64{flagRowSame, flagFamSame, flagQualSame, flagVisSame, flagTSSame} {
		row(fmt.Sprintf("reference bit %02x on a first key", bit), "own gz", func(m *model) { f := m.find(t, "flags", 0); f.set(f.n | bit) }, refusedByScan, "refer to a key before it", atData)
	}
	row("prefix bits on a first key", "own gz", func(m *model) {
		f := m.find(t, "flags", 0)
		f.set(f.n | flagPrefixes)
	}, refusedByScan, "key", atData)
	row("unknown flag", "own gz", func(m *model) { f := m.find(t, "flags", 0); f.set(f.n | 0x40) }, refusedByScan, "unknown key flags", atData)
	row("keys out of order inside a block", "own gz", func(m *model) { m.reorder(t, 0, func(all []tablet.Entry) { all[0], all[1] = all[1], all[0] }) }, refusedByScan, "follows", atData)
	row("keys out of order across blocks", "own gz", func(m *model) {
		a, b := m.block(t, "data block", 0), m.block(t, "data block", 1)
		a.fields, b.fields = b.fields, a.fields
		x, y := m.find(t, "block entries count", 0), m.find(t, "block entries count", 1)
		n := x.n
		x.set(y.n)
		y.set(n)
	}, refusedByScan, "index key", atData)
	row("damaged codec stream", "own gz", func(m *model) {
		m.block(t, "data block", 0).change = func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
	}, refusedByScan, "codec gz", atData)
	row("bytes after a codec stream", "own gz", func(m *model) {
		m.block(t, "data block", 0).change = func(b []byte) []byte { return append(b, 0) }
	}, refusedByScan, "left over", atData)
	// What need not be so: shortest prefixes and integers, and the count of regions, are free.
	row("no prefix where there could be one", "own gz", func(m *model) {
		m.reorder(t, 0, nil)
	}, accepted, "", nil)
	row("families in another order", "own gz", func(m *model) { m.swapFamilies(t) }, accepted, "", nil)
	row("container lists regions", "own gz", func(m *model) {
		p := m.block(t, "BCFile.index", 0)
		m.find(t, "regions count", 0).set(1)
		p.fields = append(p.fields, &modelField{kind: fieldBytes, b: bcfile.AppendRegion(nil, bcfile.Region{Offset: 16, Stored: 5, Raw: 5})})
	}, accepted, "", nil)
	row("offset array of version 4", "version 4", set("index entry start", 1, 3), refusedAtOpen, "start of index entry 1", atIndex)
	row("index size of version 4", "version 4", set("index size", 0, 3), refusedAtOpen, "index size", atIndex)
	row("start block of version 4", "version 4", set("group start block", 0, 1<<30), refusedAtOpen, "blocks", atIndex)
	row("fewer regions than blocks", "version 4", func(m *model) {
		m.find(t, "regions count", 0).set(1)
		p := m.block(t, "BCFile.index", 0)
		p.fields = p.fields[:6] // codec, count, one region
	}, refusedAtOpen, "blocks", atIndex)
	// Bloom filters.
	row("filter's version", "own gz", set("bloom version", 0, -3), refusedByVerify, "version is -3", atBlock(bloomName, 0))
	row("filter's hashes", "own gz", set("bloom hashes count", 0, 1<<30), refusedByVerify, "hashes", atBlock(bloomName, 0))
	row("filter's rows", "own gz", set("bloom rows count", 0, 1<<30), refusedByVerify, "number of rows", atBlock(bloomName, 0))
	row("filter lacks keys", "own gz", func(m *model) { clear(m.find(t, "bloom words", 0).b) }, refusedByVerify, "lacks", atBlock(bloomName, 0))
	row("filter of an unknown functor", "own gz", func(m *model) { m.find(t, "bloom functor", 0).b = []byte("com.example.F") }, accepted, "", nil)
}

// answerOf opens, scans and verifies a file.
func answerOf(t *testing.T, file []byte, content string) (answer, error) {
	t.Helper()
	r, err := openBytes(t, file)
	if err != nil {
		return refusedAtOpen, err
	}
	defer r.Close()
	ctx := context.Background()
	held := ""
	for _, g := range r.Groups() {
		all, err := scanAll(ctx, r, g)
		if err != nil {
			return refusedByScan, err
		}
		d := NewDigest()
		for _, e := range all {
			d.Add(&e.Key, e.Value)
		}
		held += g.String() + d.Hex()
	}
	if held != content {
		t.Errorf("other entries were read")
	}
	if _, err := verifyAll(ctx, r); err != nil {
		return refusedByVerify, err
	}
	return accepted, nil
}

// blocksEnd is the offset of the meta index in the file written last.
func (m *model) blocksEnd() int64 {
	if len(m.parts) == 0 {
		return 16
	}
	return m.parts[len(m.parts)-1].region.End()
}

// lastNode finds the flag of the first group's last leaf node that no other follows.
func (m *model) lastNode(t *testing.T) *modelField {
	for _, p := range m.parts {
		for _, f := range p.fields {
			if p.name == "index node" && f.name == "node hasNext" && f.n == 0 {
				return f
			}
		}
	}
	t.Fatal("no last node")
	return nil
}

func (m *model) renameMeta(t *testing.T, from, to string) {
	for _, f := range m.meta {
		if f.name == "meta name" && string(f.b) == "data:"+from {
			f.b = []byte("data:" + to)
			return
		}
	}
	t.Fatalf("no block %s", from)
}

// reverseMetas writes the entries of the meta index in the other order; each has seven fields.
func (m *model) reverseMetas() {
	entries := slices.Collect(slices.Chunk(m.meta[1:], 7))
	slices.Reverse(entries)
	m.meta = append(m.meta[:1:1], slices.Concat(entries...)...)
}

// reorder decodes a data block, lets a function change the entries, and encodes them again, without any prefix.
func (m *model) reorder(t *testing.T, block int, change func([]tablet.Entry)) {
	p := m.block(t, "data block", block)
	all, err := plainDecode(encode(p.fields), -1)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(all)
		p.fields = []*modelField{{kind: fieldBytes, b: blockOf(all)}}
		return
	}
	var b []byte
	for i := range all {
		at := len(b)
		b = appendFirst(b, all[i].Key, all[i].Value)
		if bytes.IndexByte(b[at:at+1], flagPrefixes) >= 0 {
			t.Fatal("a key on its own has a prefix")
		}
	}
	p.fields = []*modelField{{kind: fieldBytes, b: b}}
}

func (m *model) swapFamilies(t *testing.T) {
	p := m.block(t, indexName, 0)
	for i, f := range p.fields {
		if f.name == "families count" && f.n == 2 {
			a, b := slices.Clone(p.fields[i+1:i+4]), slices.Clone(p.fields[i+4:i+7])
			copy(p.fields[i+1:], append(b, a...))
			return
		}
	}
	t.Fatal("no group of two families")
}
