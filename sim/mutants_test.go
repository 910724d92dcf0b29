package sim

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var mutantsFlag = flag.String("mutants", "", "TestMutants tries the faults whose names match this; all takes minutes: .")

// mutant is a fault that is put into the engine on purpose, and the test that has to find it.
type mutant struct {
	name, file string
	test       []string // arguments of go test
	what       string
}

// readMutants reads the heads of the patches under testdata/mutants:
//
//	test: arguments of go test
//	what: the fault in a few words
func readMutants(t *testing.T) (all []mutant) {
	files, err := filepath.Glob(filepath.Join("testdata", "mutants", "*.patch"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		file, _ = filepath.Abs(file)
		m := mutant{name: strings.TrimSuffix(filepath.Base(file), ".patch"), file: file}
		head, _, _ := strings.Cut(string(text), "\ndiff ")
		for line := range strings.Lines(head) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "test":
				m.test = strings.Fields(value)
			case "what":
				m.what = value
			}
		}
		if len(m.test) == 0 || m.what == "" {
			t.Fatalf("%s does not say which test is to find what", file)
		}
		all = append(all, m)
	}
	return all
}

// TestMutants puts faults into copies of the module, one at a time, and wants each to be found by the test that its patch
// names. It runs only when told to: every fault is a build of its own.
func TestMutants(t *testing.T) {
	all := readMutants(t)
	if len(all) < 10 {
		t.Fatalf("only %d mutants", len(all))
	}
	if *mutantsFlag == "" {
		t.Skip("takes minutes: go test ./sim -run TestMutants -v -timeout 60m -args -mutants .")
	}
	wanted, err := regexp.Compile(*mutantsFlag)
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(m mutant) bool { return !wanted.MatchString(m.name) })
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	caught, left := 0, all
	for range min(runtime.GOMAXPROCS(0), len(all)) {
		dir := t.TempDir()
		copyModule(t, root, dir)
		wg.Go(func() {
			for {
				mu.Lock()
				if len(left) == 0 {
					mu.Unlock()
					return
				}
				m := left[0]
				left = left[1:]
				mu.Unlock()
				line, err := m.try(t.Context(), dir)
				mu.Lock()
				if err != nil {
					t.Errorf("%s (%s): %v", m.name, m.what, err)
				} else {
					caught++
					t.Logf("%s (%s): %s", m.name, m.what, line)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	lastLine(t, "R3A", count("mutants", len(all)), count("caught", caught), zero("missed", len(all)-caught))
}

// TestMutantsApply wants every patch to fit the code as it is, so that one that has grown old shows at once.
func TestMutantsApply(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no command git")
	}
	for _, m := range readMutants(t) {
		if out, err := command(t.Context(), "..", "git", "apply", "--check", "--recount", "-C1", m.file); err != nil {
			t.Errorf("%s: %s", m.name, out)
		}
	}
}

// copyModule copies the sources, and what tests read.
func copyModule(t *testing.T, root, to string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && name != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o700)
		case !d.Type().IsRegular() || !strings.Contains(name, "testdata") && !slices.Contains([]string{".go", ".mod", ".sum"}, filepath.Ext(name)):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// try puts the fault into a copy of the module, runs the test, and takes the fault out again. It returns what the test said
// first, or why the fault counts as missed.
func (m *mutant) try(ctx context.Context, dir string) (line string, err error) {
	if out, err := command(ctx, dir, "git", "apply", "--recount", "-C1", m.file); err != nil {
		return "", fmt.Errorf("the patch does not apply: %s", out)
	}
	defer func() {
		if out, e := command(ctx, dir, "git", "apply", "--recount", "-C1", "-R", m.file); e != nil && err == nil {
			err = fmt.Errorf("the patch does not come off: %s", out)
		}
	}()
	began := time.Now()
	limited, end := context.WithTimeout(ctx, 5*time.Minute)
	defer end()
	out, err := command(limited, dir, "go", append([]string{"test", "-count=1", "-v"}, m.test...)...)
	switch {
	case err == nil:
		return "", fmt.Errorf("not found by go test %s", strings.Join(m.test, " "))
	case limited.Err() != nil:
		return "", fmt.Errorf("not found in time by go test %s", strings.Join(m.test, " "))
	case !strings.Contains(out, "--- FAIL") && !strings.Contains(out, "panic:"):
		return "", fmt.Errorf("no test was run: %.1000s", out)
	}
	for said := range strings.Lines(out) {
		if said = strings.TrimSpace(said); strings.Contains(said, "_test.go:") || strings.HasPrefix(said, "panic:") {
			return fmt.Sprintf("found in %.0f s: %.150s", time.Since(began).Seconds(), said), nil
		}
	}
	return "found", nil
}

func command(ctx context.Context, dir, name string, args ...string) (output string, err error) {
	c := exec.CommandContext(ctx, name, args...)
	c.Dir = dir
	// A copy within a repository is none of it, and reads what lies beside the module where it was.
	c.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := c.CombinedOutput()
	return string(out), err
}
