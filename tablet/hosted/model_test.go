package hosted

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"millrace/compactor/plan"
	"millrace/tablet"
	"millrace/tablet/memtable"
)

var _ Planner = plan.Policy{}

// modelEntry is one committed update. Two of one key tie: the order in which a reader meets them must stay as it was.
type modelEntry struct {
	key string // row and timestamp
	row string
	ts  int64
	seq int // unique
}

// layer is all that was committed to one memtable, or came with one import.
type layer struct {
	session uint64 // of the memtable, 0 of an import
	age     uint64 // 0 while the memtable is active
	entries []modelEntry
}

// modelFile is what a file holds, in a reader's order, and the layers that went into it.
type modelFile struct {
	entries []modelEntry
	ages    []uint64
}

type prepared struct {
	p    *Prepared
	muts [][]modelEntry // one list a mutation; ts to be filled in
}

type heldView struct {
	view  *View
	snaps []*memtable.Snapshot
	read  map[string][]int
}

// machine drives a tablet at random and holds what readers see against the layers.
type machine struct {
	tab      *Tablet
	layers   []*layer
	files    map[uint64]modelFile
	prepared []prepared
	held     []heldView
	jobs     []Job
	flush    *Flush
	imports  []tablet.AgeRange
	obsolete map[uint64]bool
	number   uint64
	seq      int
	now      int64
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{files: map[uint64]modelFile{}, obsolete: map[uint64]bool{}, now: 10}
		o := Options{Planner: plan.Policy{
			Profile: rapid.SampledFrom(plan.Profiles()).Draw(t, "profile"),
			Options: plan.Options{Ratio: 1.5, MaxOpen: rapid.IntRange(2, 4).Draw(t, "open"), FileMax: rapid.IntRange(1, 4).Draw(t, "max")},
		}}
		if rapid.Bool().Draw(t, "logical") {
			o.Time = Logical
		}
		var err error
		if m.tab, err = New(State{Extent: tablet.Extent{Table: "t"}}, o); err != nil {
			t.Fatal(err)
		}
		m.layers = []*layer{{session: m.tab.Session()}}
		t.Repeat(map[string]func(*rapid.T){
			"prepare": m.prepare, "prepare again": m.prepare, "settle": m.settle, "settle again": m.settle,
			"freeze": m.freeze, "flush": m.startFlush, "install": m.install,
			"job": m.startJob, "swap": m.swap, "select": m.choose,
			"import": m.importFiles, "hold": m.hold, "release": m.release,
			"": m.check,
		})
		m.finish(t)
	})
}

var rows = []string{"a", "b", "c", "d", "e"}

func (m *machine) prepare(t *rapid.T) {
	if len(m.prepared) > 3 {
		return
	}
	m.now += rapid.Int64Range(-2, 2).Draw(t, "tick")
	var muts []*tablet.Mutation
	var entries [][]modelEntry
	for range rapid.IntRange(1, 3).Draw(t, "mutations") {
		row := rapid.SampledFrom(rows).Draw(t, "row")
		mut := tablet.NewMutation([]byte(row))
		var list []modelEntry
		for range rapid.IntRange(1, 2).Draw(t, "updates") {
			m.seq++
			u := tablet.Update{Value: fmt.Append(nil, m.seq)}
			if u.HasTimestamp = rapid.Bool().Draw(t, "has"); u.HasTimestamp {
				u.Timestamp = rapid.Int64Range(-2, 0).Draw(t, "ts")
			}
			mut.Add(u)
			e := modelEntry{row: row, ts: u.Timestamp, seq: m.seq}
			if !u.HasTimestamp {
				e.ts = unset
			}
			list = append(list, e)
		}
		muts, entries = append(muts, mut), append(entries, list)
	}
	p, rejects := m.tab.Prepare(muts, m.now)
	if len(rejects) > 0 || p.Session != m.tab.Session() {
		t.Fatalf("rejects %v, session %d", rejects, p.Session)
	}
	m.checkTime(t, p)
	m.prepared = append(m.prepared, prepared{p, entries})
}

const unset = int64(1) << 62

// checkTime: assigned timestamps never go back, and those of another session are never met again.
func (m *machine) checkTime(t *rapid.T, p *Prepared) {
	for _, l := range m.layers {
		for _, e := range l.entries {
			if e.ts > 0 && (e.ts > p.Timestamp || e.ts == p.Timestamp && l.session != p.Session) {
				t.Fatalf("timestamp %d in session %d, after %d in session %d", p.Timestamp, p.Session, e.ts, l.session)
			}
		}
	}
}

// settle commits or aborts something prepared, not always the oldest.
func (m *machine) settle(t *rapid.T) {
	if len(m.prepared) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.prepared)-1).Draw(t, "which")
	p := m.prepared[i]
	m.prepared = slices.Delete(m.prepared, i, i+1)
	if rapid.IntRange(0, 4).Draw(t, "abort") == 0 {
		m.tab.Abort(p.p)
		return
	}
	m.tab.Commit(p.p)
	at := slices.IndexFunc(m.layers, func(l *layer) bool { return l.session == p.p.Session })
	for k, list := range p.muts {
		for _, e := range list {
			if e.ts == unset {
				e.ts = p.p.Timestamp + int64(k)*p.p.Step
			}
			e.key = fmt.Sprintf("%s@%d", e.row, e.ts)
			m.layers[at].entries = append(m.layers[at].entries, e)
		}
	}
}

func (m *machine) freeze(t *rapid.T) {
	f, ok := m.tab.Freeze()
	if !ok {
		return
	}
	active := m.layers[len(m.layers)-1]
	if f.Session != active.session {
		t.Fatalf("froze session %d, the active one was %d", f.Session, active.session)
	}
	active.age = f.Age
	m.layers = append(m.layers, &layer{session: m.tab.Session()})
}

func (m *machine) startFlush(t *rapid.T) {
	f, ok := m.tab.NextFlush()
	if !ok {
		return
	}
	if m.flush != nil {
		t.Fatal("two flushes at once")
	}
	m.flush = &f
	m.checkInUse(t, f.Merge)
}

func (m *machine) install(t *rapid.T) {
	if m.flush == nil {
		return
	}
	f := m.flush
	m.flush = nil
	if rapid.IntRange(0, 3).Draw(t, "fail") == 0 {
		m.tab.FlushFailed()
		return
	}
	out := modelFile{entries: entriesOf(f.Snapshot), ages: []uint64{f.Age}}
	m.add(&out, f.Merge)
	meta := m.meta(t, out, f.Ages)
	if err := m.tab.Install(f.Age, meta); err != nil {
		t.Fatal(err)
	}
	if m.tab.Install(f.Age, meta) == nil {
		t.Fatal("installed twice")
	}
}

// add appends the entries of files, newest first, as a merge would.
func (m *machine) add(out *modelFile, inputs []tablet.FileMeta) {
	for _, in := range inputs {
		f := m.files[in.Number]
		out.entries = append(out.entries, f.entries...)
		out.ages = append(out.ages, f.ages...)
	}
}

// meta makes an output's meta and files it away; nil without entries. Sometimes its timestamps are not known.
func (m *machine) meta(t *rapid.T, out modelFile, ages tablet.AgeRange) *tablet.FileMeta {
	if len(out.entries) == 0 {
		return nil
	}
	m.number++
	m.files[m.number] = out
	meta := &tablet.FileMeta{Number: m.number, Name: fmt.Sprint(m.number), Bytes: int64(len(out.entries)), Entries: int64(len(out.entries)), Ages: ages}
	meta.TimestampsKnown = rapid.IntRange(0, 4).Draw(t, "unknown") > 0
	for i, e := range out.entries {
		row := []byte(e.row)
		if i == 0 {
			meta.FirstRow, meta.LastRow, meta.MinTimestamp, meta.MaxTimestamp = row, row, e.ts, e.ts
		}
		if bytes.Compare(row, meta.FirstRow) < 0 {
			meta.FirstRow = row
		}
		if bytes.Compare(row, meta.LastRow) > 0 {
			meta.LastRow = row
		}
		meta.MinTimestamp, meta.MaxTimestamp = min(meta.MinTimestamp, e.ts), max(meta.MaxTimestamp, e.ts)
	}
	return meta
}

// checkInUse: nothing is read by two compactions at once.
func (m *machine) checkInUse(t *rapid.T, inputs []tablet.FileMeta) {
	for _, in := range inputs {
		for _, j := range m.jobs {
			if slices.Contains(numbersOf(j.Inputs), in.Number) {
				t.Fatalf("file %d is in use by job %d", in.Number, j.ID)
			}
		}
	}
}

func (m *machine) startJob(t *rapid.T) {
	j, ok := m.tab.NextJob()
	if !ok {
		return
	}
	m.checkInUse(t, j.Inputs)
	if m.flush != nil {
		for _, in := range m.flush.Merge {
			if slices.Contains(numbersOf(j.Inputs), in.Number) {
				t.Fatalf("file %d is in use by the flush", in.Number)
			}
		}
	}
	m.jobs = append(m.jobs, j)
	if j.Full {
		m.checkFull(t, j)
	}
}

// checkFull: nothing older than the newest input lies outside the inputs, now or later.
func (m *machine) checkFull(t *rapid.T, j Job) {
	var inside modelFile
	m.add(&inside, j.Inputs)
	for _, l := range m.layers {
		if l.age != 0 && l.age < j.Ages.Newest && len(l.entries) > 0 && !slices.Contains(inside.ages, l.age) {
			t.Fatalf("job %v is full, but the layer of age %d is outside", numbersOf(j.Inputs), l.age)
		}
	}
	for _, r := range m.imports {
		if r.Oldest < j.Ages.Newest {
			t.Fatalf("job %v of ages up to %d is full, but an import of age %d is under way", numbersOf(j.Inputs), j.Ages.Newest, r.Oldest)
		}
	}
}

func (m *machine) swap(t *rapid.T) {
	if len(m.jobs) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.jobs)-1).Draw(t, "which")
	j := m.jobs[i]
	m.jobs = slices.Delete(m.jobs, i, i+1)
	if rapid.IntRange(0, 4).Draw(t, "cancel") == 0 {
		if err := m.tab.Cancel(j.ID); err != nil {
			t.Fatal(err)
		}
		return
	}
	var out modelFile
	m.add(&out, j.Inputs)
	if err := m.tab.Swap(numbersOf(j.Inputs), m.meta(t, out, j.Ages)); err != nil {
		t.Fatal(err)
	}
	if m.tab.Swap(numbersOf(j.Inputs), nil) == nil {
		t.Fatal("swapped twice")
	}
}

func (m *machine) choose(t *rapid.T) {
	if m.tab.Selected() > 0 && rapid.Bool().Draw(t, "back") {
		m.tab.Deselect()
		return
	}
	if n := m.tab.SelectAll(); n != m.tab.Files() {
		t.Fatalf("selected %d of %d files", n, m.tab.Files())
	}
}

// importFiles sets ages apart, or ends an import that did.
func (m *machine) importFiles(t *rapid.T) {
	if len(m.imports) == 0 || len(m.imports) < 2 && rapid.Bool().Draw(t, "reserve") {
		m.imports = append(m.imports, m.tab.ReserveAges(rapid.IntRange(1, 2).Draw(t, "n")))
		return
	}
	ages := m.imports[0]
	if slices.ContainsFunc(m.tab.frozen, func(f *memory) bool { return f.age < ages.Oldest }) {
		if err := m.tab.Import(ages, nil); !errors.Is(err, ErrInUse) {
			t.Fatalf("import beside an older memtable: %v", err)
		}
		return
	}
	m.imports = m.imports[1:]
	if rapid.IntRange(0, 3).Draw(t, "give up") == 0 {
		m.tab.ReleaseAges(ages)
		return
	}
	var metas []tablet.FileMeta
	for age := ages.Oldest; age <= ages.Newest; age++ {
		l := &layer{age: age}
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			m.seq++
			e := modelEntry{row: rapid.SampledFrom(rows).Draw(t, "row"), ts: rapid.Int64Range(-2, 0).Draw(t, "ts"), seq: m.seq}
			e.key = fmt.Sprintf("%s@%d", e.row, e.ts)
			l.entries = append(l.entries, e)
		}
		m.layers = slices.Insert(m.layers, 0, l)
		newestFirst := slices.Clone(l.entries)
		slices.Reverse(newestFirst)
		metas = append(metas, *m.meta(t, modelFile{entries: newestFirst, ages: []uint64{age}}, tablet.AgeRange{Oldest: age, Newest: age}))
	}
	if err := m.tab.Import(ages, metas); err != nil {
		t.Fatal(err)
	}
}

func (m *machine) hold(*rapid.T) {
	if len(m.held) > 3 {
		return
	}
	v := m.tab.View()
	snaps := v.Snapshots()
	m.held = append(m.held, heldView{v, snaps, m.read(v, snaps)})
}

func (m *machine) release(t *rapid.T) {
	if len(m.held) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.held)-1).Draw(t, "which")
	m.held[i].view.Release()
	m.held = slices.Delete(m.held, i, i+1)
}
