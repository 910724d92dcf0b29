package rfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"testing"
	"time"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// testBlockLimit is ReaderOptions.MaxBlockBytes of openBytes.
const testBlockLimit = 4 << 20

// tally counts what became of many damaged files.
type tally struct {
	t      *testing.T
	target string
	files  int
	found  int // refused, with a typed error
	panics int
	hangs  int
	wrong  int
	// untyped are errors that name no place in the file.
	untyped  int
	maxAlloc uint64 // most bytes allocated for a file, garbage included, which bounds what was live
}

// maxHang is how long one file may take.
const maxHang = time.Second

// try reads a damaged file in every way. original, if not empty, is what the file held before: then everything that is
// read without an error must be that.
func (y *tally) try(what string, file []byte, original string) (refused bool) {
	y.t.Helper()
	y.files++
	before, start := allocated(), time.Now()
	watch := time.AfterFunc(time.Minute, func() {
		fmt.Fprintf(os.Stderr, "%s: hangs: %s\n", y.target, what)
		os.Exit(2)
	})
	err := y.probe(file, original)
	watch.Stop()
	if took := time.Since(start); took > maxHang {
		y.hangs++
		y.t.Errorf("%s: took %v", what, took)
	}
	used := allocated() - before
	y.maxAlloc = max(y.maxAlloc, used)
	if bound := uint64(2*(len(file)+testBlockLimit) + 64<<20); used > bound {
		y.t.Errorf("%s: allocated %d bytes, bound %d", what, used, bound)
	}
	y.judge(what, file, err)
	return err != nil
}

var errWrong = errors.New("wrong entries")

func (y *tally) judge(what string, file []byte, err error) {
	y.t.Helper()
	var corrupt *tablet.CorruptError
	var panicked *probePanic
	switch {
	case err == nil:
	case errors.As(err, &panicked):
		y.panics++
		y.t.Errorf("%s: %v", what, err)
	case errors.Is(err, errWrong):
		y.wrong++
		y.t.Errorf("%s: %v", what, err)
	case errors.As(err, &corrupt):
		y.found++
		if corrupt.File == "" || corrupt.Offset < 0 || corrupt.Offset > int64(len(file)) {
			y.untyped++
			y.t.Errorf("%s: %+v", what, corrupt)
		}
	case errors.Is(err, tablet.ErrUnsupported):
		y.found++
	default:
		y.untyped++
		y.t.Errorf("%s: %v", what, err)
	}
}

func (y *tally) print(extra string) {
	fmt.Printf("%s files=%d refused=%d panics=%d hangs=%d wrong=%d untyped=%d maxalloc=%d%s seed=%d\n",
		y.target, y.files, y.found, y.panics, y.hangs, y.wrong, y.untyped, y.maxAlloc, extra, *seedFlag)
}

func allocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

type probePanic struct{ what string }

func (p *probePanic) Error() string { return "panic: " + p.what }

// probe opens a file, reads it front to end, verifies it, and looks entries up. Everything that comes without an error is
// held against a plain decoder, and against the original.
func (y *tally) probe(file []byte, original string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &probePanic{fmt.Sprintf("%v\n%s", p, debug.Stack())}
		}
	}()
	r, err := openBytes(y.t, file)
	if err != nil {
		return err
	}
	defer r.Close()
	ctx := context.Background()
	seekErr := blindSeeks(ctx, r)
	if seekErr != nil && !errors.Is(seekErr, tablet.ErrCorrupt) && !errors.Is(seekErr, tablet.ErrUnsupported) {
		return seekErr
	}
	var groups [][]tablet.Entry
	for _, g := range append(slices.Clone(r.Groups()), r.Samples()...) {
		all, err := scanAll(ctx, r, g)
		if err != nil {
			return err
		}
		groups = append(groups, all)
		plain, err := plainScan(ctx, r, g)
		if err != nil || !equalEntries(all, plain) {
			// The walk over the index also holds against each other what a scan does not need.
			if errors.Is(err, tablet.ErrCorrupt) || errors.Is(err, tablet.ErrUnsupported) {
				continue
			}
			return fmt.Errorf("%w: %v: %d by the cursor, %d by the plain decoder, %v", errWrong, g, len(all), len(plain), err)
		}
	}
	reports, err := r.Verify(ctx, nil)
	if original != "" {
		held := ""
		for i, g := range r.Groups() {
			d := NewDigest()
			for _, e := range groups[i] {
				d.Add(&e.Key, e.Value)
			}
			held += g.String() + d.Hex()
		}
		if held != original {
			return fmt.Errorf("%w: read without an error, not what was written", errWrong)
		}
	}
	if err != nil {
		return err
	}
	if seekErr != nil {
		return fmt.Errorf("%w: verified, but a seek says %w", errWrong, seekErr)
	}
	for i, report := range reports {
		if report.Entries != int64(len(groups[i])) {
			return fmt.Errorf("%w: %d verified, %d read", errWrong, report.Entries, len(groups[i]))
		}
		if err := lookUp(ctx, r, report.Group, groups[i]); err != nil {
			return err
		}
	}
	return nil
}

// blindSeeks seeks in a file that was not looked at before, here and there, and returns the first error.
func blindSeeks(ctx context.Context, r *Reader) (first error) {
	for _, g := range append(slices.Clone(r.Groups()), r.Samples()...) {
		c := r.Cursor(g, CursorOptions{BatchEntries: 3})
		for _, row := range []string{"d", "b", "bb", "bcd", "c", "row_00100", "zz", "a", ""} {
			for _, rr := range []tablet.Range{tablet.RowRange(tablet.RowBounds{Start: []byte(row)}), tablet.ExactRow([]byte(row))} {
				err := c.Seek(ctx, rr, tablet.AllFamiliesBut([]byte("x")))
				if err == nil {
					_, err = c.Next(ctx)
				}
				if first == nil {
					first = err
				}
			}
		}
		c.Close()
	}
	return first
}

func scanAll(ctx context.Context, r *Reader, g *Group) ([]tablet.Entry, error) {
	c := r.Cursor(g, CursorOptions{BatchEntries: 37})
	defer c.Close()
	if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return nil, err
	}
	var all []tablet.Entry
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

// plainScan decodes the blocks that the index lists.
func plainScan(ctx context.Context, r *Reader, g *Group) ([]tablet.Entry, error) {
	var all []tablet.Entry
	blocks := r.Container().NewBlockReader()
	defer blocks.Close()
	err := r.Walk(ctx, g, Visitor{Leaf: func(l LeafInfo) error {
		raw, err := blocks.AppendTo(nil, l.Region)
		if err != nil {
			return err
		}
		entries, err := plainDecode(raw, l.Entries)
		all = append(all, entries...)
		return err
	}})
	return all, err
}

func equalEntries(a, b []tablet.Entry) bool {
	return slices.EqualFunc(a, b, func(x, y tablet.Entry) bool {
		return tablet.Compare(&x.Key, &y.Key) == 0 && bytes.Equal(x.Value, y.Value)
	})
}

// lookUp seeks some of a verified group's entries, by key and by row, and wants what a scan gave.
func lookUp(ctx context.Context, r *Reader, g *Group, all []tablet.Entry) error {
	c := r.Cursor(g, CursorOptions{BatchEntries: 5})
	defer c.Close()
	for i := 0; i < len(all); i += 1 + len(all)/7 {
		first := i
		for first > 0 && tablet.Compare(&all[first-1].Key, &all[i].Key) == 0 {
			first--
		}
		row := first
		for row > 0 && tablet.SameRow(&all[row-1].Key, &all[i].Key) {
			row--
		}
		for _, try := range []struct {
			r    tablet.Range
			want *tablet.Entry
		}{{tablet.Range{}.WithStart(all[i].Key), &all[first]}, {tablet.ExactRow(all[i].Key.Row()), &all[row]}} {
			if try.r.BeforeStart(&try.want.Key) {
				continue // a delete marker of the greatest timestamp
			}
			if err := c.Seek(ctx, try.r, tablet.Families{}); err != nil {
				return err
			}
			b, err := c.Next(ctx)
			if err != nil {
				return err
			}
			if b == nil || tablet.Compare(ptr(b.Key(0)), &try.want.Key) != 0 || !bytes.Equal(b.Value(0), try.want.Value) {
				return fmt.Errorf("%w: seek of %v", errWrong, try.r)
			}
		}
	}
	return nil
}

func newTally(t *testing.T, target string) (*tally, *rand.Rand) {
	return &tally{t: t, target: target}, rand.New(rand.NewPCG(*seedFlag, 20))
}

// TestMalformedRFile changes files field by field, knowing the format. Target R22; cases B116, B117, B119, B198.
func TestMalformedRFile(t *testing.T) {
	y, rng := newTally(t, "R22")
	files := modelFiles(t)
	all := names(files)
	models := map[string]*model{}
	contents := map[string]string{}
	for n := range cases(20_000) {
		name := all[rng.IntN(len(all))]
		m := models[name]
		if m == nil {
			m = takeApart(t, name, files[name])
			models[name], contents[name] = m, contentOf(t, files[name])
		}
		u := &mutator{rng: rng, m: m}
		u.mutate()
		file := m.write(t)
		original := ""
		if m.sums == sumsStale {
			original = contents[name]
		}
		y.try(fmt.Sprintf("case %d, %s: %q", n, name, u.log), file, original)
		u.restore()
	}
	y.print("")
}

// TestHugeLengths sets every number in a file to values at the edges of what a length, a count or an offset can be.
// Target R24; case B198.
func TestHugeLengths(t *testing.T) {
	y, rng := newTally(t, "R24")
	var files []string
	own := ownFiles(t)
	var models []*model
	fields := 0
	for _, name := range names(own) {
		files = append(files, name)
		m := takeApart(t, name, own[name])
		models = append(models, m)
		for _, f := range m.all() {
			if f.kind != fieldBytes {
				fields++
			}
		}
	}
	each := len(specials(0, 0))
	keep := float64(cases(fields*each)) / float64(fields*each)
	for i, m := range models {
		for at, f := range m.all() {
			if f.kind == fieldBytes {
				continue
			}
			old := *f
			for _, v := range specials(f.n, m.bytes) {
				if rng.Float64() >= keep {
					continue
				}
				f.set(v)
				y.try(fmt.Sprintf("%s, field %d, %s from %d to %d", files[i], at, f.name, old.n, v), m.write(t), "")
				*f = old
			}
		}
	}
	y.print(fmt.Sprintf(" fields=%d", fields))
}

// TestBitFlips flips bits in files with checksums: every bit of small ones, some of larger ones. It must be found, or
// what is read must be right. Target R20.
func TestBitFlips(t *testing.T) {
	y, rng := newTally(t, "R20")
	small, large := 0, 0
	flip := func(name string, file []byte, content string, bit int) {
		file[bit/8] ^= 1 << (bit % 8)
		if !y.try(fmt.Sprintf("%s, bit %d", name, bit), file, content) {
			y.t.Errorf("%s: bit %d is not found by a full check", name, bit)
		}
		file[bit/8] ^= 1 << (bit % 8)
	}
	entries := randomEntries(rng, 90, "abcdefgh", []string{"f", "g"})
	for i, codec := range []string{"none", "lz4", "zstd"} {
		o := WriterOptions{Codec: codec, BlockBytes: 700, IndexBlockBytes: 300, FileID: [16]byte{byte(i)}, BCFile: 1 + 2*(i%2)}
		file, _ := writeGroups(t, o, entries, [][]string{{"g"}, nil})
		content := contentOf(t, file)
		total := 8 * len(file)
		step := max(1, total*3/cases(3*total))
		for bit := rng.IntN(step); bit < total; bit += step {
			flip("small "+codec, file, content, bit)
			small++
		}
	}
	file, _ := writeGroups(t, WriterOptions{Codec: "snappy", BlockBytes: 9000}, someIngest()[:1500], [][]string{nil})
	content := contentOf(t, file)
	for range cases(20_000) {
		flip("large", file, content, rng.IntN(8*len(file)))
		large++
	}
	y.print(fmt.Sprintf(" small=%d large=%d", small, large))
}

// TestMisdirected exchanges blocks within a file and between files, and puts an older version in a file's place. All is
// found. Target R21.
func TestMisdirected(t *testing.T) {
	y, rng := newTally(t, "R21")
	write := func(version byte) ([]byte, tablet.FileMeta) {
		var all []tablet.Entry
		for i := range 120 {
			all = append(all, tablet.Entry{Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "row%04d", i), Timestamp: int64(version)}),
				Value: fmt.Appendf(nil, "value %d of version %d", i, version)})
		}
		return writeGroups(t, WriterOptions{Codec: "none", BlockBytes: 300, FileID: [16]byte{version}}, all, [][]string{nil})
	}
	// Of one shape: every block has its place and size in both.
	file, meta := write(1)
	older, olderMeta := write(2)
	m, o := takeApart(t, "file", file), takeApart(t, "older", older)
	content := contentOf(t, file)
	missed := 0
	try := func(what string, b []byte) {
		if !y.try(what, b, content) {
			missed++
			t.Errorf("%s: not found", what)
		}
	}
	var data []bcfile.Region
	for i, p := range m.parts {
		if p.region != o.parts[i].region {
			t.Fatal("the files differ in shape")
		}
		data = append(data, p.region)
	}
	for y.files < cases(2_000) {
		b := bytes.Clone(file)
		i, j := rng.IntN(len(data)), rng.IntN(len(data)-1)
		if j >= i {
			j++
		}
		x, z := data[i], data[j]
		switch rng.IntN(3) {
		case 0: // one block's bytes in the place of another, as far as they go
			copy(b[x.Offset:x.End()], file[z.Offset:z.End()])
		case 1:
			copy(b[x.Offset:x.End()], older[x.Offset:x.End()])
		case 2: // everything but the end, which has the sums
			copy(b[:data[len(data)-1].End()], older[:data[len(data)-1].End()])
			z = x
		}
		if bytes.Equal(b, file) {
			continue // the two were alike
		}
		try(fmt.Sprintf("blocks at %d and %d", x.Offset, z.Offset), b)
	}
	for _, v := range []struct {
		b    []byte
		meta tablet.FileMeta
		same bool
	}{{file, meta, true}, {older, meta, false}, {older, olderMeta, true}, {file, olderMeta, false}} {
		r, err := Open(memFileOf(t, v.b), ReaderOptions{FileID: v.meta.ID})
		if (err == nil) != v.same || err != nil && !errors.Is(err, tablet.ErrCorrupt) {
			missed++
			t.Errorf("version in the place of another: %v, want same %v", err, v.same)
		}
		if err == nil {
			r.Close()
		}
	}
	y.print(fmt.Sprintf(" missed=%d", missed))
}

// bzip2Bomb is what bzip2 makes of 64 MiB of zeros.
const bzip2Bomb = "425a68393141592653590e09e2df015f8e4000c0000008200030804d4642a025a90a8097314159265359bc04b5c300a275c000c000000820" +
	"0020a40836328a884d2a2a2138bb9229c2848500bb83e8"

// TestBombs puts blocks into files that decompress to far more than they store, with true sizes over the limit and false
// ones both ways. They are refused, or given up at the stated size. Target R25; case B199.
func TestBombs(t *testing.T) {
	y, _ := newTally(t, "R25")
	full := *casesFlag == 0 && !testing.Short()
	for _, codec := range append(bcfile.Codecs(), bcfile.Bzip2) {
		for _, place := range []string{"data block", "index node", indexName, bloomName} {
			for _, size := range []struct{ raw, stated int }{
				{64 << 20, 64 << 20}, {64 << 20, testBlockLimit}, {64 << 20, 100}, {3 << 20, testBlockLimit}, {1000, testBlockLimit - 1}, {64 << 20, 1<<31 - 1},
			} {
				if !full && size.stated == 100 {
					continue
				}
				stored := bombOf(t, codec, size.raw)
				m := takeApart(t, "own lz4", bombHost(t))
				m.sums = sumsRepaired
				p := m.block(t, place, 0)
				p.raw, p.change = int64(size.stated), func([]byte) []byte { return stored }
				if place == indexName || place == bloomName {
					setMetaCodec(t, m, place, codec)
				} else {
					m.find(t, "default codec", 0).b = []byte(codec)
					for _, other := range m.parts {
						if other.codec == "" && codec != bcfile.Bzip2 {
							other.codec = codec
						}
					}
				}
				what := fmt.Sprintf("%s in a %s, %d bytes for %d stated as %d", codec, place, len(stored), size.raw, size.stated)
				if !y.try(what, m.write(t), "") {
					t.Errorf("%s: not refused", what)
				}
			}
		}
	}
	y.print("")
}

var bombs = map[string][]byte{}

func bombOf(t *testing.T, codec string, raw int) []byte {
	name := fmt.Sprint(codec, raw)
	if bombs[name] == nil {
		bombs[name] = makeBomb(t, codec, raw)
	}
	return bombs[name]
}

func makeBomb(t *testing.T, codec string, raw int) []byte {
	if codec == bcfile.Bzip2 {
		b, err := hex.DecodeString(bzip2Bomb)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if codec == bcfile.None {
		raw = min(raw, 1<<20) // it stores what it gives
	}
	c, err := bcfile.NewCompressor(codec, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := c.Compress(nil, make([]byte, raw))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// bombHost is a small file with an index node and a filter.
func bombHost(t *testing.T) []byte {
	all := someIngest()[:60]
	o := WriterOptions{Codec: "lz4", BlockBytes: 500, IndexBlockBytes: 200, Bloom: &BloomOptions{Keys: 10}, FileID: [16]byte{3}}
	file, _ := writeGroups(t, o, all, [][]string{nil})
	return file
}

// setMetaCodec names another codec for a named block.
func setMetaCodec(t *testing.T, m *model, name, codec string) {
	for i, f := range m.meta {
		if f.name == "meta name" && string(f.b) == "data:"+name {
			for _, c := range m.meta[i:] {
				if c.name == "meta codec" {
					c.b = []byte(codec)
					return
				}
			}
		}
	}
	t.Fatalf("no block %s", name)
}

// TestTruncated cuts files at every byte: none reads as a whole file. Target R26.
func TestTruncated(t *testing.T) {
	y, _ := newTally(t, "R26")
	files := smallGolden(t, 3000)
	for name, b := range ownFiles(t) {
		files[name] = b
	}
	bytesInAll := 0
	for _, b := range files {
		bytesInAll += len(b)
	}
	step := max(1, bytesInAll/cases(bytesInAll))
	kept := 0
	for _, name := range names(files) {
		b := files[name]
		for cut := 0; cut < len(b); cut += step {
			if !y.try(fmt.Sprintf("%s cut to %d bytes", name, cut), b[:cut], "") {
				kept++
				t.Errorf("%s cut to %d bytes reads as a whole file", name, cut)
			}
		}
		for cut := max(0, len(b)-60); cut < len(b); cut++ {
			if !y.try(fmt.Sprintf("%s cut to %d bytes", name, cut), b[:cut], "") {
				kept++
				t.Errorf("%s cut to %d bytes reads as a whole file", name, cut)
			}
		}
	}
	y.print(fmt.Sprintf(" whole=%d of=%d", kept, len(files)))
}

// FuzzNode reads arbitrary bytes as an index node and searches it.
func FuzzNode(f *testing.F) {
	all := someIngest()[:5]
	var nb nodeBuilder
	for i := range all {
		nb.add(appendIndexEntry(nil, &all[i].Key, 7, bcfile.Region{Offset: 16, Stored: 9, Raw: 9}))
	}
	f.Add(nb.append(nil, true), []byte("0"))
	f.Add((&nodeBuilder{}).append(nil, false), []byte(""))
	f.Fuzz(func(t *testing.T, block, row []byte) {
		nd, n, err := parseNode(block)
		if err != nil {
			return
		}
		if n > len(block) {
			t.Fatalf("%d bytes of %d used", n, len(block))
		}
		k := tablet.RowKey(row)
		at, err := nd.search(&k)
		if err == nil && (at < 0 || at > nd.n) {
			t.Fatalf("found entry %d of %d", at, nd.n)
		}
		for i := range min(nd.n, 100) {
			if e, err := nd.entry(i); err == nil && (e.entries < 0 || e.region.End() < 0) {
				t.Fatalf("entry %+v", e)
			}
		}
		nd.copyEntries()
		if again, err2 := nd.search(&k); again != at || (err == nil) != (err2 == nil) {
			t.Fatalf("copied: %d, %v; in place: %d, %v", again, err2, at, err)
		}
	})
}

// FuzzIndexBlock reads arbitrary bytes as the block RFile.index: groups, samples and the sampler.
func FuzzIndexBlock(f *testing.F) {
	own := ownFiles(f)
	var host *Reader
	for _, name := range names(own) {
		host = readBytes(f, own[name])
		meta, _ := host.Container().Meta(indexName)
		block, err := host.Container().ReadMeta(meta)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(block)
		old := bytes.Clone(block[:12])
		binary.BigEndian.PutUint32(old[4:], 4)
		f.Add(append(old, block[12:]...))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		r := &Reader{file: host.file, bc: host.bc}
		if err := r.parseIndex(block); err != nil {
			return
		}
		for _, g := range append(slices.Clone(r.groups), r.samples...) {
			r.Walk(context.Background(), g, Visitor{})
			c := r.Cursor(g, CursorOptions{})
			if err := c.Seek(context.Background(), tablet.ExactRow([]byte("b")), tablet.Families{}); err == nil {
				c.Next(context.Background())
			}
			c.Close()
		}
	})
}

// FuzzSampler reads arbitrary bytes as a sampler's configuration; what is read can be written and read again.
func FuzzSampler(f *testing.F) {
	s := &Sampler{rowSampler, map[string]string{"hasher": "md5", "modulus": "7"}}
	b, err := s.append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &fields{b: b}
		s := parseSampler(r)
		if r.err != nil {
			return
		}
		again, err := s.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		r = &fields{b: again}
		if back := parseSampler(r); r.err != nil || !back.Equal(s) || r.at != len(again) {
			t.Fatalf("%+v reads again as %+v, %v", s, back, r.err)
		}
		if a, err := s.acceptor(); err == nil {
			k := tablet.RowKey(b)
			a.accepts(&k)
		}
	})
}

// FuzzSkim holds the walk that makes no keys against the one that does: on any bytes both end alike, or both fail.
func FuzzSkim(f *testing.F) {
	f.Add(blockOf(someIngest()[:20]), 20, []byte("3"), false)
	f.Add([]byte("\x00\x02ab\x01f\x01q\x00\x05\x00\x00\x00\x00\x9e\x01\x02\x01z\x00\x00\x00\x00"), 2, []byte("abz"), true)
	f.Add([]byte("\x00\x02ab\x01f\x01q\x00\x05\x00\x00\x00\x00\x9e\x01\x03\x01z\x00\x00\x00\x00"), 2, []byte("abz"), true)
	f.Fuzz(func(t *testing.T, block []byte, entries int, row []byte, past bool) {
		if entries < 1 || entries > 1000 {
			return
		}
		all, plainErr := decodeUntil(block, entries)
		bound := tablet.Bound{Key: tablet.RowKey(row), Inclusive: !past}
		goal := targetOf(&bound)
		r := tablet.Range{}.WithStart(bound.Key)
		if past {
			r = tablet.Range{}.After(bound.Key)
		}
		want := slices.IndexFunc(all, func(e tablet.Entry) bool { return !r.BeforeStart(&e.Key) })
		d := decoder{batch: &tablet.Batch{}}
		d.startBlock(block, entries)
		d.startBatch()
		ref, found, err := d.skipTo(&goal)
		if want < 0 {
			if found || (err == nil) != (plainErr == nil) {
				t.Fatalf("found %v, %v; decoded %d entries, %v", found, err, len(all), plainErr)
			}
			return
		}
		if err != nil || !found {
			t.Fatalf("%v, %v; entry %d is %v", found, err, want, all[want].Key)
		}
		d.batch.Refs, d.batch.Codes = append(d.batch.Refs, ref), append(d.batch.Codes, 0)
		if got := d.batch.Entry(0); tablet.Compare(&got.Key, &all[want].Key) != 0 || !bytes.Equal(got.Value, all[want].Value) ||
			d.left != entries-want-1 {
			t.Fatalf("%v with %d to come, want %v", got.Key, d.left, all[want].Key)
		}
	})
}

// decodeUntil decodes entries up to the first error.
func decodeUntil(block []byte, entries int) (all []tablet.Entry, err error) {
	d := decoder{batch: &tablet.Batch{}}
	d.startBlock(block, entries)
	d.startBatch()
	for d.left > 0 {
		ref, code, err := d.next()
		if err != nil {
			return all, err
		}
		b := d.batch
		b.Refs, b.Codes = append(b.Refs, ref), append(b.Codes, code)
		all = append(all, b.Entry(len(b.Refs)-1).Clone())
	}
	return all, nil
}
