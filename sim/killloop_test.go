package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/sim/oracle"
	"millrace/tablet"
	"millrace/tablet/visibility"
)

// livesEach is how many processes are killed on one directory, one after the other.
const livesEach = 5

// killTables are the tables that a killed process writes to, by the durability of each; in mixed every write has its own.
var killTables = []string{"none", "log", "flush", "sync", "mixed"}

// TestKillLoop has real processes write to a real directory and kills them with SIGKILL: at a drawn time of 2 to 500 ms, or
// at the n-th call of a kind, or in the middle of a write. Whatever was acknowledged before must be there afterwards, as
// safe as each level says, and the store sound; once it was opened no file is left that nothing names.
func TestKillLoop(t *testing.T) { killChains(t, "R07", runs(10), false) }

// TestKillCompaction is TestKillLoop with processes that hardly do anything but flush and compact, killed at calls on data
// files: what a dead compaction leaves is gone after the next opening.
func TestKillCompaction(t *testing.T) { killChains(t, "B049", runs(5), true) }

func killChains(t *testing.T, target string, n int, compacting bool) {
	if testing.Short() {
		n = min(n, 4)
	}
	var mu sync.Mutex
	total := killCounts{harms: map[Harm]int{}, places: map[string]int{}}
	chains := (n + livesEach - 1) / livesEach
	t.Run("chains", func(t *testing.T) {
		for i := range chains {
			seed := firstSeed() + uint64(i)
			t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
				t.Parallel()
				c := newKillChain(t, seed)
				c.compacting = compacting
				for range min(livesEach, n-i*livesEach) {
					if err := c.kill(); err != nil {
						c.harms[harmOf(err)]++
						t.Errorf("life %d, killed at %v: %v\n%s", c.life, c.place, err, repeatChain(t, seed))
						break
					}
				}
				mu.Lock()
				defer mu.Unlock()
				total.add(c.killCounts)
			})
		}
	})
	t.Log("killed at:", total.places)
	figures := []figure{count("kills", total.kills), count("at_calls", total.kills-total.places["time"]), count("acknowledged", total.acks)}
	for _, h := range Harms {
		figures = append(figures, zero(string(h), total.harms[h]))
	}
	lastLine(t, target, append(figures, zero("orphans", total.orphans))...)
}

func harmOf(err error) Harm {
	var b *Broken
	if errors.As(err, &b) {
		return b.Harm
	}
	return Unopened
}

// repeatChain is the command that kills on one directory again. Times are drawn, and the processes are real: it may take
// several tries.
func repeatChain(t *testing.T, seed uint64) string {
	name, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("go test ./sim -run '^%s$' -args -seed %d -n %d", name, seed, livesEach)
}

// killCounts is what came of killing.
type killCounts struct {
	kills, acks, orphans int
	harms                map[Harm]int
	places               map[string]int // by kind, for those that were reached
}

func (a *killCounts) add(b killCounts) {
	a.kills, a.acks, a.orphans = a.kills+b.kills, a.acks+b.acks, a.orphans+b.orphans
	for h, n := range b.harms {
		a.harms[h] += n
	}
	for p, n := range b.places {
		a.places[p] += n
	}
}

// killChain is one directory on which processes are killed.
type killChain struct {
	killCounts
	t      *testing.T
	seed   uint64
	life   int
	place  killPlace
	dir    string
	fs     vfs.FS
	rand   *rand.Rand
	models map[string]*oracle.Model
	all    visibility.Authorizations

	compacting bool
}

func newKillChain(t *testing.T, seed uint64) *killChain {
	c := &killChain{
		killCounts: killCounts{harms: map[Harm]int{}, places: map[string]int{}},
		t:          t, seed: seed, dir: t.TempDir() + "/store", rand: stream(seed, "kills"), models: map[string]*oracle.Model{},
	}
	c.all, _ = visibility.NewAuthorizations("a", "b")
	var err error
	if c.fs, err = vfs.MakeDir(c.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { vfs.Close(c.fs) })
	c.tables()
	return c
}

// tables makes the tables.
func (c *killChain) tables() {
	s, err := c.open()
	for _, name := range killTables {
		properties := VersionedTable(2)
		maps.Copy(properties, QuietTable)
		if name != "mixed" {
			properties["table.durability"] = name
		}
		if err == nil {
			err = s.CreateTable(context.Background(), name, nil, properties)
		}
		c.models[name] = oracle.NewModel(2)
	}
	if err == nil {
		err = s.Close(context.Background())
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *killChain) open() (*actors.Store, error) {
	return actors.Open(context.Background(), c.dir, actors.WithFS(c.fs), actors.WithProperties(shortSegments))
}

// places are the kinds of calls that a process is killed at, and how many of each one life makes at least.
var places = []struct {
	op    vfs.Op
	class vfs.Class
	most  int
}{
	{vfs.OpCreate, vfs.ClassData, 8}, {vfs.OpWrite, vfs.ClassData, 8}, {vfs.OpSync, vfs.ClassData, 8}, {vfs.OpSyncDir, vfs.ClassData, 8},
	{vfs.OpRemove, vfs.ClassData, 8}, {vfs.OpCreate, vfs.ClassLog, 3}, {vfs.OpWrite, vfs.ClassLog, 40}, {vfs.OpSync, vfs.ClassLog, 40},
	{vfs.OpSyncDir, vfs.ClassLog, 3}, {vfs.OpRemove, vfs.ClassLog, 1}, {vfs.OpCreate, vfs.ClassManifest, 1}, {vfs.OpWrite, vfs.ClassManifest, 10},
	{vfs.OpSync, vfs.ClassManifest, 10}, {vfs.OpRemove, vfs.ClassManifest, 1}, {vfs.OpSyncDir, vfs.ClassManifest, 1},
}

// dataPlaces is how many of them are calls on data files; these come first.
const dataPlaces = 5

// draw decides what the next process does and how it dies.
func (c *killChain) draw() (o errand, after time.Duration) {
	o = errand{Dir: c.dir, Seed: c.seed, First: 1 + c.life*10_000, Ops: 600, Tables: killTables, Heavy: c.rand.IntN(2) == 0}
	after = 2*time.Millisecond + time.Duration(c.rand.Int64N(int64(498*time.Millisecond)))
	if c.rand.IntN(2) == 0 || c.compacting {
		p := places[c.rand.IntN(len(places))]
		if c.compacting {
			o.Heavy = true
			p = places[c.rand.IntN(dataPlaces)]
			p.most *= 6
		}
		o.Kill = killPlace{p.op, p.class, 1 + c.rand.IntN(p.most), [3]When{BeforeCall, AfterCall, WithinCall}[c.rand.IntN(3)]}
		if p.op != vfs.OpWrite && o.Kill.When == WithinCall {
			o.Kill.When = AfterCall
		}
		after = 2 * time.Second // should the place not come
	}
	return o, after
}

// kill lets a process live for a while, and looks at what it leaves.
func (c *killChain) kill() error {
	c.life++
	o, after := c.draw()
	c.place = o.Kill
	acked, err := c.live(o, after)
	if err != nil {
		return err
	}
	c.kills++
	c.note(o, acked)
	return c.look()
}

// live runs the process until it is killed. acked is the last operation of each table that has returned.
func (c *killChain) live(o errand, after time.Duration) (acked []int, err error) {
	cmd, lines := startChild(c.t, o)
	if o.Kill.N == 0 && c.rand.IntN(5) == 0 {
		timer := time.AfterFunc(after/10, func() { cmd.Process.Kill() }) // within its opening, perhaps
		defer timer.Stop()
	}
	acked = make([]int, len(o.Tables))
	for lines.Scan() {
		if lines.Text() == "open" {
			timer := time.AfterFunc(after, func() { cmd.Process.Kill() })
			defer timer.Stop()
			continue
		}
		var table, number int
		if _, err := fmt.Sscan(lines.Text(), &table, &number); err != nil {
			return nil, fmt.Errorf("the process says %q", lines.Text())
		}
		acked[table] = number
		c.acks++
	}
	err = cmd.Wait()
	if err == nil || !strings.Contains(err.Error(), "killed") {
		return nil, broken(Unopened, fmt.Errorf("the process was not killed, it ended: %v", err))
	}
	place := "time"
	if o.Kill.N > 0 {
		place = fmt.Sprintf("%s %s %s", o.Kill.When, o.Kill.Op, o.Kill.Class)
	}
	c.places[place]++
	return acked, nil
}

// note tells the models what was acknowledged, and what may have been on its way.
func (c *killChain) note(o errand, acked []int) {
	for i, name := range o.Tables {
		m := c.models[name]
		own, _ := tablet.ParseDurability(name)
		for _, op := range o.life(i) {
			level := max(own, op.Durability) // the operations of mixed alone have a level
			var p *oracle.Pending
			switch op.Kind {
			case Write:
				p = m.Begin(level, op.Mutations...)
			case Flush:
				p = m.BeginFlush()
			case Full:
				p = m.BeginCompact(tablet.Range{})
			}
			if op.Number > acked[i] {
				break // the first of those that did not return; no later one was begun
			}
			if p != nil {
				m.Ack(p)
			}
		}
	}
}

// look opens what a killed process has left.
func (c *killChain) look() error {
	if err := checkStore(c.fs, false); err != nil {
		return broken(Damaged, fmt.Errorf("as the process left it: %w", err))
	}
	s, err := c.open()
	if err != nil {
		return broken(Unopened, err)
	}
	before, err := c.compare(s, true)
	if err = errors.Join(err, broken(Unopened, s.Close(context.Background()))); err != nil {
		return err
	}
	if s, err = c.open(); err != nil {
		return broken(Unopened, fmt.Errorf("second open: %w", err))
	}
	after, err := c.compare(s, false)
	if err = errors.Join(err, broken(Unopened, s.Close(context.Background()))); err != nil {
		return err
	}
	if !slices.EqualFunc(before, after, equalScans) {
		return broken(Changed, errors.New("a second open shows something else"))
	}
	wrong, err := vfs.WrongModes(c.dir)
	if err != nil || len(wrong) > 0 {
		return broken(Damaged, fmt.Errorf("modes: %v %w", wrong, err))
	}
	if err := checkStore(c.fs, true); err != nil {
		c.orphans += strings.Count(err.Error(), "orphan")
		return broken(Damaged, fmt.Errorf("after it was closed: %w", err))
	}
	return nil
}

// compare holds what an open store shows against the models.
func (c *killChain) compare(s *actors.Store, crashed bool) (all [][]tablet.Entry, err error) {
	for _, name := range killTables {
		m := c.models[name]
		extents, err := s.Tablets(name)
		if err != nil {
			return nil, broken(Lost, err)
		}
		if crashed {
			m.Crash(tablet.DurabilityFlush, extents)
		}
		sc, err := s.Scan(context.Background(), name, actors.ScanOptions{Authorizations: c.all, PageEntries: 100})
		if err != nil {
			return nil, broken(Unopened, err)
		}
		found, err := ReadAll(sc)
		if err != nil {
			return nil, broken(Unopened, err)
		}
		for i := range found {
			if err := CheckValue(&found[i]); err != nil {
				return nil, broken(Phantom, err)
			}
		}
		if err := m.Check(oracle.Query{}, found); err != nil {
			return nil, fmt.Errorf("table %s: %w", name, mismatched(err))
		}
		all = append(all, found)
	}
	return all, nil
}
