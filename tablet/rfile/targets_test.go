package rfile

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// TestMalformedRFile changes files field by field, knowing the format. Target R22.
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
// Target R24.
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

// fullFlips is how many bits of large files a full check flips.
const fullFlips = 20_000

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
		step := max(1, fullFlips/cases(fullFlips)) // a full check tries every bit
		for bit := rng.IntN(step); bit < total; bit += step {
			flip("small "+codec, file, content, bit)
			small++
		}
	}
	file, _ := writeGroups(t, WriterOptions{Codec: "snappy", BlockBytes: 9000}, someIngest()[:1500], [][]string{nil})
	content := contentOf(t, file)
	for range cases(fullFlips) {
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
