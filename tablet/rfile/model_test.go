package rfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
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
	reports, err := verifyAll(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	s := ""
	for _, g := range reports {
		s += g.Group.String() + g.SHA256
	}
	return s
}

// modelFiles are small files of every kind: ours in each codec with groups, samples, a filter, sums and a deep index, of
// each older version, and those of Accumulo's that are at hand and in a codec that can be written.
func modelFiles(t testing.TB) map[string][]byte {
	t.Helper()
	files := ownFiles(t)
	for _, version := range []int{3, 4, 6, 7} {
		files[fmt.Sprintf("version %d", version)] = olderFile(t, version, olderEntries())
	}
	for _, path := range goldenPaths(t) {
		g := loadGolden(t, path)
		if g.Size > 80_000 || g.Codec == bcfile.Bzip2 {
			continue
		}
		files[g.File] = readGolden(t, path, g.File)
	}
	return files
}
