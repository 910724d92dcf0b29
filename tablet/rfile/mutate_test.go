package rfile

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"millrace/tablet/rfile/bcfile"
)

// Flags of the tests that try many cases, to be given behind -args. Without -n they try a tenth of what a full check
// wants.
var (
	seedFlag  = flag.Uint64("seed", 1, "seed of the tests that draw at random")
	casesFlag = flag.Int("n", 0, "number of cases to try; 0 is each test's default")
)

// cases is how many cases a test is to try, of which a full check wants so many.
func cases(full int) int {
	switch {
	case *casesFlag > 0:
		return *casesFlag
	case testing.Short():
		return max(1, full/100)
	}
	return max(1, full/10)
}

// readGolden reads a file that lies beside its golden description.
func readGolden(t testing.TB, description, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(filepath.Dir(description), name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ownFiles writes small files with all that a file can have.
func ownFiles(t testing.TB) map[string][]byte {
	t.Helper()
	rng := rand.New(rand.NewPCG(77, 1))
	files := map[string][]byte{}
	for i, codec := range bcfile.Codecs() {
		o := WriterOptions{Codec: codec, BlockBytes: 300, IndexBlockBytes: 80, BCFile: []int{1, 3}[i%2], FileID: [16]byte{byte(i + 1)}}
		all := randomEntries(rng, 80, "abcd", []string{"f", "g", "h"})
		switch i % 3 {
		case 1:
			o.Sampler = &Sampler{rowSampler, map[string]string{"hasher": "murmur3_32", "modulus": "3"}}
			o.Bloom = &BloomOptions{Keys: 30}
		case 2:
			o.BlockBytes, o.IndexBlockBytes = 4000, 4000
			o.Bloom = &BloomOptions{Keys: 400, Functor: functors[3]}
		}
		files["own "+codec], _ = writeGroups(t, o, all, [][]string{{"g"}, {"h", "none"}, nil})
	}
	return files
}

// names returns a map's keys in order, so that draws from them repeat.
func names(files map[string][]byte) []string {
	var all []string
	for name := range files {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// mutator changes models at random.
type mutator struct {
	rng  *rand.Rand
	m    *model
	undo []func()
	log  []string
}

func (u *mutator) note(format string, args ...any) {
	u.log = append(u.log, fmt.Sprintf(format, args...))
}

// mutate changes one to three things and may leave the sums unrepaired.
func (u *mutator) mutate() {
	sums := u.m.sums
	u.undo = append(u.undo, func() { u.m.sums = sums })
	if sums != sumsNone {
		u.m.sums = []modelSums{sumsNone, sumsRepaired, sumsRepaired, sumsStale}[u.rng.IntN(4)]
		u.note("sums %d", u.m.sums)
	}
	for range 1 + u.rng.IntN(3) {
		switch u.rng.IntN(10) {
		case 0:
			u.stored()
		case 1:
			u.structure()
		case 2:
			u.entries()
		case 3:
			u.codecName()
		default:
			u.field()
		}
	}
}

// restore puts the model back.
func (u *mutator) restore() {
	for i := len(u.undo) - 1; i >= 0; i-- {
		u.undo[i]()
	}
	u.undo, u.log = nil, nil
}

// list draws a list of fields: a block's, the meta index, the trailer; those of the structure more often than data.
func (u *mutator) list() *[]*modelField {
	lists := []*[]*modelField{&u.m.meta, &u.m.tail}
	if n := u.rng.IntN(3); n > 0 && len(u.m.parts) > 0 {
		p := u.m.parts[u.rng.IntN(len(u.m.parts))]
		if n == 2 { // structure
			for range 5 {
				if p.name != "data block" {
					break
				}
				p = u.m.parts[u.rng.IntN(len(u.m.parts))]
			}
		}
		return &p.fields
	}
	return lists[u.rng.IntN(2)]
}

func (u *mutator) pick() *modelField {
	for {
		if fields := *u.list(); len(fields) > 0 {
			return fields[u.rng.IntN(len(fields))]
		}
	}
}

// specials are values that a field of a length, a count or an offset may be set to.
func specials(v int64, size int) []int64 {
	return []int64{0, 1, -1, v - 1, v + 1, math.MaxInt32, math.MaxInt32 + 1, 1 << 32, math.MaxInt64, int64(size) + 1, math.MinInt32, math.MinInt64}
}

func (u *mutator) field() {
	f := u.pick()
	old := *f
	u.undo = append(u.undo, func() { *f = old })
	if f.kind == fieldBytes {
		u.bytesOf(f)
		return
	}
	v := f.n
	switch u.rng.IntN(4) {
	case 0:
		f.set(v ^ 1<<u.rng.IntN(8))
	case 1:
		f.set(v + int64(u.rng.IntN(9)) - 4)
	case 2:
		f.set(int64(int8(u.rng.Uint32())))
	default:
		all := specials(v, u.m.bytes)
		f.set(all[u.rng.IntN(len(all))])
	}
	u.note("%s from %d to %d", f.name, v, f.n)
}

// bytesOf changes a field of bytes; its length is put right.
func (u *mutator) bytesOf(f *modelField) {
	f.b = bytes.Clone(f.b)
	switch n := u.rng.IntN(4); {
	case n == 0 && len(f.b) > 0:
		f.b = f.b[:u.rng.IntN(len(f.b))]
	case n == 1:
		f.b = append(f.b, make([]byte, 1+u.rng.IntN(300))...)
	case n == 2:
		for range 1 + u.rng.IntN(3) {
			f.b = slices.Insert(f.b, u.rng.IntN(len(f.b)+1), byte(u.rng.Uint32()))
		}
	case len(f.b) > 0:
		f.b[u.rng.IntN(len(f.b))] ^= 1 << u.rng.IntN(8)
	}
	u.note("%s to %d bytes", f.name, len(f.b))
}

func (u *mutator) codecName() {
	var fields []*modelField
	for _, f := range u.m.all() {
		if strings.HasSuffix(f.name, "codec") {
			fields = append(fields, f)
		}
	}
	f := fields[u.rng.IntN(len(fields))]
	old := *f
	u.undo = append(u.undo, func() { *f = old })
	all := append(bcfile.Codecs(), "bzip2", "lzo", "", "GZ")
	f.b = []byte(all[u.rng.IntN(len(all))])
	u.note("%s to %q", f.name, f.b)
}

// stored changes a block's compressed bytes: a length in a frame, a bit, its end.
func (u *mutator) stored() {
	if len(u.m.parts) == 0 {
		return
	}
	p := u.m.parts[u.rng.IntN(len(u.m.parts))]
	how, at, value, extra := u.rng.IntN(4), u.rng.IntN(1<<20), specials(int64(u.rng.IntN(300)), u.m.bytes)[u.rng.IntN(12)], 1+u.rng.IntN(40)
	u.undo = append(u.undo, func() { p.change = nil })
	p.change = func(b []byte) []byte {
		switch {
		case how == 0 && len(b) >= 8:
			binary.BigEndian.PutUint32(b[4*(at%2):], uint32(value)) // frame, chunk
		case how == 1 && len(b) > 0:
			b[at%len(b)] ^= 1 << (at % 8)
		case how == 2 && len(b) > 0:
			b = b[:at%len(b)]
		default:
			b = append(b, make([]byte, extra)...)
		}
		return b
	}
	u.note("stored bytes of a %s, way %d, %d", p.name, how, value)
}

// structure takes a field away, doubles it or exchanges it with the next; or points a region at another block.
func (u *mutator) structure() {
	fields := u.list()
	old := slices.Clone(*fields)
	u.undo = append(u.undo, func() { *fields = old })
	if len(old) < 2 {
		return
	}
	i := u.rng.IntN(len(old) - 1)
	now := slices.Clone(old)
	how := u.rng.IntN(4)
	switch how {
	case 0:
		now = slices.Delete(now, i, i+1)
	case 1:
		now = slices.Insert(now, i, now[i])
	case 2:
		now[i], now[i+1] = now[i+1], now[i]
	case 3:
		u.redirect(now)
	}
	*fields = now
	u.note("structure at %s, way %d", old[i].name, how)
}

// redirect points a region among the fields at some block.
func (u *mutator) redirect(fields []*modelField) {
	for range 20 {
		i := u.rng.IntN(len(fields))
		if !strings.HasSuffix(fields[i].name, " offset") || i+2 >= len(fields) || fields[i].link == nil {
			continue
		}
		to := u.m.parts[u.rng.IntN(len(u.m.parts))]
		for j := range 3 {
			f := *fields[i+j]
			fields[i+j] = &f
		}
		u.m.linkRegion(to, fields[i], fields[i+1], fields[i+2])
		return
	}
}

// entries decodes a data block and writes it again with its keys in another order, one too few or one too many.
func (u *mutator) entries() {
	var data []*modelPart
	for _, p := range u.m.parts {
		if p.name == "data block" {
			data = append(data, p)
		}
	}
	if len(data) == 0 {
		return
	}
	p := data[u.rng.IntN(len(data))]
	all, err := plainDecode(encode(p.fields), -1)
	if err != nil || len(all) < 2 {
		return // another change was here before
	}
	i, how := u.rng.IntN(len(all)-1), u.rng.IntN(4)
	switch how {
	case 0:
		all[i], all[i+1] = all[i+1], all[i]
	case 1:
		all = slices.Delete(all, i, i+1)
	case 2:
		all = slices.Insert(all, i, all[i])
	case 3:
		u.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	old := p.fields
	u.undo = append(u.undo, func() { p.fields = old })
	p.fields = []*modelField{{name: "entries", kind: fieldBytes, b: blockOf(all)}}
	u.note("entries of a data block, way %d", how)
}
