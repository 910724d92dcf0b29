package bcfile

import (
	"context"
	"encoding/binary"
	"testing"

	"millrace/internal/wire"
)

// crafted assembles a file from parts, any of which may be wrong. The data block is "hello", stored plainly at 16, and
// BCFile.index follows it.
type crafted struct {
	count   int    // of meta entries; -1: as many as there are
	extra   []byte // entries beside BCFile.index
	omit    bool   // BCFile.index
	junk    []byte // behind the meta index
	index   []byte // content of BCFile.index
	footer  []byte // crypto section and trailer
	version Version
	magic   string
}

func entry(name, codec string, r Region) []byte {
	return AppendRegion(wire.AppendTString(wire.AppendTString(nil, name), codec), r)
}

func (c crafted) bytes() []byte {
	if c.index == nil {
		c.index = appendIndexBlock(nil, None)
	}
	if c.version == (Version{}) {
		c.version = V1
	}
	if c.magic == "" {
		c.magic = magic
	}
	data := append([]byte(c.magic), "hello"...)
	at := int64(len(data))
	data = append(data, c.index...)
	metaIndex := int64(len(data))
	var entries []byte
	n := c.count
	if !c.omit {
		entries = entry(metaPrefix+indexName, None, Region{at, int64(len(c.index)), int64(len(c.index))})
	}
	entries = append(entries, c.extra...)
	data = append(wire.AppendTVInt(data, n), entries...)
	data = append(data, c.junk...)
	if c.footer != nil {
		return append(data, c.footer...)
	}
	return appendFooter(data, c.version, metaIndex, int64(len(data))-metaIndex)
}

func TestStrictOpening(t *testing.T) {
	hello := Region{16, 5, 5}
	opens := func(what string, c crafted) {
		t.Helper()
		for _, c.version = range versions {
			if _, err := Open(mem(c.bytes()), ReaderOptions{}); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	damaged := func(what string, c crafted) {
		t.Helper()
		for _, c.version = range versions {
			data := c.bytes()
			_, err := Open(mem(data), ReaderOptions{})
			t.Log(what, ": ", err)
			corruptAt(t, err, 0, int64(len(data)))
		}
	}
	odd := func(what string, c crafted) {
		t.Helper()
		_, err := Open(mem(c.bytes()), ReaderOptions{})
		t.Log(what, ": ", err)
		unsupported(t, err)
	}
	opens("plain", crafted{count: 1})
	opens("a wrong first magic, without sums", crafted{count: 1, magic: "0123456789abcdef"})
	opens("an unknown block", crafted{count: 2, extra: entry("data:z", None, hello)})
	opens("an empty block at the end", crafted{count: 2, extra: entry("data:z", None, Region{27, 0, 0})})
	opens("blocks listed by BCFile.index", crafted{count: 1, index: AppendRegion([]byte("\x04none\x01"), hello)})

	damaged("count too small", crafted{count: 1, extra: entry("data:z", None, hello)})
	damaged("count too great", crafted{count: 2})
	damaged("count huge", crafted{count: 1<<31 - 1})
	damaged("count negative", crafted{count: -5})
	damaged("junk behind the meta index", crafted{count: 1, junk: []byte{0}})
	damaged("no prefix", crafted{count: 2, extra: entry("z", None, hello)})
	damaged("no BCFile.index", crafted{count: 1, omit: true, extra: entry("data:z", None, hello)})
	damaged("region before the blocks", crafted{count: 2, extra: entry("data:z", None, Region{15, 5, 5})})
	damaged("region into the meta index", crafted{count: 2, extra: entry("data:z", None, Region{16, 500, 500})})
	damaged("region that overflows", crafted{count: 2, extra: entry("data:z", None, Region{1<<63 - 1, 1<<63 - 1, 5})})
	damaged("negative region", crafted{count: 2, extra: entry("data:z", None, Region{16, -1, 5})})
	damaged("null name", crafted{count: 2, extra: []byte("\xff\x04none\x10\x05\x05aaaaaaaa")})
	damaged("BCFile.index with junk", crafted{count: 1, index: []byte("\x04none\x00\x00")})
	damaged("BCFile.index cut", crafted{count: 1, index: []byte("\x04none")})
	damaged("BCFile.index of too many blocks", crafted{count: 1, index: []byte("\x04none\x7f")})
	damaged("BCFile.index of -1 blocks", crafted{count: 1, index: []byte("\x04none\xff")})
	damaged("BCFile.index of a region outside", crafted{count: 1, index: AppendRegion([]byte("\x04none\x01"), Region{16, 99, 99})})
	damaged("sums that are none", crafted{count: 2, extra: entry("data:"+SumsName, None, Region{21, 6, 6})})
	damaged("sums that are compressed", crafted{count: 2, extra: entry("data:"+SumsName, Gz, Region{21, 6, 6})})

	odd("lzo", crafted{count: 2, extra: entry("data:z", "lzo", hello)})
	odd("default codec lzo", crafted{count: 1, index: []byte("\x03lzo\x00")})
	odd("version 2.0", crafted{count: 1, footer: trailer(Version{2, 0})})
	odd("version 1.1", crafted{count: 1, footer: trailer(Version{1, 1})})
	odd("version 3.7", crafted{count: 1, footer: trailer(Version{3, 7})})
	odd("encrypted", crafted{count: 1, footer: encrypted("\x00\x03AES")})
	odd("no crypto parameters", crafted{count: 1, footer: encrypted("")})
}

// trailer has the offsets of a crafted file of one entry, but another version.
func trailer(v Version) []byte {
	b := appendFooter(nil, V3, 27, 26)
	b = b[:len(b)-magicBytes-4]
	b = binary.BigEndian.AppendUint16(b, v.Major)
	b = binary.BigEndian.AppendUint16(b, v.Minor)
	return append(b, magic...)
}

func encrypted(parameters string) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(parameters)))
	b = append(b, parameters...)
	indexBytes := int64(len(wire.AppendTVInt(nil, 1)) + len(entry(metaPrefix+indexName, None, Region{21, 6, 6})))
	return append(b, appendFooter(nil, V3, 27, indexBytes)[4+len(plainCrypto):]...)
}

func TestLaterDuplicateReplaces(t *testing.T) {
	extra := append(entry("data:z", None, Region{16, 1, 1}), entry("data:z", None, Region{17, 3, 3})...)
	r := mustOpen(t, crafted{count: 3, extra: extra}.bytes(), ReaderOptions{})
	m, ok := r.Meta("z")
	if !ok || len(r.Metas()) != 2 {
		t.Fatalf("%v", r.Metas())
	}
	if got, err := r.ReadMeta(m); err != nil || string(got) != "ell" {
		t.Errorf("%q, %v", got, err)
	}
}

// TestNamesOutsideSums makes files whose sums are sound but do not fit the meta index.
func TestNamesOutsideSums(t *testing.T) {
	// craft writes one block and gives the meta index the names that change leaves.
	craft := func(gap string, change func(metas []MetaBlock) []MetaBlock) []byte {
		f := mem(nil)
		w, err := NewWriter(f, WriterOptions{Codec: None})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.WriteBlock([]byte("hello")); err != nil {
			t.Fatal(err)
		}
		if err := w.meta(indexName, appendIndexBlock(nil, None)); err != nil {
			t.Fatal(err)
		}
		w.put([]byte(gap))
		r := Region{w.offset, w.sums.bytes(), w.sums.bytes()}
		w.metas = change(append(w.metas, MetaBlock{SumsName, None, r}))
		ending := w.ending(r.End())
		w.put(w.sums.encode(testID(1), outsideOf(ending)))
		w.put(ending)
		if err := w.out.Flush(); err != nil {
			t.Fatal(err)
		}
		return f.data
	}
	same := func(m []MetaBlock) []MetaBlock { return m }
	if _, err := Verify(context.Background(), mem(craft("", same)), nil); err != nil {
		t.Fatal(err)
	}
	bad := func(what, gap string, change func([]MetaBlock) []MetaBlock) {
		t.Helper()
		data := craft(gap, change)
		_, err := Open(mem(data), ReaderOptions{})
		t.Log(what, ": ", err)
		corruptAt(t, err, 0, int64(len(data)))
		_, err = Verify(context.Background(), mem(data), nil)
		corruptAt(t, err, 0, int64(len(data)))
	}
	bad("sums under another name", "", func(m []MetaBlock) []MetaBlock { m[1].Name = "other"; return m })
	bad("sums under no name", "", func(m []MetaBlock) []MetaBlock { return m[:1] })
	bad("a block that is not listed", "", func(m []MetaBlock) []MetaBlock {
		return append(m, MetaBlock{"z", None, Region{17, 2, 2}})
	})
	bad("sums in another place", "", func(m []MetaBlock) []MetaBlock { m[1].Region.Offset--; return m })
	bad("bytes between the last block and the sums", "gap", same)
	bad("sums by two names", "", func(m []MetaBlock) []MetaBlock { return append(m, MetaBlock{"z", None, m[1].Region}) })
}

// TestLimits reads blocks over the reader's own limit.
func TestLimits(t *testing.T) {
	f := build(t, WriterOptions{Codec: Gz, NoSums: true}, text(1, 5000))
	r := mustOpen(t, f.data, ReaderOptions{MaxBlockBytes: 4999})
	_, err := r.NewBlockReader().Read(f.regions[0])
	unsupported(t, err)
	r = mustOpen(t, f.data, ReaderOptions{MaxBlockBytes: 5000})
	if _, err := r.NewBlockReader().Read(f.regions[0]); err != nil {
		t.Error(err)
	}
	_, err = r.NewBlockReader().Read(Region{1<<63 - 1, 5, 5})
	corruptAt(t, err, 1<<63-1, -1<<63)
	reg := f.regions[0]
	for _, reg.Raw = range []int64{0, 4999, 5001, 1 << 20, 1 << 31, 1 << 62} {
		_, err := mustOpen(t, f.data, ReaderOptions{}).NewBlockReader().Read(reg)
		corruptAt(t, err, reg.Offset, reg.Offset+1)
	}
}

func FuzzOpen(f *testing.F) {
	for _, v := range versions {
		for _, noSums := range []bool{false, true} {
			f.Add(build(f, WriterOptions{Codec: Gz, Version: v, NoSums: noSums, FileID: testID(1)}, text(1, 100)).data)
		}
		f.Add(crafted{count: 1, version: v}.bytes())
	}
	f.Add(build(f, WriterOptions{Codec: LZ4, FileID: testID(1)}, text(1, 100)).data)
	opts := ReaderOptions{MaxBlockBytes: 1 << 20}
	f.Fuzz(func(t *testing.T, data []byte) {
		typed := func(err error) {
			if err != nil && !isTyped(err) {
				t.Fatal(err)
			}
		}
		_, verifyErr := VerifyWith(context.Background(), mem(data), opts, nil)
		typed(verifyErr)
		r, err := Open(mem(data), opts)
		if typed(err); err != nil {
			return
		}
		for _, m := range r.Metas() {
			raw, err := r.ReadMeta(m)
			if typed(err); err == nil && int64(len(raw)) != m.Region.Raw {
				t.Fatalf("%+v gives %d bytes", m, len(raw))
			} else if err != nil && verifyErr == nil {
				t.Fatal("Verify did not find:", err)
			}
		}
		b := r.NewBlockReader()
		for at := int64(0); at < r.Size(); at += 7 {
			raw, err := b.Read(Region{at, 40, 100})
			if typed(err); err == nil && len(raw) != 100 {
				t.Fatalf("%d bytes at %d", len(raw), at)
			}
		}
	})
}
