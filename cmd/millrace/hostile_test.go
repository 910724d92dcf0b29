package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCommandsOnDamagedFiles changes a few bytes of files without checksums, of which most lie in indexes and keys, and gives
// them to every command. Each does its work or says what is damaged, in one line and within a second; what it began to write
// is gone.
func TestCommandsOnDamagedFiles(t *testing.T) {
	s := newShell(t, "v8_none.rf", "v8_edge.rf")
	for name, flags := range map[string]string{"plain.rf": "--codec none --block-size 300 --index-block-size 200 --bloom RowFunctor,keys=50 --sampler RowSampler,hasher=md5,modulus=3",
		"groups.rf": "--codec snappy --bcfile 3 --block-size 500 --groups left=a;right=x"} {
		s.ok(append(append([]string{"rfile", "convert", "--no-sums"}, strings.Fields(flags)...), name, map[string]string{"plain.rf": "v8_edge.rf", "groups.rf": "v8_none.rf"}[name])...)
	}
	s.ok("rfile", "convert", "--no-sums", "--codec", "none", "--block-size", "100", "--index-block-size", "100", "deep.rf", "v8_edge.rf")
	hosts := map[string][]byte{}
	for _, name := range []string{"plain.rf", "groups.rf", "deep.rf"} {
		hosts[name] = readFile(t, name)
	}
	for _, version := range []string{"version3", "version6"} {
		hosts[version] = olderFiles[version]
	}
	var names []string
	for name := range hosts {
		names = append(names, name)
	}
	slices.Sort(names)
	n := *casesFlag
	if n == 0 {
		n = map[bool]int{false: 60, true: 15}[testing.Short()]
	}
	writeFile(t, "in.rf", nil)
	before := s.names()
	rng := rand.New(rand.NewPCG(*seedFlag, 75))
	codes := map[int]int{}
	for i := range n {
		name := names[rng.IntN(len(names))]
		b := slices.Clone(hosts[name])
		what := name
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(b))
			if rng.IntN(2) == 0 { // the structure is at the end
				at = len(b) - 1 - rng.IntN(min(len(b), 1500))
			}
			to := []byte{0, 0xff, 0x7f, 0x80, b[at] + 1, b[at] ^ 1<<rng.IntN(8), byte(rng.Uint32())}[rng.IntN(7)]
			what += fmt.Sprintf(", byte %d from %02x to %02x", at, b[at], to)
			b[at] = to
		}
		writeFile(t, "in.rf", b)
		for _, command := range []string{"info in.rf", "info --format json in.rf in.rf", "cat in.rf", "cat -b d -e r -c a,b --format ndjson in.rf", "cat --sample in.rf",
			"verify in.rf", "verify --deep in.rf", "verify --hash in.rf", "diff in.rf v8_edge.rf", "convert out.rf in.rf", "convert --verify --codec lz4 out.rf in.rf",
			"compact out.rf in.rf v8_edge.rf", "compact --full --groups-like in.rf out.rf v8_none.rf", "split --at m --load-plan plan.json out.rf in.rf",
			"split --size 300 out.rf in.rf", "splits -n 3 in.rf", "extents --at a --at m in.rf", "sums in.rf"} {
			started := time.Now()
			r := s.run(append([]string{"rfile"}, strings.Fields(command)...)...)
			codes[r.code]++
			lines := strings.Count(r.stderr, "\n")
			switch {
			case r.code == 0, r.code == 4 && strings.HasPrefix(command, "diff"), r.code == 2 && strings.Contains(r.stderr, "no sample groups"):
				for _, made := range []string{"out.rf", "plan.json", "in.sums"} {
					if err := os.RemoveAll(made); err != nil {
						t.Fatal(err)
					}
				}
			case r.code != 3 && r.code != 6 || lines != 1:
				t.Errorf("case %d, %s: %s: exit %d, %s", i, what, command, r.code, r.stderr)
			}
			if took := time.Since(started); took > 5*time.Second {
				t.Errorf("case %d, %s: %s took %v", i, what, command, took)
			}
			if got := s.names(); !slices.Equal(got, before) {
				t.Fatalf("case %d, %s: %s: the directory holds %q, want %q", i, what, command, got, before)
			}
		}
	}
	if codes[0] == 0 || codes[3] == 0 {
		t.Errorf("exit codes %v", codes)
	}
}

// olderFiles are files of older versions; tests change the directory, so they are read before.
var olderFiles = func() map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{"version3", "version6"} {
		b, err := os.ReadFile("../../tablet/rfile/testdata/older/" + name + ".rf")
		if err != nil && !os.IsNotExist(err) { // the test binary also runs as the program, anywhere
			panic(err)
		}
		files[name] = b
	}
	return files
}()
