package rfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"millrace/internal/wire"
	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// olderDir holds a file of each version before 8, made by olderFile. Accumulo's own are not part of the tree.
const olderDir = "testdata/older"

// olderVersion makes files of a version that is no longer written, from its description.
type olderVersion struct {
	t       testing.TB
	version int
	out     []byte
	blocks  []bcfile.Region // data blocks, over all groups
	codec   bcfile.Compressor
}

// olderFile writes entries into the groups g (families g and h) and the default one, blocks of 7 entries, and nodes of 3
// where the version has nodes.
func olderFile(t testing.TB, version int, all []tablet.Entry) []byte {
	t.Helper()
	c, err := bcfile.NewCompressor(bcfile.Gz, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w := &olderVersion{t: t, version: version, codec: c, out: slices.Concat(fileMagic)}
	inG := func(e tablet.Entry) bool { f := string(e.Key.Family()); return f == "g" || f == "h" }
	var named, rest []tablet.Entry
	for _, e := range all {
		if inG(e) {
			named = append(named, e)
		} else {
			rest = append(rest, e)
		}
	}
	index := binary.BigEndian.AppendUint32(nil, indexMagic)
	index = binary.BigEndian.AppendUint32(index, uint32(version))
	index = binary.BigEndian.AppendUint32(index, 2)
	index = w.group(index, "g", []string{"g", "h"}, named)
	index = w.group(index, "", []string{"f"}, rest)
	w.finish(index)
	return w.out
}

// fileMagic begins and ends a file.
var fileMagic = []byte{0xd1, 0x11, 0xd3, 0x68, 0x91, 0xb5, 0xd7, 0xb6, 0x39, 0xdf, 0x41, 0x40, 0x92, 0xba, 0xe1, 0x50}

func (w *olderVersion) block(raw []byte) bcfile.Region {
	stored, err := w.codec.Compress(nil, raw)
	if err != nil {
		w.t.Fatal(err)
	}
	r := bcfile.Region{Offset: int64(len(w.out)), Stored: int64(len(stored)), Raw: int64(len(raw))}
	w.out = append(w.out, stored...)
	return r
}

func (w *olderVersion) group(dst []byte, name string, families []string, all []tablet.Entry) []byte {
	u32 := binary.BigEndian.AppendUint32
	if name == "" {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0, 0, byte(len(name)))
		dst = append(dst, name...)
	}
	dst = u32(dst, uint32(len(w.blocks))) // the first block's number
	dst = u32(dst, uint32(len(families)))
	for _, f := range families {
		n := 0
		for _, e := range all {
			if string(e.Key.Family()) == f {
				n++
			}
		}
		dst = append(u32(dst, uint32(len(f))), f...)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	dst = appendKey(append(dst, 1), &all[0].Key)
	nodes := &olderNodes{w: w}
	for block := range slices.Chunk(all, 7) {
		r := w.block(w.encode(block))
		w.blocks = append(w.blocks, r)
		nodes.add(block[len(block)-1].Key, len(block), r) // index keys are not shortened
	}
	if w.version >= 6 {
		return nodes.tree(u32(dst, uint32(nodes.leaves)))
	}
	return nodes.list(dst)
}

// encode makes a data block. Prefixes came with version 7; before, timestamps were whole as well.
func (w *olderVersion) encode(block []tablet.Entry) []byte {
	if w.version >= 7 {
		return blockOf(block)
	}
	var dst []byte
	for i := range block {
		k := &block[i].Key
		fields := [4][]byte{k.Row(), k.Family(), k.Qualifier(), k.Visibility()}
		flags, at := byte(0), len(dst)
		dst = append(dst, 0)
		for j, f := range fields {
			if i > 0 {
				p := &block[i-1].Key
				if bytes.Equal(f, [4][]byte{p.Row(), p.Family(), p.Qualifier(), p.Visibility()}[j]) {
					flags |= 1 << j
					continue
				}
			}
			dst = append(wire.AppendHVLong(dst, int64(len(f))), f...)
		}
		if i > 0 && block[i-1].Key.Timestamp() == k.Timestamp() {
			flags |= flagTSSame
		} else {
			dst = wire.AppendHVLong(dst, k.Timestamp())
		}
		if k.Deleted() {
			flags |= flagDeleted
		}
		dst[at] = flags
		dst = append(binary.BigEndian.AppendUint32(dst, uint32(len(block[i].Value))), block[i].Value...)
	}
	return dst
}

// finish writes the named blocks and the end of the file.
func (w *olderVersion) finish(index []byte) {
	at := w.block(index)
	list := wire.AppendTString(nil, bcfile.Gz)
	if w.version <= 4 {
		list = wire.AppendTVInt(list, len(w.blocks))
		for _, r := range w.blocks {
			list = bcfile.AppendRegion(list, r)
		}
	} else {
		list = wire.AppendTVInt(list, 0)
	}
	listAt := w.block(list)
	end := int64(len(w.out))
	w.out = wire.AppendTVInt(w.out, 2)
	for _, m := range []struct {
		name string
		at   bcfile.Region
	}{{"BCFile.index", listAt}, {indexName, at}} {
		w.out = wire.AppendTString(wire.AppendTString(w.out, "data:"+m.name), bcfile.Gz)
		w.out = bcfile.AppendRegion(w.out, m.at)
	}
	w.out = binary.BigEndian.AppendUint64(w.out, uint64(end))
	w.out = append(append(w.out, 0, 1, 0, 0), fileMagic...)
}

// olderNodes are the leaf entries of a group, of which those before the last few lie in nodes of their own.
type olderNodes struct {
	w       *olderVersion
	leaves  int
	open    nodeOf
	parents nodeOf
}

type nodeOf struct {
	entries [][]byte
	last    tablet.Key
	offset  int // leaf entries before it
}

func (n *olderNodes) add(last tablet.Key, entries int, r bcfile.Region) {
	if n.w.version >= 6 && len(n.open.entries) == 3 {
		n.close(true)
	}
	e := binary.BigEndian.AppendUint32(appendKey(nil, &last), uint32(entries))
	if n.w.version >= 6 {
		e = bcfile.AppendRegion(e, r)
	}
	n.open.entries, n.open.last = append(n.open.entries, e), last
	n.leaves++
}

// close writes the open node where the file stands: among the data blocks, as 1.4.0 did.
func (n *olderNodes) close(more bool) {
	r := n.w.block(n.open.append(nil, 0, more))
	e := bcfile.AppendRegion(binary.BigEndian.AppendUint32(appendKey(nil, &n.open.last), 0), r)
	n.parents.entries = append(n.parents.entries, e)
	n.open = nodeOf{offset: n.leaves}
}

func (n *olderNodes) tree(dst []byte) []byte {
	if len(n.parents.entries) == 0 {
		return n.open.append(dst, 0, false)
	}
	n.close(false)
	return n.parents.append(dst, 1, false)
}

func (n *olderNodes) list(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(n.leaves))
	if n.w.version == 3 {
		return append(dst, slices.Concat(n.open.entries...)...)
	}
	return n.open.appendEntries(dst)
}

func (n *nodeOf) append(dst []byte, level int, more bool) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(level))
	dst = binary.BigEndian.AppendUint32(dst, uint32(n.offset))
	dst = append(dst, map[bool]byte{true: 1}[more])
	return n.appendEntries(binary.BigEndian.AppendUint32(dst, uint32(len(n.entries))))
}

func (n *nodeOf) appendEntries(dst []byte) []byte {
	at := 0
	for _, e := range n.entries {
		dst = binary.BigEndian.AppendUint32(dst, uint32(at))
		at += len(e)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(at))
	return append(dst, slices.Concat(n.entries...)...)
}

// olderEntries are what the files of older versions hold.
func olderEntries() []tablet.Entry {
	rng := rand.New(rand.NewPCG(2011, 4))
	return randomEntries(rng, 150, "abc", []string{"f", "g", "h"})
}

// TestOlderVersions makes a file of each version that is read and not written, and reads it in every way. The files in the
// tree, which the tests of commands use, are those.
func TestOlderVersions(t *testing.T) {
	ctx := context.Background()
	all := olderEntries()
	for _, version := range []int{3, 4, 6, 7} {
		file := olderFile(t, version, all)
		path := filepath.Join(olderDir, fmt.Sprintf("version%d.rf", version))
		if os.Getenv("MILLRACE_WRITE_OLDER") != "" { // makes them anew
			if err := os.WriteFile(path, file, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		held, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r := readBytes(t, held)
		if r.Version() != version || len(r.Groups()) != 2 || r.Groups()[0].IndexLevel() != map[bool]int{true: 1}[version >= 6] {
			t.Errorf("version %d, want %d; groups %v", r.Version(), version, r.Groups())
		}
		if err := readEverything(t, file); err != nil {
			t.Error(err)
		}
		if contentOf(t, held) != contentOf(t, file) { // a codec's bytes may differ from release to release
			t.Errorf("%s is not what is made now", path)
		}
		checkRanges(t, file)
		reports, err := verifyAll(ctx, r)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		var got []tablet.Entry
		for i, g := range r.Groups() {
			entries, err := scanAll(ctx, r, g)
			if err != nil || reports[i].Entries != int64(len(entries)) {
				t.Fatal(err, reports[i].Entries)
			}
			got = append(got, entries...)
		}
		sortEntries(got)
		sameEntries(t, path, got, all)
		for families, groups := range map[string]int{"f": 1, "g": 1, "h": 1, "x": 0} {
			if n := len(r.GroupsFor(tablet.OnlyFamilies([]byte(families)))); n != groups {
				t.Errorf("version %d: family %s is sought in %d groups", version, families, n)
			}
		}
	}
}
