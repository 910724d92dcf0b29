package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet/rfile/bcfile"
)

// TestVerifyFindsEveryBit changes each bit of small files of ours in turn: verify finds it, names the file and a place in
// it, and ends with the code for damage.
func TestVerifyFindsEveryBit(t *testing.T) {
	for step, flags := range map[int][]string{1: {"--codec", "none"}, 7: {"--codec", "zstd", "--bcfile", "3"}} {
		s := newShell(t)
		s.stdin = strings.NewReader(`{"row":"61","cf":"66","ts":"1","val":"7676"}` + "\n" + `{"row":"62","cf":"67","ts":"2","del":true}`)
		s.ok(append(append([]string{"rfile", "create", "--groups", "g=g"}, flags...), "small.rf")...)
		content := readFile(t, "small.rf")
		if testing.Short() {
			step *= 13
		}
		for bit := 0; bit < 8*len(content); bit += step {
			damaged := slices.Clone(content)
			damaged[bit/8] ^= 1 << (bit % 8)
			writeFile(t, "damaged.rf", damaged)
			for _, flags := range [][]string{nil, {"--deep"}} {
				args := append(append([]string{"rfile", "verify"}, flags...), "damaged.rf")
				r := s.fails(3, "millrace rfile verify: damaged.rf: corrupt at offset ", args...)
				var offset int
				if _, err := fmt.Sscanf(r.out, "damaged.rf: DAMAGED at offset %d: ", &offset); err != nil || offset < 0 || offset >= len(content) {
					t.Errorf("bit %d: %s", bit, r.out)
				}
			}
			if t.Failed() {
				t.Fatalf("bit %d of byte %d of %d", bit%8, bit/8, len(content))
			}
		}
	}
}

// TestVerifyOrphan damages a block that the checksums list and no index names. Nobody would read it, and yet it is found.
func TestVerifyOrphan(t *testing.T) {
	s := newShell(t, "v8_edge.rf")
	s.ok("rfile", "convert", "--codec", "none", "good.rf", "v8_edge.rf")
	f, err := vfs.OpenPath("good.rf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := bcfile.Open(f, bcfile.ReaderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	index, _ := r.Meta("RFile.index")
	var out bytes.Buffer
	w, err := bcfile.NewWriter(&out, bcfile.WriterOptions{Codec: "none"})
	if err != nil {
		t.Fatal(err)
	}
	content := readFile(t, "good.rf")
	for i := range r.Sums().Len() { // everything stays where it is
		if sum := r.Sums().At(i); sum.Offset < index.Region.Offset {
			if _, err := w.WriteStored(content[sum.Offset:sum.Offset+sum.Stored], sum.Stored); err != nil {
				t.Fatal(err)
			}
		}
	}
	orphan, err := w.WriteBlock([]byte("nobody knows of me"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.ReadMeta(index)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteMeta(index.Name, raw); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, "orphan.rf", out.Bytes())
	for _, flag := range []string{"--deep", "--hash"} {
		s.ok("rfile", "verify", flag, "orphan.rf")
	}
	out.Bytes()[orphan.Offset+3] ^= 1
	writeFile(t, "orphan.rf", out.Bytes())
	for _, flag := range []string{"--deep", "--hash", "--deep=false"} {
		s.fails(3, fmt.Sprintf("orphan.rf: corrupt at offset %d: block of", orphan.Offset), "rfile", "verify", flag, "orphan.rf")
	}
}

var (
	seedFlag  = flag.Uint64("seed", 1, "seed of the tests that draw at random")
	casesFlag = flag.Int("n", 0, "number of cases to try; 0 is each test's default")
)

// Damage that was put in is found, with exit code 3, file and offset, and nothing is changed: of files by rfile verify, of
// a whole store by store check.
func TestVerifyCommand(t *testing.T) {
	s := newShell(t, "v8_multilevel.rf", "v8_lgs_sample.rf")
	s.ok("rfile", "convert", "--codec", "snappy", "one.rf", "v8_multilevel.rf")
	s.ok("rfile", "convert", "--codec", "none", "--block-size", "2000", "two.rf", "v8_lgs_sample.rf")
	n := *casesFlag
	if n == 0 {
		n = 100
	}
	d := &damager{t: t, s: s, random: rand.New(rand.NewPCG(*seedFlag, 2))}
	for d.files < n/2 {
		d.file([]string{"one.rf", "two.rf"}[d.tried%2])
	}
	d.makeStore()
	for d.files < n {
		d.store()
	}
	fmt.Printf("R27 files=%d found=%d\n", d.files, d.found)
}

// damager puts damage in and sees whether it is found.
type damager struct {
	t                   *testing.T
	s                   *shell
	random              *rand.Rand
	tried, files, found int
}

// file damages a copy of a file and has it verified.
func (d *damager) file(name string) {
	content := readFile(d.t, name)
	damaged := slices.Clone(content)
	at := d.random.IntN(len(content) - 64)
	switch d.tried / 2 % 5 {
	case 0:
		damaged[at] ^= byte(1 + d.random.IntN(255))
	case 1:
		clear(damaged[at : at+64])
	case 2:
		other := d.random.IntN(len(content) - 64)
		copy(damaged[at:at+64], content[other:])
	case 3:
		damaged = damaged[:at]
	case 4:
		damaged = slices.Insert(damaged, at, byte(d.tried))
	}
	d.tried++
	if slices.Equal(damaged, content) {
		return
	}
	writeFile(d.t, "damaged.rf", damaged)
	d.look("damaged.rf", at, len(damaged), "rfile", "verify", "--deep", "damaged.rf")
}

// makeStore makes a store of two tables, one of which has entries in its log alone.
func (d *damager) makeStore() {
	for _, table := range []string{"filed", "logged"} {
		for i := range 20 {
			d.s.ok("store", "insert", "--create", "db", table, fmt.Sprint("row", i), "f", "q", strings.Repeat("value ", i))
		}
	}
	d.s.ok("store", "flush", "db", "filed")
}

// store flips one byte of one of the store's files, has the store checked, and flips it back.
func (d *damager) store() {
	names, err := filepath.Glob("db/*/*")
	if err != nil || len(names) < 3 {
		d.t.Fatalf("files of the store: %v %v", names, err)
	}
	name := names[d.random.IntN(len(names))]
	content := readFile(d.t, name)
	at := d.random.IntN(len(content))
	damaged := slices.Clone(content)
	damaged[at] ^= byte(1 + d.random.IntN(255))
	writeFile(d.t, name, damaged)
	d.look(filepath.ToSlash(strings.TrimPrefix(name, "db/")), at, len(content), "store", "check", "db")
	writeFile(d.t, name, content)
	d.tried++
}

// look runs a command that has to find damage.
func (d *damager) look(name string, at, size int, args ...string) {
	d.t.Helper()
	before := treeDigest(d.t)
	r := d.s.run(args...)
	d.files++
	offset := int64(-1)
	if i := strings.Index(r.out+r.stderr, name); i >= 0 {
		if m := damageOffset.FindStringSubmatch((r.out + r.stderr)[i:]); m != nil {
			offset, _ = strconv.ParseInt(m[1], 10, 64)
		}
	}
	if r.code == 3 && offset >= 0 && offset <= int64(size) {
		d.found++
	} else {
		d.t.Errorf("damage %d of %s at %d: exit %d: %s%s", d.tried, name, at, r.code, r.out, r.stderr)
	}
	if treeDigest(d.t) != before {
		d.t.Fatalf("%v changed something", args)
	}
}

var damageOffset = regexp.MustCompile(`at offset (\d+)`)

// treeDigest is a digest of all names and contents in the current directory.
func treeDigest(t *testing.T) string {
	t.Helper()
	h := sha256.New()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(h, e.Name(), info.Mode())
		if info.Mode().IsRegular() {
			h.Write(readFile(t, e.Name()))
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// TestCLIErrors gives every command on files every kind of bad input: the code that is documented for it, one line that
// names the file, and nothing written or changed.
func TestCLIErrors(t *testing.T) {
	s := newShell(t, "v8_none.rf", "v8_edge.rf", "v8_bloom.rf")
	if err := os.Mkdir("dir", 0o700); err != nil {
		t.Fatal(err)
	}
	s.ok("rfile", "convert", "good.rf", "v8_none.rf")
	good := readFile(t, "good.rf")
	variant := func(name string, change func(b []byte) []byte) string {
		writeFile(t, name, change(slices.Clone(good)))
		return name
	}
	flip := func(at int) func(b []byte) []byte {
		return func(b []byte) []byte { b[(at+len(b))%len(b)] ^= 0x10; return b }
	}
	inputs := []struct {
		name string
		code int
	}{
		{"missing.rf", 1}, {"dir", 1}, {"dir/missing.rf", 1}, {"good.rf/below.rf", 1},
		{variant("empty.rf", func([]byte) []byte { return nil }), 3},
		{variant("short.rf", func(b []byte) []byte { return b[:20] }), 3},
		{variant("cut.rf", func(b []byte) []byte { return b[:len(b)-1] }), 3},
		{variant("long.rf", func(b []byte) []byte { return append(b, 0) }), 3},
		{variant("zeros.rf", func(b []byte) []byte { clear(b); return b }), 3},
		{variant("magic.rf", flip(2)), 3}, {variant("data.rf", flip(100)), 3}, {variant("trailer.rf", flip(-20)), 3},
		{variant("meta.rf", flip(-40)), 3}, {variant("end.rf", flip(-1)), 3},
		{unknownVersion(t, "version.rf"), 6},
	}
	commands := [][]string{
		{"info", "IN"}, {"info", "--format", "json", "IN"}, {"verify", "IN"}, {"verify", "--deep", "good.rf", "IN"}, {"cat", "IN"},
		{"cat", "-n", "--format", "ndjson", "IN"}, {"diff", "IN", "good.rf"}, {"diff", "good.rf", "IN"},
		{"convert", "out.rf", "IN"}, {"convert", "--groups-like", "IN", "out.rf", "v8_edge.rf"}, {"compact", "out.rf", "IN"},
		{"compact", "out.rf", "good.rf", "IN", "v8_edge.rf"}, {"create", "--groups-like", "IN", "out.rf"},
		{"convert", "--force", "v8_bloom.rf", "IN"}, {"split", "--at", "row_00100", "out", "IN"}, {"splits", "-n", "1", "IN"},
		{"split", "--size", "1K", "--load-plan", "plan.json", "out", "IN"}, {"extents", "--at", "row_00100", "IN"},
		{"extents", "--format", "ndjson", "--extent", "row_00100,", "good.rf", "IN"}, {"sums", "IN"},
	}
	before := treeDigest(t)
	calls := 0
	for _, in := range inputs {
		for _, command := range commands {
			if in.name == "data.rf" && (command[0] == "info" || command[0] == "splits" || command[0] == "sums" || slices.Contains(command, "--groups-like")) {
				continue // these read no data, or only that of files without checksums
			}
			args := []string{"rfile"}
			for _, a := range command {
				args = append(args, strings.Replace(a, "IN", in.name, 1))
			}
			r := s.fails(in.code, in.name, args...)
			if strings.Contains(r.stderr, "goroutine") || strings.Contains(r.stderr, "panic") {
				t.Errorf("%q: %s", args, r.stderr)
			}
			calls++
		}
	}
	if treeDigest(t) != before {
		t.Errorf("the directory has changed: %q", s.names())
	}
	if calls < 200 {
		t.Errorf("%d calls, want 200", calls)
	}
}

// unknownVersion writes a file that says it is of a container version that nobody knows.
func unknownVersion(t *testing.T, name string) string {
	content := readFile(t, "v8_none.rf")
	content[len(content)-19] = 7
	writeFile(t, name, content)
	return name
}

// TestInfoRegions moves a data block, as the index has it, out of where blocks can lie: info and the quick verify find
// that without reading data.
func TestInfoRegions(t *testing.T) {
	s := newShell(t)
	s.stdin = strings.NewReader(`{"row":"6162","cf":"66","ts":"1","val":"7676"}`)
	s.ok("rfile", "create", "--codec", "none", "--no-sums", "good.rf")
	content := readFile(t, "good.rf")
	at := strings.LastIndex(string(content), "abf") + len("abf") // of the index's only key; timestamp and flag follow
	if content[at+6] != 16 {
		t.Fatalf("no offset at %d: %x", at, content[at:at+10])
	}
	content[at+6] = 5
	writeFile(t, "moved.rf", content)
	s.fails(3, "not within 16 to ", "rfile", "info", "moved.rf")
	s.fails(3, "not within 16 to ", "rfile", "verify", "moved.rf")
}

// TestGroupsLikeShared takes the groups of a file in which one group lists a family that another one has: the family
// stays where its entries are.
func TestGroupsLikeShared(t *testing.T) {
	s := newShell(t)
	s.stdin = strings.NewReader(`{"row":"61","cf":"62","ts":"1","val":"7676"}`)
	s.ok("rfile", "create", "--codec", "none", "--no-sums", "--groups", "one=a;two=b", "plain.rf")
	listed := "\x00\x00\x00\x01a\x00\x00\x00\x00\x00\x00\x00\x00"
	content := string(readFile(t, "plain.rf"))
	if strings.Count(content, listed) != 1 {
		t.Fatal("family a is not listed once")
	}
	writeFile(t, "shared.rf", []byte(strings.Replace(content, listed, strings.Replace(listed, "a", "b", 1), 1)))
	s.ok("rfile", "convert", "out.rf", "shared.rf")
	if got := s.ok("rfile", "cat", "-n", "--group", "two", "out.rf"); got != "1\n" {
		t.Errorf("group two has %q entries", got)
	}
	if got := s.ok("rfile", "cat", "-n", "--group", "one", "out.rf"); got != "0\n" {
		t.Errorf("group one has %q entries", got)
	}
}
