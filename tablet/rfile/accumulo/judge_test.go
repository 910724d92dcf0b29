//go:build accumulo

package accumulo

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// release is one release of Accumulo, as the tests need to know it.
type release struct {
	version string
	profile string // in java/pom.xml
	bcfile  int    // the container version that it writes
	reads   []int  // those that it reads
	judge   *judge
	once    sync.Once
	err     error
}

// releases are those tested, unless MILLRACE_ACCUMULO names others, separated by commas.
var releases = sync.OnceValue(func() []*release {
	versions := "2.1.6,1.10.4"
	if v := os.Getenv("MILLRACE_ACCUMULO"); v != "" {
		versions = v
	}
	var all []*release
	for _, v := range strings.Split(versions, ",") {
		r := &release{version: v, profile: "accumulo-2.1", bcfile: 3, reads: []int{1, 3}}
		if strings.HasPrefix(v, "1.") {
			r.profile, r.bcfile, r.reads = "accumulo-1.10", 1, []int{1}
		}
		all = append(all, r)
	}
	return all
})

// eachRelease runs a test once for every release, with its judge started.
func eachRelease(t *testing.T, f func(t *testing.T, r *release)) {
	for _, r := range releases() {
		t.Run(r.version, func(t *testing.T) {
			r.once.Do(func() { r.judge, r.err = startJudge(r) })
			if r.err != nil {
				t.Fatalf("Accumulo %s: %v", r.version, r.err)
			}
			f(t, r)
		})
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, r := range releases() {
		if r.judge != nil {
			r.judge.stop()
		}
	}
	os.Exit(code)
}

// judge is a running Java program; see java/src/main/java/millrace/judge/Judge.java for what it answers.
type judge struct {
	codecs []string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	log    *tail
}

func startJudge(r *release) (*judge, error) {
	dir, err := buildJudge(r)
	if err != nil {
		return nil, err
	}
	classes := filepath.Join(dir, "judge.jar") + string(os.PathListSeparator) + filepath.Join(dir, "lib", "*")
	j := &judge{log: &tail{}}
	j.cmd = exec.Command("java", "-Xmx2g", "-XX:+UseSerialGC", "-cp", classes, "millrace.judge.Judge")
	j.cmd.Stderr = j.log
	if j.in, err = j.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := j.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	j.out = bufio.NewReader(out)
	if err := j.cmd.Start(); err != nil {
		return nil, fmt.Errorf("Java 17 is needed: %w", err)
	}
	if j.codecs, err = j.ask("codecs"); err != nil {
		j.stop()
		return nil, err
	}
	return j, nil
}

func (j *judge) stop() {
	j.in.Close()
	j.cmd.Wait()
}

// ask puts a question and returns the words of the answer. An error is Accumulo's own, or the judge is gone.
func (j *judge) ask(words ...string) ([]string, error) {
	if _, err := fmt.Fprintln(j.in, strings.Join(words, "\t")); err != nil {
		return nil, fmt.Errorf("judge: %w\n%s", err, j.log)
	}
	line, err := j.out.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("judge: %w\n%s", err, j.log)
	}
	answer := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if answer[0] != "ok" {
		return nil, fmt.Errorf("accumulo: %s", strings.Join(answer[1:], " "))
	}
	return answer[1:], nil
}

// count is what the judge says of entries that it has seen.
type count struct {
	entries, deletes int64
	sha256           string
}

// count asks a question about entries.
func (j *judge) count(t *testing.T, words ...string) count {
	t.Helper()
	answer, err := j.ask(words...)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(words, " "), err)
	}
	entries, err1 := strconv.ParseInt(answer[0], 10, 64)
	deletes, err2 := strconv.ParseInt(answer[1], 10, 64)
	if err1 != nil || err2 != nil {
		t.Fatalf("%s: answer %q", strings.Join(words, " "), answer)
	}
	return count{entries, deletes, answer[2]}
}

// tail keeps the end of what was written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (l *tail) Write(p []byte) (int, error) {
	const most = 8 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.b = append(l.b, p...); len(l.b) > most {
		l.b = l.b[len(l.b)-most:]
	}
	return len(p), nil
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

// buildJudge returns the folder of the judge's jar, built for a release. It is kept in the user's cache under a name
// made from its sources, so that a second run needs neither Maven nor a network.
func buildJudge(r *release) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	sum, err := sourcesSum("java")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "millrace", fmt.Sprintf("judge-%s-%s", r.version, sum))
	if _, err := os.Stat(filepath.Join(dir, "judge.jar")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	building, err := os.MkdirTemp(filepath.Dir(dir), "building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(building)
	maven := func(more ...string) ([]byte, error) {
		args := append(more, "-q", "-B", "-f", filepath.Join("java", "pom.xml"), "-P", r.profile,
			"-Daccumulo.version="+r.version, "-Djudge.out="+building, "package")
		return exec.Command("mvn", args...).CombinedOutput()
	}
	if _, err := maven("-o"); err != nil { // what was fetched before may do
		if out, err := maven(); err != nil {
			return "", fmt.Errorf("mvn: %w\n%s", err, out)
		}
	}
	if err := os.Rename(building, dir); err != nil && !os.IsExist(err) {
		return "", err
	}
	return dir, nil
}

// sourcesSum is a hash over all files below a folder, names and contents.
func sourcesSum(root string) (string, error) {
	sum := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", filepath.ToSlash(path), len(text), bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:16], err
}
