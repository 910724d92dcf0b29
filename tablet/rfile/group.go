package rfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"millrace/internal/wire"
	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// Group is one locality group of a file: a sorted run over some families. It is immutable once the file is open.
type Group struct {
	Name    string // empty for the default group
	Default bool
	// Families are those listed, with their entries; nil when the file does not track them. A listed family may have none.
	Families []FamilyCount
	// Tracked is false for a default group that met too many families to list.
	Tracked bool
	// FirstKey is the group's first key; HasFirstKey is false exactly when the group has no entry.
	FirstKey    tablet.Key
	HasFirstKey bool
	// Blocks is the recorded number of data blocks.
	Blocks int

	ordinal int
	sample  bool
	root    node
}

// FamilyCount is how many entries of a family a group holds.
type FamilyCount struct {
	Family []byte
	Count  int64
}

// IndexLevel is the level of the index's root: 0 when it points at data blocks.
func (g *Group) IndexLevel() int { return g.root.level }

// String names the group for messages.
func (g *Group) String() string {
	name := fmt.Sprintf("group %q", g.Name)
	if g.Default {
		name = "the default group"
	}
	if g.sample {
		return "the sample of " + name
	}
	return name
}

// wanted says whether a scan of the families must look into the group.
func (g *Group) wanted(f tablet.Families) bool {
	if f.All() {
		return true
	}
	if !g.Tracked {
		return !f.None()
	}
	return slices.ContainsFunc(g.Families, func(c FamilyCount) bool { return c.Count > 0 && f.Accepts(c.Family) })
}

// holdsOnly says whether the file says that a group has no entry of a family that is not wanted. A default group that does
// not list its families has none of those that other groups list.
func (r *Reader) holdsOnly(g *Group, f tablet.Families) bool {
	unwanted := func(c FamilyCount) bool { return c.Count > 0 && !f.Accepts(c.Family) }
	if g.Tracked {
		return !slices.ContainsFunc(g.Families, unwanted)
	}
	elsewhere := func(name []byte) bool {
		return slices.ContainsFunc(r.groups, func(o *Group) bool {
			return slices.ContainsFunc(o.Families, func(c FamilyCount) bool { return bytes.Equal(c.Family, name) })
		})
	}
	for _, name := range f.Names() {
		if f.Inclusive() || !elsewhere(name) {
			return false
		}
	}
	return true
}

// parseGroup reads a group's description. blocks are the container's data regions, for versions that find blocks by number.
func parseGroup(f *fields, version int, blocks []bcfile.Region) *Group {
	g := &Group{Default: f.bool("group's default flag")}
	if !g.Default {
		g.Name = f.string("group's name")
	}
	startBlock := 0
	if version < version8 {
		startBlock = f.int32("group's first block")
	}
	parseFamilies(f, g)
	if g.HasFirstKey = f.bool("group's first key flag"); g.HasFirstKey {
		g.FirstKey = f.key("group's first key")
	}
	if version <= 4 {
		parseList(f, g, version, blocks, startBlock)
		return g
	}
	if g.Blocks = f.int32("group's number of blocks"); g.Blocks < 0 {
		f.fail(fmt.Sprintf("group's number of blocks is %d", g.Blocks), wire.ErrMalformed)
	}
	if f.err != nil {
		return g
	}
	root, n, err := parseNode(f.b[f.at:])
	if err != nil {
		f.fail("index root", err)
	}
	g.root = root
	f.at += n
	return g
}

func parseFamilies(f *fields, g *Group) {
	n := f.int32("number of families")
	if n == -1 && g.Default {
		return
	}
	const familyBytes = 12
	if f.err == nil && (n < 0 || n > (len(f.b)-f.at)/familyBytes) {
		f.fail(fmt.Sprintf("number of families is %d with %d bytes left", n, len(f.b)-f.at), wire.ErrMalformed)
	}
	g.Tracked = true
	for range n {
		family := f.take("family", f.int32("family's length"))
		count := f.int64("family's count")
		if f.err != nil {
			return
		}
		if count < 0 {
			f.fail(fmt.Sprintf("family's count is %d", count), wire.ErrMalformed)
			return
		}
		g.Families = append(g.Families, FamilyCount{family, count})
	}
}

// parseList reads the flat index of versions 3 and 4 and makes a node of it, with the blocks' places looked up in the
// container's list, so that everything above sees one kind of index.
func parseList(f *fields, g *Group, version int, blocks []bcfile.Region, startBlock int) {
	const entryBytes = 10
	n := f.count("number of index entries", entryBytes)
	var starts []byte // version 3 has none
	size := 0
	if version == 4 {
		starts = f.take("index offset array", 4*n)
		size = f.int32("index size")
	}
	base := f.at
	if f.err == nil && (startBlock < 0 || n > len(blocks)-startBlock) {
		f.fail(fmt.Sprintf("blocks %d to %d of %d", startBlock, startBlock+n, len(blocks)), wire.ErrMalformed)
	}
	var nb nodeBuilder
	for i := 0; i < n && f.err == nil; i++ {
		if starts != nil && int64(int32(binary.BigEndian.Uint32(starts[4*i:]))) != int64(f.at-base) {
			f.fail(fmt.Sprintf("start of index entry %d", i), wire.ErrMalformed)
		}
		key := f.key("index entry's key")
		entries := f.int32("index entry's count")
		if f.err == nil {
			nb.add(appendIndexEntry(nil, &key, entries, blocks[startBlock+i]))
		}
	}
	if version == 4 && f.err == nil && f.at-base != size {
		f.fail(fmt.Sprintf("index size is %d, of %d bytes", size, f.at-base), wire.ErrMalformed)
	}
	if f.err != nil {
		return
	}
	root, _, err := parseNode(nb.append(nil, false))
	if err != nil {
		f.fail("index", err)
	}
	g.root, g.Blocks = root, n
}

// appendGroup appends a group's description and its index root.
func appendGroup(dst []byte, g *Group, root []byte) ([]byte, error) {
	dst = appendFlag(dst, g.Default)
	if !g.Default {
		var err error
		if dst, err = wire.AppendJUTF(dst, g.Name); err != nil {
			return nil, fmt.Errorf("name of %v: %w", g, err)
		}
	}
	if g.Tracked {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(g.Families)))
	} else {
		dst = binary.BigEndian.AppendUint32(dst, ^uint32(0))
	}
	for _, c := range g.Families {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(c.Family)))
		dst = append(dst, c.Family...)
		dst = binary.BigEndian.AppendUint64(dst, uint64(c.Count))
	}
	dst = appendFlag(dst, g.HasFirstKey)
	if g.HasFirstKey {
		dst = appendKey(dst, &g.FirstKey)
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(g.Blocks))
	return append(dst, root...), nil
}
