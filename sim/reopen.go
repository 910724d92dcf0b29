package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// partial compacts a run of a tablet's files that Pick chooses. What that run demands comes along, and a tablet that was
// split off may have the same files; so it is never sure that it is not a full compaction of some rows.
func (p *Player) partial(ctx context.Context, op Op) error {
	s, m := p.World.Store(), p.Models[op.Table]
	if !m.Safe() { // the model of what a crash may take knows no compaction that may have been
		if err := p.ended(op, m.BeginFlush(), s.Flush(ctx, op.Table)); err != nil {
			return err
		}
	}
	stats, err := s.Stats(ctx, op.Table)
	if err != nil {
		return p.tolerated(op, err)
	}
	t := stats[op.Pick%uint64(len(stats))]
	if len(t.Files) < 2 {
		return errSkipped
	}
	n := 1 + int(op.Pick>>8%uint64(len(t.Files)-1))
	first := int(op.Pick >> 16 % uint64(len(t.Files)-n+1))
	var numbers []uint64
	for _, f := range t.Files[first : first+n] {
		numbers = append(numbers, f.Number)
	}
	pending := m.BeginCompact(tablet.Range{})
	_, err = s.Compact(ctx, op.Table, actors.CompactOptions{Files: numbers, NoFlush: true})
	if Crashed(err) {
		return err
	}
	if err == nil {
		m.Unknown(pending)
		return nil
	}
	return p.ended(op, pending, err)
}

// tolerated turns an error that may happen, of an operation which changes nothing that a scan shows, into errSkipped.
func (p *Player) tolerated(op Op, err error) error {
	if err == nil || !p.tolerate(op, err) {
		return err
	}
	return errSkipped
}

func (p *Player) split(ctx context.Context, op Op) error {
	err := p.World.Store().AddSplits(ctx, op.Table, [][]byte{op.Row})
	if e := p.look(); e != nil && err == nil {
		err = e
	}
	return p.tolerated(op, err)
}

// look notes where the tables are cut. A crash in the middle of a split finds it either way, which makes no difference to
// what may be there.
func (p *Player) look() error {
	extents := make(map[string][]tablet.Extent)
	for table := range p.Models {
		e, err := p.World.Store().Tablets(table)
		if err != nil {
			return err
		}
		extents[table] = e
	}
	p.extents = extents
	return nil
}

// reopen closes the store and opens it again. With faults an opening may fail, but not for ever.
func (p *Player) reopen(op Op) error {
	// A clean close keeps everything but what was never logged. One that failed may not have written what the log still
	// had in memory, and says so.
	kept := tablet.DurabilityLog
	if err := p.World.CloseStore(); err != nil {
		if p.tolerated(op, err) != errSkipped {
			return fmt.Errorf("close: %w", err)
		}
		kept = keeps(true)
	}
	for _, table := range slices.Sorted(maps.Keys(p.Models)) {
		p.Models[table].Crash(kept, p.extents[table])
	}
	return p.open(op)
}

func (p *Player) open(op Op) error {
	err := p.World.Open()
	for try := 0; err != nil && try < 20 && p.tolerated(op, err) == errSkipped; try++ {
		err = p.World.Open()
	}
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if err := p.look(); err != nil {
		return err
	}
	return p.Check()
}

// crash has the engine crash as the operation says, by a power cut or, on odd picks of other operations, by its process
// being killed, and recovers.
func (p *Player) crash(op Op) error {
	if op.Kind != PowerCut && op.Kind != Killed {
		op.Kind = [2]OpKind{PowerCut, Killed}[op.Pick&1]
	}
	p.World.Kill()
	return p.Recover(p.options.Image(op, p.World.FS()), op.Kind == Killed)
}

// Image is what a crash leaves of a file system in memory. Of a killed process it is everything that was handed to the
// system; of a power cut what Pick draws: a mode, and what that keeps of what was not synced.
func Image(op Op, fs vfs.FS) vfs.FS {
	m, ok := fs.(*vfs.MemFS)
	if !ok {
		panic(fmt.Sprintf("sim: %T keeps no image; set PlayOptions.Image", fs))
	}
	if op.Kind == Killed {
		return m.Image(vfs.ImageOptions{Mode: vfs.ImageAll})
	}
	modes := slices.DeleteFunc(vfs.ImageModes(), func(m vfs.ImageMode) bool { return m == vfs.ImageAll })
	return m.Image(vfs.ImageOptions{Mode: modes[op.Pick%uint64(len(modes))], Seed: op.Pick})
}

// Recover crashes the engine, if it has not crashed already, opens the store on what is left of its files and checks it:
// killed says that only the process has ended, so that what was handed to the system is there. A crash during the opening
// is followed by another one.
func (p *Player) Recover(left vfs.FS, killed bool) error {
	for deep := 0; ; deep++ {
		p.World.Crash(left)
		for _, table := range slices.Sorted(maps.Keys(p.Models)) {
			p.Models[table].Crash(keeps(killed), p.extents[table])
		}
		op := Op{Kind: Reopen}
		err := p.open(op)
		if !Crashed(err) || deep == 10 {
			return err
		}
		op.Kind, op.Pick = PowerCut, p.World.Steps()
		left, killed = p.options.Image(op, p.World.FS()), false
	}
}

// keeps is the least durability that survives a crash.
func keeps(killed bool) tablet.Durability {
	if killed {
		return tablet.DurabilityFlush
	}
	return tablet.DurabilitySync
}
