package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckFindsFlips flips one byte of each file of a closed store, at both ends, at drawn places and all over the short
// ones: store check finds it, with exit code 3 and the file's name, and changes nothing.
func TestCheckFindsFlips(t *testing.T) {
	each := 60
	if testing.Short() {
		each = 20
	}
	s := newShell(t)
	s.ok("sim", "ingest", "--quick", "--entries", "3000", "--tablets", "2", "--data", "db", "--set", "table.durability=sync")
	s.ok("store", "insert", "db", "ci", "row", "f", "q", "v")
	s.ok("store", "insert", "db", "ci", "row2", "f", "q", "v")
	s.ok("store", "check", "db")
	r := rand.New(rand.NewPCG(1, 1))
	tried, classes := 0, map[string]int{}
	files, err := filepath.Glob("db/*/*")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range sampled(r, len(content), each) {
			damaged := append([]byte(nil), content...)
			damaged[at] ^= byte(1 + r.IntN(255))
			if err := os.WriteFile(name, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			got := s.run("store", "check", "db")
			if got.code != 3 || !strings.Contains(got.stderr, filepath.Base(name)) {
				t.Errorf("%s, byte %d of %d was %02x, is %02x: exit code %d\n%s%s", name, at, len(content), content[at], damaged[at], got.code, got.out, got.stderr)
			}
			tried++
			classes[filepath.Dir(name)]++
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.ok("store", "check", "--deep", "db")
	fmt.Printf("flips=%d data=%d log=%d manifest=%d missed=0\n", tried, classes["db/data"], classes["db/wal"], classes["db/manifest"])
}

// sampled are offsets in a file of so many bytes: all of a short one, else both ends and drawn ones in between.
func sampled(r *rand.Rand, size, most int) (all []int) {
	if size <= 2*most {
		for at := range size {
			all = append(all, at)
		}
		return all
	}
	const ends = 24
	for at := range ends {
		all = append(all, at, size-1-at)
	}
	for len(all) < most {
		all = append(all, r.IntN(size))
	}
	return all
}
