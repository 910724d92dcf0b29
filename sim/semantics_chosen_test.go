package sim

import (
	"context"
	"slices"

	"millrace/actors"
	"millrace/actors/protocol"
	"millrace/sim/oracle"
	"millrace/tablet"
)

// compactChosen compacts any set of a table's files, as Pick draws it, and knows exactly what that may do to later writes
// with old timestamps: nothing, unless it took all files of a tablet. Where it might, memory is put into a file first, as a
// full compaction beside entries in memory may bring back those among them whose timestamps are older than a marker's.
// Apart from that what is in memory stays there. It is not for clients at once.
func (p *Player) compactChosen(op Op, strict bool) error {
	ctx, done := p.World.Context()
	defer done()
	before, err := p.World.Store().Stats(ctx, op.Table)
	if err != nil {
		return p.tolerated(op, err)
	}
	numbers := drawFiles(before, op.Pick)
	if len(numbers) == 0 {
		return errSkipped
	}
	if risky := slices.ContainsFunc(before, func(t protocol.TabletStats) bool { return mayBeFull(t, numbers) }); risky {
		if strict {
			return errSkipped
		}
		m := p.Models[op.Table]
		if err := p.ended(op, m.BeginFlush(), p.World.Store().Flush(ctx, op.Table)); err != nil {
			return err
		}
		if before, err = p.World.Store().Stats(ctx, op.Table); err != nil {
			return p.tolerated(op, err)
		}
	}
	return p.compactFiles(ctx, op, before, numbers)
}

// compactFiles does it, and tells the model of every tablet of which it was a full compaction.
func (p *Player) compactFiles(ctx context.Context, op Op, before []protocol.TabletStats, numbers []uint64) error {
	m := p.Models[op.Table]
	pending := make([]*oracle.Pending, len(before))
	for i := range before {
		if mayBeFull(before[i], numbers) {
			pending[i] = m.BeginCompact(before[i].Extent.DataRange())
		}
	}
	done, err := p.World.Store().Compact(ctx, op.Table, actors.CompactOptions{Files: numbers, NoFlush: true})
	if Crashed(err) {
		return err
	}
	for i, at := range pending {
		switch {
		case at == nil:
		case err != nil:
			m.Unknown(at)
		case tookAll(before[i], done):
			m.Ack(at)
		default:
			m.Refused(at)
		}
	}
	return p.tolerated(op, err)
}

// drawFiles draws any of the files of one tablet, at least one if it has any.
func drawFiles(tablets []protocol.TabletStats, pick uint64) (numbers []uint64) {
	r := stream(pick, "files")
	t := tablets[r.IntN(len(tablets))]
	if len(t.Files) == 0 {
		return nil
	}
	for _, i := range r.Perm(len(t.Files))[:1+r.IntN(len(t.Files))] {
		numbers = append(numbers, t.Files[i].Number)
	}
	return numbers
}

// mayBeFull says whether compacting files of these numbers may take in all of a tablet's: whatever lies between them in age
// may have to come along.
func mayBeFull(t protocol.TabletStats, numbers []uint64) bool {
	var ages tablet.AgeRange
	in := 0
	for again := true; again; {
		again, in = false, 0
		for _, f := range t.Files {
			chosen := slices.Contains(numbers, f.Number)
			within := ages.Newest > 0 && f.Ages.Oldest <= ages.Newest && ages.Oldest <= f.Ages.Newest
			if !chosen && !within {
				continue
			}
			in++
			wider := tablet.AgeRange{Oldest: f.Ages.Oldest, Newest: max(ages.Newest, f.Ages.Newest)}
			if ages.Newest > 0 {
				wider.Oldest = min(ages.Oldest, f.Ages.Oldest)
			}
			again = again || wider != ages
			ages = wider
		}
	}
	return in > 0 && in == len(t.Files)
}

// tookAll says whether all files that a tablet had were inputs.
func tookAll(before protocol.TabletStats, done []protocol.TabletCompaction) bool {
	i := slices.IndexFunc(done, func(c protocol.TabletCompaction) bool {
		return tablet.CompareExtents(c.Extent, before.Extent) == 0
	})
	return i >= 0 && !slices.ContainsFunc(before.Files, func(f tablet.FileMeta) bool {
		return !slices.ContainsFunc(done[i].Inputs, func(in tablet.FileMeta) bool { return in.Number == f.Number })
	})
}
