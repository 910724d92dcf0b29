package rfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"millrace/internal/wire"
	"millrace/tablet/rfile/bcfile"
)

// A model is a file taken apart into fields, so that a test can change one of them and write the file again with all
// that follows from it put right, or not. What a field would be in a sound file is its link; a changed field is fixed.

type fieldKind uint8

const (
	fieldU8 fieldKind = iota
	fieldI16
	fieldI32
	fieldI64
	fieldHV
	fieldTV
	fieldBytes
)

type modelField struct {
	name  string
	kind  fieldKind
	n     int64
	b     []byte
	link  func(at map[*modelField]int) int64 // nil: n is what was read
	fixed bool
	gone  bool // not written
}

// modelPart is a block.
type modelPart struct {
	name   string
	fields []*modelField
	codec  string // empty: the file's
	change func(stored []byte) []byte
	raw    int64 // stated raw size, where it is not the true one; -1 otherwise
	region bcfile.Region
	was    struct{ raw, stored []byte }
	wasBy  string
}

type modelSums uint8

const (
	sumsNone modelSums = iota
	sumsRepaired
	sumsStale // as in the file that was read
)

type model struct {
	name   string
	codec  string
	head   *modelField // first magic
	parts  []*modelPart
	meta   []*modelField
	tail   []*modelField
	sums   modelSums
	old    []byte // encoded sums of the file that was read
	crypto bool
	bytes  int // of the file that was read
}

// modelReader takes fields off a raw block.
type modelReader struct {
	t      testing.TB
	b      []byte
	at     int
	fields []*modelField
}

func (r *modelReader) add(name string, kind fieldKind, n int64, size int) *modelField {
	r.at += size
	f := &modelField{name: name, kind: kind, n: n}
	r.fields = append(r.fields, f)
	return f
}

func (r *modelReader) u8(name string) *modelField {
	return r.add(name, fieldU8, int64(r.b[r.at]), 1)
}

func (r *modelReader) i16(name string) *modelField {
	return r.add(name, fieldI16, int64(binary.BigEndian.Uint16(r.b[r.at:])), 2)
}

func (r *modelReader) i32(name string) *modelField {
	return r.add(name, fieldI32, int64(int32(binary.BigEndian.Uint32(r.b[r.at:]))), 4)
}

func (r *modelReader) i64(name string) *modelField {
	return r.add(name, fieldI64, int64(binary.BigEndian.Uint64(r.b[r.at:])), 8)
}

func (r *modelReader) hv(name string) *modelField {
	v, n, err := wire.HVLong(r.b[r.at:])
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	return r.add(name, fieldHV, v, n)
}

func (r *modelReader) tv(name string) *modelField {
	v, n, err := wire.TVLong(r.b[r.at:])
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	return r.add(name, fieldTV, v, n)
}

func (r *modelReader) bytes(name string, n int64) *modelField {
	f := r.add(name, fieldBytes, 0, int(n))
	f.b = bytes.Clone(r.b[r.at-int(n) : r.at])
	return f
}

// sized reads a length and the bytes that it counts; the length follows the bytes.
func (r *modelReader) sized(name string, length func(string) *modelField) *modelField {
	n := length(name + " length")
	b := r.bytes(name, n.n)
	n.link = func(map[*modelField]int) int64 { return int64(len(b.b)) }
	return b
}

func (r *modelReader) key(name string) {
	var ends [4]*modelField
	for i := range ends {
		ends[i] = r.hv(name + " end")
	}
	r.bytes(name+" fields", ends[3].n)
	r.hv(name + " timestamp")
	r.u8(name + " deleted")
}

func (f *modelField) value(at map[*modelField]int) int64 {
	if f.link != nil && !f.fixed {
		return f.link(at)
	}
	return f.n
}

func (f *modelField) append(dst []byte, at map[*modelField]int) []byte {
	n := f.value(at)
	switch {
	case f.gone:
		return dst
	case f.kind == fieldU8:
		return append(dst, byte(n))
	case f.kind == fieldI16:
		return binary.BigEndian.AppendUint16(dst, uint16(n))
	case f.kind == fieldI32:
		return binary.BigEndian.AppendUint32(dst, uint32(n))
	case f.kind == fieldI64:
		return binary.BigEndian.AppendUint64(dst, uint64(n))
	case f.kind == fieldHV:
		return wire.AppendHVLong(dst, n)
	case f.kind == fieldTV:
		return wire.AppendTVLong(dst, n)
	}
	return append(dst, f.b...)
}

// encode writes fields. The first round finds out where they lie; the second knows it. Fields that say where others lie
// are of fixed size.
func encode(fields []*modelField) []byte {
	at := map[*modelField]int{}
	var out []byte
	for range 2 {
		out = out[:0]
		for _, f := range fields {
			at[f] = len(out)
			out = f.append(out, at)
		}
	}
	return out
}

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

// write puts the file together.
func (m *model) write(t testing.TB) []byte {
	t.Helper()
	out := bytes.Clone(m.head.b)
	table := make([]byte, 0, 1024)
	for _, p := range m.parts {
		stored := p.store(t, m.codec)
		p.region = bcfile.Region{Offset: int64(len(out)), Stored: int64(len(stored)), Raw: int64(len(p.was.raw))}
		if p.raw >= 0 {
			p.region.Raw = p.raw
		}
		if len(stored) > 0 {
			table = appendSum(table, p.region.Offset, stored)
		}
		out = append(out, stored...)
	}
	switch m.sums {
	case sumsRepaired:
		n := 32 + len(table) + 20
		end := m.end(int64(len(out)), int64(n))
		return append(append(out, m.encodeSums(table, end)...), end...)
	case sumsStale:
		end := m.end(int64(len(out)), int64(len(m.old)))
		return append(append(out, m.old...), end...)
	}
	return append(out, m.end(int64(len(out)), 0)...)
}

// store encodes and compresses a part.
func (p *modelPart) store(t testing.TB, codec string) []byte {
	t.Helper()
	if p.codec != "" {
		codec = p.codec
	}
	raw := encode(p.fields)
	if p.wasBy != codec || !bytes.Equal(raw, p.was.raw) {
		c, err := bcfile.NewCompressor(codec, 0)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := c.Compress(nil, raw)
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
		p.was.raw, p.was.stored, p.wasBy = raw, stored, codec
	}
	if p.change != nil {
		return p.change(bytes.Clone(p.was.stored))
	}
	return p.was.stored
}

// end encodes what follows the blocks, of which sums, if they are not of no bytes, are the last.
func (m *model) end(blocks, sums int64) []byte {
	meta := slices.Clone(m.meta)
	if sums > 0 {
		var s []byte
		s = wire.AppendTString(s, "data:"+bcfile.SumsName)
		s = wire.AppendTString(s, bcfile.None)
		s = bcfile.AppendRegion(s, bcfile.Region{Offset: blocks, Stored: sums, Raw: sums})
		if count := meta[0]; count.kind == fieldTV && !count.fixed {
			more := *count
			more.n++
			meta[0] = &more
		}
		meta = append(meta, &modelField{name: "meta of sums", kind: fieldBytes, b: s})
	}
	out := encode(meta)
	tail := slices.Clone(m.tail)
	offsets := []int64{blocks + sums, blocks + sums + int64(len(out))}
	for i, f := range tail {
		if f.kind == fieldI64 && !f.fixed && len(offsets) > 0 {
			set := *f
			set.n, offsets = offsets[0], offsets[1:]
			tail[i] = &set
		}
	}
	return append(out, encode(tail)...)
}

var castagnoliTable = crc32.MakeTable(crc32.Castagnoli)

func appendSum(dst []byte, offset int64, stored []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(offset))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(stored)))
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(stored, castagnoliTable))
}

// encodeSums makes the block of checksums from its description in package bcfile.
func (m *model) encodeSums(table, end []byte) []byte {
	out := append([]byte("MRSUMS\x1a\n"), 0, 1, 0, 0)
	out = binary.BigEndian.AppendUint32(out, uint32(len(table)/16))
	out = append(append(out, m.old[16:32]...), table...)
	out = binary.BigEndian.AppendUint32(out, crc32.Update(crc32.Checksum(m.head.b, castagnoliTable), castagnoliTable, end))
	out = binary.BigEndian.AppendUint32(out, uint32(len(out)+16))
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoliTable))
	return append(out, "\n\x1asmusRM"...)
}

// all lists every field with the part it is in; meta index and trailer are parts without a name here.
func (m *model) all() (fields []*modelField) {
	for _, p := range m.parts {
		fields = append(fields, p.fields...)
	}
	return append(append(fields, m.meta...), m.tail...)
}

// find returns the i-th field of a name.
func (m *model) find(t testing.TB, name string, i int) *modelField {
	t.Helper()
	for _, f := range m.all() {
		if f.name == name {
			if i == 0 {
				return f
			}
			i--
		}
	}
	t.Fatalf("%s has no %s", m.name, name)
	return nil
}

// block returns the i-th part of a name.
func (m *model) block(t testing.TB, name string, i int) *modelPart {
	t.Helper()
	for _, p := range m.parts {
		if p.name == name {
			if i == 0 {
				return p
			}
			i--
		}
	}
	t.Fatalf("%s has no %s", m.name, name)
	return nil
}

// set fixes a field at a value.
func (f *modelField) set(n int64) { f.n, f.fixed = n, true }

// TestModel takes files apart and puts them together: with nothing changed they read as before, and ours come out byte
// for byte.
func TestModel(t *testing.T) {
	for name, file := range modelFiles(t) {
		m := takeApart(t, name, file)
		again := m.write(t)
		if m.old != nil && !bytes.Equal(again, file) {
			t.Errorf("%s differs from byte %d on", name, commonPrefix(again, file))
		}
		if got, want := contentOf(t, again), contentOf(t, file); got != want {
			t.Errorf("%s holds other entries", name)
		}
	}
}

func commonPrefix(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// contentOf is a digest of all groups of a sound file.
func contentOf(t testing.TB, file []byte) string {
	t.Helper()
	r, err := openBytes(t, file)
	if err != nil {
		t.Fatal(err)
	}
	reports, err := r.Verify(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := ""
	for _, g := range reports {
		s += g.Group.String() + g.SHA256
	}
	return s
}

// modelFiles are small files of every kind: ours in each codec with groups, samples, a filter, sums and a deep index, and
// those of Accumulo's that are at hand and in a codec that can be written.
func modelFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files := ownFiles(t)
	for _, path := range goldenPaths(t) {
		g := loadGolden(t, path)
		if g.Size > 80_000 || g.Codec == bcfile.Bzip2 {
			continue
		}
		files[g.File] = readGolden(t, path, g.File)
	}
	return files
}
