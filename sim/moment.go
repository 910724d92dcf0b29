package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/sim/oracle"
	"millrace/tablet"
	"millrace/tablet/storage"
)

// Moment is what may be in the tables at one moment of a run, for holding it against an image of the files of that
// moment. It costs a few map copies; a layer's hook may take one at every call.
type Moment struct {
	models   map[string]*oracle.Model
	extents  map[string][]tablet.Extent
	creating string // a table that may be there or not
	options  PlayOptions
	store    []actors.Option
}

// Moment is the present one. Operations that run now may or may not have happened in it.
func (p *Player) Moment() Moment {
	m := Moment{
		models: make(map[string]*oracle.Model, len(p.Models)), extents: p.extents, creating: p.creating, options: p.options,
		store: p.World.options.Store,
	}
	for table, model := range p.Models {
		m.models[table] = model.Clone()
	}
	m.options.Began, m.options.Ended, m.options.Setup = nil, nil, nil
	return m
}

// Verify opens an image of the files of a moment in a world of its own and holds it against the moment: everything that
// must be there is, nothing else is, and a second opening gives the same; the store's own check finds no damage before,
// and nothing at all after it was closed. Killed says that only the process has ended, so that the image holds what was
// handed to the system. A moment can be verified against any number of images. The error wraps a *Broken.
func (m Moment) Verify(seed uint64, image vfs.FS, killed bool) error {
	return m.VerifyAnd(seed, image, killed, nil)
}

// VerifyAnd is Verify, and then plays more operations in the store, to see that it works: those on tables that must be
// there.
func (m Moment) VerifyAnd(seed uint64, image vfs.FS, killed bool, more History) error {
	if err := checkStore(image, false); err != nil {
		return broken(Damaged, fmt.Errorf("as the crash left it: %w", err))
	}
	w := New(Options{Seed: seed, FS: image, Store: m.store})
	defer w.End()
	w.Clock().Jump(-time.Hour) // so that only what is in files and log keeps timestamps rising
	p := NewPlayer(w, m.options)
	for table, model := range m.models {
		p.Models[table] = model.Clone()
		p.Models[table].Crash(keeps(killed), m.extents[table])
	}
	if err := m.verify(w, p); err != nil {
		return err
	}
	more = slices.DeleteFunc(slices.Clone(more), func(op Op) bool { return p.Models[op.Table] == nil })
	if len(more) > 0 {
		if err := p.playMore(more); err != nil {
			return then(mismatched(err))
		}
	}
	if err := checkStore(image, true); err != nil {
		return broken(Damaged, fmt.Errorf("after it was closed: %w", err))
	}
	_, _, err := w.SyncChecks()
	return broken(Damaged, err)
}

func (m Moment) verify(w *World, p *Player) error {
	if err := w.Open(); err != nil {
		return broken(Unopened, fmt.Errorf("open: %w", err))
	}
	if err := m.tables(w, p); err != nil {
		return err
	}
	before, err := p.check()
	if err != nil {
		return mismatched(err)
	}
	if err := w.CloseStore(); err != nil {
		return broken(Unopened, fmt.Errorf("close: %w", err))
	}
	if err := w.Open(); err != nil {
		return broken(Unopened, fmt.Errorf("second open: %w", err))
	}
	after, err := p.check()
	if err != nil {
		return broken(Changed, fmt.Errorf("after a second open: %w", err))
	}
	if !slices.EqualFunc(before, after, equalScans) {
		return broken(Changed, fmt.Errorf("a second open shows something else:\n%v\nand before\n%v", after, before))
	}
	if err := w.CloseStore(); err != nil {
		return broken(Unopened, fmt.Errorf("second close: %w", err))
	}
	return nil
}

// then says of a *Broken that it came later.
func then(err error) error {
	var b *Broken
	if errors.As(err, &b) {
		return &Broken{b.Harm, fmt.Errorf("then: %w", b.Err)}
	}
	return err
}

// playMore opens the store once more and closes it at the end.
func (p *Player) playMore(h History) error {
	if err := p.open(Op{Kind: Reopen}); err != nil {
		return err
	}
	if err := p.Play(h); err != nil {
		return err
	}
	return p.World.CloseStore()
}

// checkStore runs the store's own check. A crash leaves torn ends and files that nothing names. A clean close leaves no
// more than the torn ends of older segments, of which the log still needs the whole part.
func checkStore(fs vfs.FS, closed bool) error {
	report, err := storage.Check(context.Background(), fs, storage.CheckOptions{})
	switch {
	case err != nil:
		return err
	case !closed:
		return report.Err()
	case !report.Closed:
		return fmt.Errorf("the manifest has no end")
	}
	for _, f := range report.Findings {
		if f.Kind != storage.Torn {
			return fmt.Errorf("%d findings: %v", len(report.Findings), f)
		}
	}
	return nil
}

// tables wants every table that was made, and at most the one that was being made beside them.
func (m Moment) tables(w *World, p *Player) error {
	found, err := w.Store().Tables(context.Background())
	if err != nil {
		return broken(Unopened, fmt.Errorf("tables: %w", err))
	}
	for _, table := range found {
		if p.Models[table] == nil && table != m.creating {
			return broken(Phantom, fmt.Errorf("table %q was never made", table))
		}
	}
	for _, table := range slices.Sorted(maps.Keys(p.Models)) {
		if !slices.Contains(found, table) {
			return broken(Lost, fmt.Errorf("table %q", table))
		}
	}
	return nil
}

// equalScans compares two scans to the byte, timestamps included.
func equalScans(a, b []tablet.Entry) bool {
	return slices.EqualFunc(a, b, func(x, y tablet.Entry) bool {
		return tablet.Compare(&x.Key, &y.Key) == 0 && bytes.Equal(x.Value, y.Value)
	})
}
