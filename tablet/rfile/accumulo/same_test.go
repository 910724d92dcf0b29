//go:build accumulo

package accumulo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
)

// same writes a file of Accumulo's anew with our writer and says whether blocks and index keys are the same; without
// compression, whether index nodes and all bytes are.
func same(t *testing.T, r *release, path, what string, f *rfile.Reader, s settings) bool {
	t.Helper()
	if !canWrite(s.codec) {
		s.codec = "gz" // where blocks are cut does not depend on it
	}
	s.bcfile = r.bcfile
	ours := rewrite(t, f, s.options(), byRuns)
	if !bytes.Equal(ours, rewrite(t, f, s.options(), byEntry)) {
		t.Errorf("%s: the file depends on how entries are appended", what)
		return false
	}
	mem := vfs.Mem()
	defer vfs.Close(mem)
	again := openBytes(t, mem, ours)
	// Index nodes hold stored sizes, in as many bytes as each needs, so that they depend on the codec.
	nodes := s.codec == "none"
	groups := append(slices.Clone(again.Groups()), again.Samples()...)
	for i, g := range append(slices.Clone(f.Groups()), f.Samples()...) {
		if why := differ(outline(t, f, g, nodes), outline(t, again, groups[i], nodes)); why != "" {
			t.Errorf("%s: %v: %s", what, g, why)
			return false
		}
	}
	if s.codec != "none" || s.bloom != nil && s.bloom.Hash == jenkins || !oneOrder(f) {
		return true
	}
	theirs, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if s.sampler != nil {
		theirs, ours = sortOptions(t, theirs, s.sampler), sortOptions(t, ours, s.sampler)
	}
	if at := firstDifference(theirs, ours); at >= 0 {
		t.Errorf("%s: bytes differ from offset %d on; Accumulo's file has %d, ours %d", what, at, len(theirs), len(ours))
		return false
	}
	return true
}

// oneOrder says whether each sample lists its families in the order in which its group does. In a hash table that holds
// fewer of them they may stand in another, which our writer cannot be told.
func oneOrder(f *rfile.Reader) bool {
	for i, sample := range f.Samples() {
		at := 0
		for _, family := range f.Groups()[i].Families {
			if at < len(sample.Families) && bytes.Equal(sample.Families[at].Family, family.Family) {
				at++
			}
		}
		if at < len(sample.Families) {
			return false
		}
	}
	return true
}

// sortOptions sorts the sampler's options where an uncompressed file has them: Accumulo stores them in the order of a hash
// table.
func sortOptions(t *testing.T, file []byte, s *rfile.Sampler) []byte {
	t.Helper()
	class := []byte("org.apache.accumulo.core.client.sample." + s.Class)
	at := bytes.LastIndex(file, class)
	if at < 0 {
		t.Fatalf("no sampler %s", class)
	}
	at += len(class)
	n := binary.BigEndian.Uint32(file[at:])
	from := at + 4
	at = from
	var options [][]byte
	for range n {
		end := at
		for range 2 { // the option's name, then its value
			end += 2 + int(binary.BigEndian.Uint16(file[end:]))
		}
		options = append(options, file[at:end])
		at = end
	}
	slices.SortFunc(options, bytes.Compare)
	return slices.Concat(file[:from], bytes.Join(options, nil), file[at:])
}

func openBytes(t *testing.T, fsys vfs.FS, content []byte) *rfile.Reader {
	t.Helper()
	f, err := fsys.Create("f.rf")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = fsys.Open("f.rf"); err != nil {
		t.Fatal(err)
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outline is the shape of a group, a line each for the group and its blocks, and for its index nodes if they are wanted.
// Where a block lies and how large its stored form is are left out.
func outline(t *testing.T, r *rfile.Reader, g *rfile.Group, nodes bool) []string {
	t.Helper()
	families := []string{}
	for _, f := range g.Families {
		families = append(families, fmt.Sprintf("%q: %d", f.Family, f.Count))
	}
	slices.Sort(families) // their order is that of a hash table
	lines := []string{fmt.Sprintf("group %q, default %v, tracked %v, families %v, first key %v (%v), %d blocks",
		g.Name, g.Default, g.Tracked, families, whole(g.FirstKey), g.HasFirstKey, g.Blocks)}
	v := rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
		lines = append(lines, fmt.Sprintf("block of %d entries, raw %d, index key %v", l.Entries, l.Region.Raw, whole(l.Key)))
		return nil
	}}
	if nodes {
		lines = append(lines, fmt.Sprintf("root of level %d", g.IndexLevel()))
		v.Node = func(n rfile.NodeInfo) error {
			lines = append(lines, fmt.Sprintf("node of level %d, offset %d, next %v, %d entries, raw %d, last key %v",
				n.Level, n.Offset, n.HasNext, n.Entries, n.Region.Raw, whole(n.LastKey)))
			return nil
		}
	}
	if err := r.Walk(context.Background(), g, v); err != nil {
		t.Fatal(err)
	}
	return lines
}

// whole prints a key for people, and so that no two keys look alike.
func whole(k tablet.Key) string {
	return fmt.Sprintf("%v (%v, %x)", k, k.Ends(), sha256.Sum256(k.Data()))
}

// differ says where two outlines differ first.
func differ(theirs, ours []string) string {
	for i := range min(len(theirs), len(ours)) {
		if theirs[i] != ours[i] {
			return fmt.Sprintf("line %d: Accumulo has %s; we have %s", i, theirs[i], ours[i])
		}
	}
	if len(theirs) != len(ours) {
		return fmt.Sprintf("Accumulo's outline has %d lines, ours %d", len(theirs), len(ours))
	}
	return ""
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}
