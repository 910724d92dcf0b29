package sim

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/sim/oracle"
	"millrace/tablet"
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
	m := Moment{models: make(map[string]*oracle.Model, len(p.Models)), extents: p.extents, creating: p.creating,
		options: p.options, store: p.World.options.Store}
	for table, model := range p.Models {
		m.models[table] = model.Clone()
	}
	return m
}

// Verify opens an image of the files of a moment in a world of its own and holds it against the moment: everything that
// must be there is, nothing else is, and a second opening gives the same. Killed says that only the process has ended, so
// that the image holds what was handed to the system. A moment can be verified against any number of images.
func (m Moment) Verify(seed uint64, image vfs.FS, killed bool) error {
	w := New(Options{Seed: seed, FS: image, Store: m.store})
	defer w.End()
	return m.verify(w, killed)
}

func (m Moment) verify(w *World, killed bool) error {
	p := NewPlayer(w, m.options)
	for table, model := range m.models {
		p.Models[table] = model.Clone()
		p.Models[table].Crash(keeps(killed), m.extents[table])
	}
	if err := w.Open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if err := m.tables(w, p); err != nil {
		return err
	}
	before, err := p.check()
	if err != nil {
		return err
	}
	if err := w.CloseStore(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := w.Open(); err != nil {
		return fmt.Errorf("second open: %w", err)
	}
	after, err := p.check()
	if err != nil {
		return fmt.Errorf("after a second open: %w", err)
	}
	if !slices.EqualFunc(before, after, equalScans) {
		return fmt.Errorf("a second open shows something else:\n%v\nand before\n%v", after, before)
	}
	if err := w.CloseStore(); err != nil {
		return fmt.Errorf("second close: %w", err)
	}
	return nil
}

// tables wants every table that was made, and at most the one that was being made beside them.
func (m Moment) tables(w *World, p *Player) error {
	found, err := w.Store().Tables(context.Background())
	if err != nil {
		return fmt.Errorf("tables: %w", err)
	}
	for _, table := range found {
		if p.Models[table] == nil && table != m.creating {
			return fmt.Errorf("table %q was never made", table)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(p.Models)) {
		if !slices.Contains(found, table) {
			return fmt.Errorf("table %q is lost", table)
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
