package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/sim/oracle"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/manifest"
	"millrace/tablet/rfile"
)

// readPath is a way to read all of a table.
type readPath struct {
	name string
	read func(p *Player, whole []tablet.Entry) ([]tablet.Entry, error)
}

var readPaths = []readPath{
	{"pages of one entry", func(p *Player, _ []tablet.Entry) ([]tablet.Entry, error) {
		return p.scan(actors.ScanOptions{PageEntries: 1})
	}},
	{"a snapshot of all tablets", func(p *Player, _ []tablet.Entry) ([]tablet.Entry, error) {
		return p.scan(actors.ScanOptions{Snapshot: true})
	}},
	{"scans gone on with", scanOn},
	{"row by row", rowByRow},
	{"column by column", columnByColumn},
	{"family by family", familyByFamily},
	{"an iterator", iterated},
	{"an iterator sought to each entry", soughtToEach},
	{"the first entry of each column", firstOfEach},
}

// scan is a scan of everything, but for what the options say.
func (p *Player) scan(o actors.ScanOptions) ([]tablet.Entry, error) {
	o.Authorizations = p.all
	sc, err := p.World.Store().Scan(context.Background(), "t", o)
	if err != nil {
		return nil, err
	}
	return ReadAll(sc)
}

// scanOn gives a scan up after every third entry, and goes on from its place.
func scanOn(p *Player, _ []tablet.Entry) (all []tablet.Entry, err error) {
	o := actors.ScanOptions{Authorizations: p.all, PageEntries: 2}
	for {
		sc, err := p.World.Store().Scan(context.Background(), "t", o)
		if err != nil {
			return nil, err
		}
		n := 0
		for ; n < 3 && sc.Next(); n++ {
			all = append(all, sc.Entry().Clone())
		}
		o.After, err = sc.Place(), sc.Err()
		sc.Close()
		if err != nil || n < 3 {
			return all, err
		}
	}
}

// rowByRow scans each row that there is, and one that there is not.
func rowByRow(p *Player, whole []tablet.Entry) (all []tablet.Entry, err error) {
	for _, row := range append(distinctBy(whole, func(k *tablet.Key) string { return string(k.Row()) }), "zz") {
		some, err := p.scan(actors.ScanOptions{Range: tablet.ExactRow([]byte(row)), PageEntries: 2})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// distinctBy are the parts of keys that there are, in the order of keys.
func distinctBy(entries []tablet.Entry, part func(k *tablet.Key) string) (parts []string) {
	for i := range entries {
		if p := part(&entries[i].Key); !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return parts
}

// columnByColumn fetches single columns, and puts what it finds in the order of keys.
func columnByColumn(p *Player, whole []tablet.Entry) (all []tablet.Entry, err error) {
	for _, name := range distinctBy(whole, func(k *tablet.Key) string { return string(k.Family()) + ":" + string(k.Qualifier()) }) {
		family, qualifier, _ := bytes.Cut([]byte(name), []byte(":"))
		some, err := p.scan(actors.ScanOptions{Columns: iter.FetchColumns(iter.Column{Family: family, Qualifier: qualifier})})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return inKeyOrder(all), nil
}

func familyByFamily(p *Player, whole []tablet.Entry) (all []tablet.Entry, err error) {
	for _, family := range distinctBy(whole, func(k *tablet.Key) string { return string(k.Family()) }) {
		some, err := p.scan(actors.ScanOptions{Columns: iter.FetchColumns(iter.Column{Family: []byte(family), Whole: true})})
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return inKeyOrder(all), nil
}

// inKeyOrder leaves equal keys as they are: those of one column come from one scan.
func inKeyOrder(entries []tablet.Entry) []tablet.Entry {
	slices.SortStableFunc(entries, func(a, b tablet.Entry) int { return tablet.Compare(&a.Key, &b.Key) })
	return entries
}

func (p *Player) iterate(f func(ctx context.Context, it *actors.Iterator) error) error {
	it, err := p.World.Store().Iterator("t", actors.IteratorOptions{Authorizations: p.all})
	if err != nil {
		return err
	}
	return errors.Join(f(context.Background(), it), it.Close())
}

func iterated(p *Player, _ []tablet.Entry) (all []tablet.Entry, err error) {
	err = p.iterate(func(ctx context.Context, it *actors.Iterator) error {
		err := it.Seek(ctx, tablet.Range{})
		for err == nil {
			e, ok := it.Top()
			if !ok {
				return nil
			}
			all = append(all, e.Clone())
			err = it.Next(ctx)
		}
		return err
	})
	return all, err
}

// soughtToEach seeks backwards to the key of each entry. Of equal keys only the first can be reached so.
func soughtToEach(p *Player, whole []tablet.Entry) (all []tablet.Entry, err error) {
	all = slices.Clone(whole)
	err = p.iterate(func(ctx context.Context, it *actors.Iterator) error {
		for i := len(whole) - 1; i >= 0; i-- {
			if i > 0 && tablet.Compare(&whole[i-1].Key, &whole[i].Key) == 0 {
				continue
			}
			if err := it.Seek(ctx, tablet.Range{}.WithStart(whole[i].Key)); err != nil {
				return err
			}
			e, ok := it.Top()
			if !ok {
				return fmt.Errorf("nothing at %v", whole[i].Key)
			}
			all[i] = e.Clone()
		}
		return nil
	})
	return all, err
}

// firstOfEach asks for each column by itself; the other entries are taken as they are.
func firstOfEach(p *Player, whole []tablet.Entry) ([]tablet.Entry, error) {
	all := slices.Clone(whole)
	for i := range whole {
		k := &whole[i].Key
		if i > 0 {
			before := &whole[i-1].Key
			if bytes.Equal(before.Row(), k.Row()) && bytes.Equal(before.Family(), k.Family()) && bytes.Equal(before.Qualifier(), k.Qualifier()) {
				continue
			}
		}
		e, ok, err := p.World.Store().Get(context.Background(), "t", actors.Column{Row: k.Row(), Family: k.Family(), Qualifier: k.Qualifier()}, p.all)
		if err != nil || !ok {
			return nil, fmt.Errorf("get %v: %t, %w", k, ok, err)
		}
		all[i] = e
	}
	return all, nil
}

// mergedOffline reads the files that the manifest names, without the engine, and has the plain store make of them what a
// scan shows. Of the files of one tablet the older ones are written first.
func mergedOffline(fs vfs.FS, versions int) (all []tablet.Entry, err error) {
	found, err := manifest.Read(context.Background(), fs)
	if err != nil {
		return nil, err
	}
	for t := range found.State.Tablets(found.State.Table("t")) {
		files := slices.Clone(t.Files)
		slices.SortFunc(files, func(a, b manifest.FileRef) int { return cmp.Compare(a.Ages.Newest, b.Ages.Newest) })
		var s oracle.Store
		for _, f := range files {
			entries, err := rawEntries(fs, f.Name)
			if err != nil {
				return nil, err
			}
			for _, e := range slices.Backward(entries) { // of equal keys the first is the newest
				s.Insert(e)
			}
		}
		all = append(all, s.Scan(oracle.Query{Range: t.Extent.DataRange(), MaxVersions: versions})...)
	}
	return all, nil
}

func rawEntries(fs vfs.FS, name string) (all []tablet.Entry, err error) {
	f, err := fs.Open(name)
	if err != nil {
		return nil, err
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{})
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	defer r.Close()
	for _, g := range r.Groups() {
		c := r.Cursor(g, rfile.CursorOptions{})
		err := c.Seek(context.Background(), tablet.Range{}, tablet.Families{})
		for err == nil {
			var b *tablet.Batch
			if b, err = c.Next(context.Background()); b == nil {
				break
			}
			for i := range b.Len() {
				e := b.Entry(i)
				all = append(all, e.Clone())
			}
		}
		if err = errors.Join(err, c.Close()); err != nil {
			return nil, err
		}
	}
	return inKeyOrder(all), nil
}

// TestReadPathsAgree makes tables by random histories and reads each in every way that there is, the last of them from its
// files without the engine: all must show what a scan shows.
func TestReadPathsAgree(t *testing.T) {
	n := runs(60)
	var entries, files atomic.Int64
	failed := overSeeds(t, n, func(seed uint64) error {
		s := randomSetting(seed)
		o := s.world(seed)
		h := NewHistory(seed, HistoryOptions{Ops: 40, Numbered: seed%2 == 0, Explicit: 100, Rows: 10, Weights: map[OpKind]int{Write: 60, Flush: 15, Partial: 4, Full: 2, Split: 3, Reopen: 1}})
		w := New(o)
		defer w.End()
		po := s.play()
		if seed%2 == 1 {
			po.Properties = merged(po.Properties, QuietTable) // old timestamps show what is compacted
		}
		p := NewPlayer(w, po)
		if err := p.Begin(); err != nil {
			return err
		}
		if err := p.Play(h); err != nil {
			return fmt.Errorf("under %v: %w", s, err)
		}
		found, err := p.agree()
		if err != nil {
			return fmt.Errorf("under %v: %w\nhistory:\n%v", s, err, h)
		}
		entries.Add(int64(found))
		stats, err := w.Store().Stats(context.Background(), "t")
		for _, t := range stats {
			files.Add(int64(len(t.Files)))
		}
		return errors.Join(err, w.Panicked())
	})
	lastLine(t, "R39", count("tables", n), count("paths", len(readPaths)+2), count("entries", int(entries.Load())), count("files", int(files.Load())), zero("different", failed))
}

// agree reads in all ways, and flushes before the last.
func (p *Player) agree() (entries int, err error) {
	whole, err := p.Scan("t")
	if err != nil {
		return 0, err
	}
	for _, path := range readPaths {
		got, err := path.read(p, whole)
		if err == nil {
			err = sameSight(whole, got)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path.name, err)
		}
	}
	if err := p.World.Store().Flush(context.Background(), "t"); err != nil {
		return 0, err
	}
	got, err := mergedOffline(p.World.FS(), p.options.Versions)
	if err == nil {
		err = sameSight(whole, got)
	}
	if err != nil {
		return 0, fmt.Errorf("the files merged offline: %w", err)
	}
	return len(whole), nil
}

func sameSight(want, got []tablet.Entry) error {
	w, g := newSight(want), newSight(got)
	if w.sum == g.sum {
		return nil
	}
	return differs(w, g)
}
