package storage

import (
	"context"
	"errors"
	"fmt"

	"millrace/internal/vfs"
	"millrace/tablet/wal"
)

// ReplacedSuffix ends the names of log segments that a repair has replaced: they are not ours any more, and stay for whoever
// wants to look into them.
const ReplacedSuffix = ".replaced"

// RepairOptions say how Repair works.
type RepairOptions struct {
	// Self is told to others who want the store meanwhile.
	Self Holder
	// Do makes the repair. Without it Repair says what it would do, and changes nothing.
	Do bool
}

// RepairReport is what Repair found, and what it did about it.
type RepairReport struct {
	// Losses are the parts of the log that cannot be read; none if there is nothing to repair.
	Losses []wal.Loss
	// Kept is how many entries of the log are good and in no data file, Lost how many numbers of entries are nowhere.
	Kept, Lost int64
	// Segment is the new one that holds what was kept; empty without Do.
	Segment string
	// Replaced are the segments that it stands in for, under the names that they have now.
	Replaced []string
}

// Repair makes a store usable of which the log is damaged in front of good records: opening such a store is refused, since
// going on would drop entries that were acknowledged. Repair drops what cannot be read and nothing else. All good entries
// are written to a new segment; the old ones are not touched but for their names, and kept.
//
// It is for a store that nobody has open, or else fails with a *LockedError. A damaged manifest and damaged data files it
// does not repair: nothing else knows what they hold. A repair that is cut short is made whole by another one.
func Repair(ctx context.Context, fsys vfs.FS, o RepairOptions) (report *RepairReport, err error) {
	lock, err := TakeLock(fsys, o.Self)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	l, err := survey(ctx, fsys)
	if err != nil {
		return nil, fmt.Errorf("repair store: only the log can be repaired: %w", err)
	}
	s, err := wal.Salvage(ctx, fsys, l.Segments, l.Session)
	if err != nil {
		return nil, fmt.Errorf("repair store: %w", err)
	}
	report = &RepairReport{Losses: s.Losses, Kept: s.Kept, Lost: s.Lost}
	if len(s.Losses) == 0 || !o.Do {
		return report, nil
	}
	if err := s.Write(ctx, l.NextNumber); err != nil {
		return nil, fmt.Errorf("repair store: %w", err)
	}
	report.Segment = wal.Name(l.NextNumber)
	if err := report.replace(fsys, s.Segments); err != nil {
		return nil, fmt.Errorf("repair store: not all segments have their new names, repair once more: %w", err)
	}
	return report, nil
}

// replace gives the segments other names, from the last to the first and each for good before the next, so that at every
// moment the store is refused for its damage or opens with all that was kept.
func (r *RepairReport) replace(fsys vfs.FS, segments []uint64) error {
	for i := len(segments) - 1; i >= 0; i-- {
		name := wal.Name(segments[i])
		if err := fsys.Rename(name, name+ReplacedSuffix); err != nil {
			return err
		}
		if err := fsys.SyncDir(wal.Dir); err != nil {
			return err
		}
		r.Replaced = append(r.Replaced, name+ReplacedSuffix)
	}
	return nil
}

// repairable adds to the error of a log that cannot be read how to go on.
func repairable(err error) error {
	return fmt.Errorf("%w (nothing was changed; a repair drops what cannot be read of the log and keeps all else: millrace store repair)", err)
}
