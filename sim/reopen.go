package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"millrace/actors"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// partial compacts a run of a tablet's files that Pick chooses.
func (p *Player) partial(ctx context.Context, op Op) error {
	return errSkipped
}

func (p *Player) split(ctx context.Context, op Op) error {
	s, ok := any(p.World.Store()).(interface {
		AddSplits(ctx context.Context, table string, rows [][]byte) error
	})
	if !ok {
		return errSkipped
	}
	err := s.AddSplits(ctx, op.Table, [][]byte{op.Row})
	if err != nil && !Crashed(err) && p.options.Tolerate(op, err) {
		return errSkipped
	}
	return err
}

// canReopen says that a store finds again what an earlier one has left.
const canReopen = false

func (p *Player) reopen() error {
	if !canReopen {
		return errSkipped
	}
	if err := p.World.CloseStore(); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if err := p.World.Open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return p.Check()
}

// crash has the engine crash as the operation says, by a power cut or, on odd picks of other operations, by its process
// being killed, and recovers.
func (p *Player) crash(op Op) error {
	if !canReopen {
		return errSkipped
	}
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
// killed says that only the process has ended, so that what was handed to the system is there.
func (p *Player) Recover(left vfs.FS, killed bool) error {
	if !canReopen {
		return errSkipped
	}
	kept := tablet.DurabilitySync
	if killed {
		kept = tablet.DurabilityFlush
	}
	extents, err := p.extents()
	if err != nil {
		return err
	}
	p.World.Crash(left)
	for table, m := range p.Models {
		m.Crash(kept, extents[table])
	}
	if err := p.World.Open(); err != nil {
		return fmt.Errorf("open after a crash: %w", err)
	}
	return p.Check()
}

func (p *Player) extents() (map[string][]tablet.Extent, error) {
	all := make(map[string][]tablet.Extent)
	for _, table := range slices.Sorted(maps.Keys(p.Models)) {
		e, err := p.World.Store().Tablets(table)
		if err != nil {
			return nil, err
		}
		all[table] = e
	}
	return all, nil
}

var (
	_ = errors.Is
	_ = actors.CompactOptions{}
)
