package rfile

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"millrace/tablet/rfile/bcfile"
)

// takeApart makes a model of a sound file.
func takeApart(t testing.TB, name string, file []byte) *model {
	t.Helper()
	r := readBytes(t, file)
	bc := r.Container()
	m := &model{name: name, codec: bc.Codec(), crypto: bc.Version() == bcfile.V3, bytes: len(file)}
	m.head = &modelField{name: "first magic", kind: fieldBytes, b: bytes.Clone(file[:16])}
	if s := bc.Sums(); s != nil {
		m.sums, m.old = sumsRepaired, bytes.Clone(s.Bytes())
	}
	m.takeBlocks(t, r)
	m.takeMetas(t, r)
	m.takeEnd(t, file, bc)
	return m
}

// part finds the block that begins at an offset.
func (m *model) part(offset int64) *modelPart {
	for _, p := range m.parts {
		if p.region.Offset == offset {
			return p
		}
	}
	return nil
}

func (m *model) takeBlocks(t testing.TB, r *Reader) {
	t.Helper()
	type block struct {
		region  bcfile.Region
		entries int // −1: an index node
	}
	var all []block
	for _, g := range append(slices.Clone(r.Groups()), r.Samples()...) {
		err := r.Walk(context.Background(), g, Visitor{
			Node: func(n NodeInfo) error { all = append(all, block{n.Region, -1}); return nil },
			Leaf: func(l LeafInfo) error { all = append(all, block{l.Region, l.Entries}); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(all, func(a, b block) int { return int(a.region.Offset - b.region.Offset) })
	blocks := r.Container().NewBlockReader()
	for _, b := range all {
		raw, err := blocks.Read(b.region)
		if err != nil {
			t.Fatal(err)
		}
		fr := &modelReader{t: t, b: raw}
		p := &modelPart{name: "data block", region: b.region, raw: -1}
		m.parts = append(m.parts, p)
		if b.entries < 0 {
			p.name = "index node"
			m.takeNode(fr)
		} else {
			for range b.entries {
				takeEntry(fr)
			}
		}
		p.fields = fr.done()
	}
}

func (r *modelReader) done() []*modelField {
	if r.at != len(r.b) {
		r.t.Fatalf("%d bytes were not taken", len(r.b)-r.at)
	}
	return r.fields
}

// takeEntry reads one entry of a data block.
func takeEntry(r *modelReader) {
	flags := r.u8("flags").n
	prefixes := int64(0)
	if flags&flagPrefixes != 0 {
		prefixes = r.u8("prefix flags").n
	}
	for i, name := range []string{"row", "family", "qualifier", "visibility"} {
		if flags&(1<<i) != 0 {
			continue
		}
		if prefixes&(1<<i) != 0 {
			r.hv(name + " prefix")
		}
		r.sized(name, r.hv)
	}
	if flags&flagTSSame == 0 {
		r.hv("timestamp")
	}
	r.sized("value", r.i32)
}

// takeNode reads an index node.
func (m *model) takeNode(r *modelReader) {
	level := r.i32("node level").n
	r.i32("node offset")
	r.u8("node hasNext")
	n := r.i32("node entries count")
	starts := make([]*modelField, n.n)
	for i := range starts {
		starts[i] = r.i32("node entry start")
	}
	size := r.i32("node size")
	var base *modelField
	for i := range starts {
		first := len(r.fields)
		r.key("index key")
		begin := r.fields[first]
		if base == nil {
			base = begin
		}
		starts[i].link = func(at map[*modelField]int) int64 { return int64(at[begin] - at[base]) }
		r.i32(map[bool]string{true: "block entries count", false: "child entries count"}[level == 0])
		m.takeRegion(r)
	}
	end := r.bytes("node end", 0)
	if base == nil {
		base = end
	}
	size.link = func(at map[*modelField]int) int64 { return int64(at[end] - at[base]) }
}

// takeRegion reads a region, which follows the block that it points at.
func (m *model) takeRegion(r *modelReader) {
	offset, stored, raw := r.tv("region offset"), r.tv("region stored size"), r.tv("region raw size")
	m.linkRegion(m.part(offset.n), offset, stored, raw)
}

func (m *model) linkRegion(p *modelPart, offset, stored, raw *modelField) {
	if p == nil {
		return
	}
	offset.link = func(map[*modelField]int) int64 { return p.region.Offset }
	stored.link = func(map[*modelField]int) int64 { return p.region.Stored }
	raw.link = func(map[*modelField]int) int64 { return p.region.Raw }
}

func (m *model) takeMetas(t testing.TB, r *Reader) {
	t.Helper()
	metas := slices.Clone(r.Container().Metas())
	slices.SortFunc(metas, func(a, b bcfile.MetaBlock) int { return int(a.Region.Offset - b.Region.Offset) })
	for _, meta := range metas {
		if meta.Name == bcfile.SumsName {
			continue
		}
		raw, err := r.Container().ReadMeta(meta)
		if err != nil {
			t.Fatal(err)
		}
		fr := &modelReader{t: t, b: raw}
		switch meta.Name {
		case indexName:
			m.takeIndex(fr, r.Version())
		case "BCFile.index":
			fr.sized("default codec", fr.tv)
			for range fr.tv("regions count").n {
				m.takeRegion(fr)
			}
		case bloomName:
			takeBloom(fr)
		default:
			fr.bytes("content", int64(len(raw)))
		}
		m.parts = append(m.parts, &modelPart{name: meta.Name, fields: fr.done(), codec: meta.Codec, region: meta.Region, raw: -1})
	}
}

func (m *model) takeIndex(r *modelReader, version int) {
	r.i32("index magic")
	r.i32("index version")
	groups := r.i32("groups count").n
	for range groups {
		m.takeGroup(r, version)
	}
	if version < 8 {
		return
	}
	if r.u8("has samples").n == 0 {
		return
	}
	for range groups {
		m.takeGroup(r, version)
	}
	r.u8("sampler version")
	r.sized("sampler class", r.i16)
	for range r.i32("sampler options count").n {
		r.sized("sampler option", r.i16)
		r.sized("sampler option value", r.i16)
	}
}

func (m *model) takeGroup(r *modelReader, version int) {
	if r.u8("group is default").n == 0 {
		r.sized("group name", r.i16)
	}
	if version < 8 {
		r.i32("group start block")
	}
	for range r.i32("families count").n {
		r.sized("group family", r.i32)
		r.i64("family entries count")
	}
	if r.u8("has first key").n != 0 {
		r.key("first key")
	}
	if version > 4 {
		r.i32("blocks count")
		m.takeNode(r)
		return
	}
	n := r.i32("index entries count").n
	if version == 4 {
		for range n {
			r.i32("index entry start")
		}
		r.i32("index size")
	}
	for range n {
		r.key("index key")
		r.i32("block entries count")
	}
}

func takeBloom(r *modelReader) {
	header := func() {
		r.i32("bloom version")
		r.i32("bloom hashes count")
		r.u8("bloom hash type")
		r.i32("bloom vector size")
	}
	r.sized("bloom functor", r.i16)
	header()
	r.i32("bloom row keys count")
	r.i32("bloom last row count")
	for range r.i32("bloom rows count").n {
		header()
		r.bytes("bloom bit set head", int64(len(bitSetHead)))
		words := r.i32("bloom words count")
		r.bytes("bloom words", 8*words.n)
		r.bytes("bloom bit set tail", 1)
	}
}

// takeEnd reads meta index, crypto section and trailer.
func (m *model) takeEnd(t testing.TB, file []byte, bc *bcfile.Reader) {
	r := &modelReader{t: t, b: file[bc.MetaIndexOffset():]}
	count := r.tv("meta blocks count")
	for range count.n {
		first := len(r.fields)
		name := r.sized("meta name", r.tv)
		r.sized("meta codec", r.tv)
		offset, stored, raw := r.tv("meta offset"), r.tv("meta stored size"), r.tv("meta raw size")
		if string(name.b) == "data:"+bcfile.SumsName { // made again when the file is written
			r.fields = r.fields[:first]
			count.n--
			continue
		}
		m.linkRegion(m.part(offset.n), offset, stored, raw)
	}
	m.meta = r.fields
	r.fields = nil
	if m.crypto {
		r.sized("crypto parameters", r.i32)
	}
	r.i64("meta index offset")
	if m.crypto {
		r.i64("crypto offset")
	}
	r.i16("major version")
	r.i16("minor version")
	r.bytes("last magic", 16)
	m.tail = r.done()
}
