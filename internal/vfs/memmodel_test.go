package vfs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// crashModel is the obvious way to say what a crash may leave of one directory: all names a file had since the last
// SyncDir, and all files a name led to.
type crashModel struct {
	fs      *MemFS
	now     map[string]*modelFile
	durable map[string]*modelFile
	since   map[string][]*modelFile // what each name led to since the last SyncDir; nil for nothing
	open    []*modelFile
}

type modelFile struct {
	File
	data   string
	synced int
}

func (c *crashModel) set(name string, f *modelFile) {
	if f == nil {
		delete(c.now, name)
	} else {
		c.now[name] = f
	}
	c.since[name] = append(c.since[name], f)
}

func (c *crashModel) step(t *rapid.T, n int) {
	name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
	other := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "other")
	f := c.now[name]
	switch op := rapid.IntRange(0, 5).Draw(t, "op"); {
	case f == nil:
		file, err := c.fs.Create(name)
		must0(err)
		f = &modelFile{File: file}
		c.set(name, f)
	case op == 0:
		must0(c.fs.Remove(name))
		c.set(name, nil)
	case op == 1:
		must0(c.fs.Rename(name, other))
		if other != name {
			c.set(name, nil)
			c.set(other, f)
		}
	case op == 2:
		must0(c.fs.SyncDir("."))
		c.durable, c.since = maps.Clone(c.now), map[string][]*modelFile{}
	case op == 3:
		must0(f.Sync())
		f.synced = len(f.data)
	default:
		p := pattern(byte('A'+n%26), rapid.SampledFrom([]int{1, 100, 700, 5000}).Draw(t, "bytes"))
		_, err := f.Write([]byte(p))
		must0(err)
		f.data += p
	}
}

func must0(err error) {
	if err != nil {
		panic(err)
	}
}

// strict is what the strictest image must hold.
func (c *crashModel) strict() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(c.durable)) {
		f := c.durable[name]
		parts = append(parts, fmt.Sprintf("%s=%q", name, f.data[:f.synced]))
	}
	return strings.Join(parts, " ")
}

// allowed says whether a name may lead to this content, or to nothing, after a crash.
func (c *crashModel) allowed(name, content string, there bool, zeros bool) bool {
	for _, f := range append(slices.Clone(c.since[name]), c.durable[name]) {
		switch {
		case f == nil || !there:
			if f == nil && !there {
				return true
			}
		case len(content) >= f.synced && len(content) <= len(f.data) && content[:f.synced] == f.data[:f.synced] &&
			(!zeros || keptOrZero(content[f.synced:], f.data[f.synced:])):
			return true
		}
	}
	return false
}

func keptOrZero(got, want string) bool {
	for i := range got {
		if got[i] != want[i] && got[i] != 0 {
			return false
		}
	}
	return true
}

func TestImagesAgainstAModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &crashModel{fs: Mem(), now: map[string]*modelFile{}, durable: map[string]*modelFile{}, since: map[string][]*modelFile{}}
		for n := range rapid.IntRange(1, 30).Draw(rt, "steps") {
			c.step(rt, n)
		}
		if got := dump(t, c.fs.Durable()); got != c.strict() {
			rt.Fatalf("strict: %s, want %s", got, c.strict())
		}
		for _, mode := range ImageModes() {
			image := c.fs.Image(ImageOptions{Mode: mode, Seed: rapid.Uint64().Draw(rt, "seed")})
			for _, name := range []string{"a", "b", "c", "d"} {
				_, err := image.Stat(name)
				content := ""
				if err == nil {
					content = get(t, image, name)
				}
				if !c.allowed(name, content, err == nil, mode != ImageJunk) {
					rt.Fatalf("%v: %s=%q (%v)", mode, name, content, err)
				}
			}
			if image.Used() != usedBy(t, image) {
				rt.Fatalf("%v: %d bytes used by count, %d by the files", mode, image.Used(), usedBy(t, image))
			}
		}
	})
}

// usedBy adds the files up, those with two names once: a rename of which an earlier one was lost leaves both names.
func usedBy(t *testing.T, m *MemFS) (sum uint64) {
	t.Helper()
	names, err := m.List(".")
	check(t, err)
	seen := map[*memNode]bool{}
	for _, name := range names {
		n, err := m.find(name)
		check(t, err)
		if !seen[n] {
			seen[n] = true
			sum += uint64(n.content.length)
		}
	}
	return sum
}
