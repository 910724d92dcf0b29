package hosted

import (
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"millrace/tablet"
	"millrace/tablet/memtable"
)

// entriesOf lists a snapshot as the model does.
func entriesOf(s *memtable.Snapshot) (list []modelEntry) {
	s.All(func(e tablet.Entry) bool {
		row, ts := string(e.Key.Row()), e.Key.Timestamp()
		var seq int
		fmt.Sscan(string(e.Value), &seq)
		list = append(list, modelEntry{key: fmt.Sprintf("%s@%d", row, ts), row: row, ts: ts, seq: seq})
		return true
	})
	return list
}

// read is what a reader of the view meets: the entries of each key, the newest first.
func (m *machine) read(v *View, snaps []*memtable.Snapshot) map[string][]int {
	got := map[string][]int{}
	take := func(entries []modelEntry) {
		for _, e := range entries {
			got[e.key] = append(got[e.key], e.seq)
		}
	}
	for _, s := range snaps {
		take(entriesOf(s))
	}
	for _, meta := range v.Files() {
		take(m.files[meta.Number].entries)
	}
	return got
}

// want is what a reader must meet: layers by age, newest first, and in each the last committed first.
func (m *machine) want() map[string][]int {
	sorted := slices.Clone(m.layers)
	slices.SortStableFunc(sorted, func(a, b *layer) int {
		age := func(l *layer) uint64 { return l.age - 1 } // 0, the active one's, becomes the greatest
		switch {
		case age(a) > age(b):
			return -1
		case age(a) < age(b):
			return 1
		}
		return 0
	})
	want := map[string][]int{}
	for _, l := range sorted {
		for _, e := range slices.Backward(l.entries) {
			want[e.key] = append(want[e.key], e.seq)
		}
	}
	return want
}

func (m *machine) check(t *rapid.T) {
	v := m.tab.View()
	got, want := m.read(v, v.Snapshots()), m.want()
	if !maps.EqualFunc(got, want, slices.Equal) {
		t.Fatalf("readers see %v\nwant        %v\nfiles %v", got, want, v.Files())
	}
	live := map[uint64]bool{}
	see := func(v *View) {
		for _, meta := range v.Files() {
			live[meta.Number] = true
		}
	}
	see(v)
	v.Release()
	for _, h := range m.held {
		see(h.view)
		if again := m.read(h.view, h.snaps); !maps.EqualFunc(again, h.read, slices.Equal) {
			t.Fatalf("a held view changed from %v to %v", h.read, again)
		}
	}
	m.takeObsolete(t)
	for number := range m.files {
		if live[number] == m.obsolete[number] {
			t.Fatalf("file %d: obsolete is %v, seen by a view is %v", number, m.obsolete[number], live[number])
		}
	}
}

func (m *machine) takeObsolete(t *rapid.T) {
	for _, meta := range m.tab.Obsolete() {
		if m.obsolete[meta.Number] {
			t.Fatalf("file %d is obsolete twice", meta.Number)
		}
		m.obsolete[meta.Number] = true
	}
}

// finish ends everything that is under way, and then compacts everything: one file is left, and only it is not obsolete.
func (m *machine) finish(t *rapid.T) {
	for _, p := range m.prepared {
		m.tab.Abort(p.p)
	}
	for _, j := range m.jobs {
		if err := m.tab.Cancel(j.ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range m.imports {
		m.tab.ReleaseAges(r)
	}
	m.jobs, m.imports, m.flush = nil, nil, nil
	m.tab.FlushFailed()
	m.freeze(t)
	for m.tab.FrozenCount() > 0 {
		f, ok := m.tab.NextFlush()
		if !ok {
			t.Fatalf("%d memtables left, and no flush is due", m.tab.FrozenCount())
		}
		out := modelFile{entries: entriesOf(f.Snapshot), ages: []uint64{f.Age}}
		m.add(&out, f.Merge)
		if err := m.tab.Install(f.Age, m.meta(t, out, f.Ages)); err != nil {
			t.Fatal(err)
		}
	}
	full := m.tab.Files() == 0
	for m.tab.SelectAll(); m.tab.Selected() > 0; {
		j, ok := m.tab.NextJob()
		if !ok {
			t.Fatalf("%d files selected, and no job is due", m.tab.Selected())
		}
		full = j.Full
		var out modelFile
		m.add(&out, j.Inputs)
		if err := m.tab.Swap(numbersOf(j.Inputs), m.meta(t, out, j.Ages)); err != nil {
			t.Fatal(err)
		}
	}
	if m.tab.Files() > 1 || !full {
		t.Fatalf("%d files left after everything was compacted, the last job full: %v", m.tab.Files(), full)
	}
	m.check(t)
	for _, h := range m.held {
		h.view.Release()
	}
	m.held = nil
	m.check(t)
	files := m.tab.Files()
	m.tab.Close()
	if m.tab.View() != nil || len(m.tab.Obsolete()) != files {
		t.Fatal("a closed tablet gives a view, or keeps its files")
	}
}
