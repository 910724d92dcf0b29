package sim

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"millrace/sim/script"
)

// dirFlag names more scripts for TestScripts, such as generated ones.
var dirFlag = flag.String("dir", "", "a directory of kv-ops scripts for TestScripts to run besides those of sim/script/testdata")

// TestScripts runs every script of sim/script/testdata, and those of -dir: as it stands, with the smallest blocks, and with
// flushes and partial compactions put in at random, -n times.
func TestScripts(t *testing.T) {
	var scripts, runs, failed, skipped int
	for _, dir := range []string{"script/testdata/cases", "script/testdata/more", "script/testdata/generated", *dirFlag} {
		if dir == "" {
			continue
		}
		paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s holds no scripts: %v", dir, err)
		}
		for _, path := range paths {
			s := readScript(t, path)
			scripts++
			for _, m := range modes(runsOf(s)) {
				runs++
				r, err := script.Run(context.Background(), s, m)
				if err != nil {
					t.Fatal(err)
				}
				switch r.Outcome {
				case script.Failed:
					failed++
					t.Error(r)
				case script.Skipped:
					skipped++
					t.Error(r)
				}
			}
		}
	}
	lastLine(t, "R30", count("scripts", scripts), count("runs", runs), zero("skipped", skipped), zero("failed", failed))
}

func readScript(t *testing.T, path string) *script.Script {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := script.Parse(path, text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return s
}

// runsOf is how often a script is permuted.
func runsOf(s *script.Script) int {
	if !(script.Mode{Permuted: true}).Runs(s) {
		return 0
	}
	return runs(1)
}

func modes(permuted int) []script.Mode {
	list := []script.Mode{{}, {Small: true}}
	for i := range permuted {
		list = append(list, script.Mode{Permuted: true, Seed: firstSeed() + uint64(i)})
	}
	return list
}
