package wal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"millrace/internal/record"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// Loss is a part of a log that cannot be read.
type Loss struct {
	File   string
	Offset int64 // of the first byte lost
	Bytes  int64 // 0 if the whole file is gone
	What   string
	// After and Before are the LSNs of the good entries around it in its segment; 0 if there is none. What lay between may
	// stand in another segment too.
	After, Before uint64
}

// Salvaged is what can be read of a log, damaged or not: where its good entries are, and what is lost.
type Salvaged struct {
	Losses []Loss
	// Kept is how many entries are good and in no file.
	Kept int64
	// Lost is how many entries were dropped at most: the LSNs between the first and the last good entry that no segment has
	// and that were not refused, and what may have stood in damage before the first and behind the last.
	Lost int64
	// Damaged are the numbers of the segments with losses, Segments of all, ascending.
	Damaged, Segments []uint64

	fs    vfs.FS
	voids []Void
	kept  []location // by LSN
}

// location is where an entry's record stands.
type location struct {
	lsn, segment  uint64
	offset, bytes int64 // of the payload
}

// Salvage reads all good records of the segments of these numbers, ascending, and notes what is damaged, instead of ending
// there as Replay does; from is as for Replay. A torn tail is where a segment ends, as ever: what a crash took is no loss.
// Its error is of the file system, or an ErrUnsupported: then nothing can be said. It keeps 40 bytes for each entry, and
// changes nothing.
func Salvage(ctx context.Context, fsys vfs.FS, segments []uint64, from func(tablet uint64) (session uint64, ok bool)) (*Salvaged, error) {
	s := &salvage{
		replay: replay{fs: fsys, from: from, known: map[uint64]*knowledge{}},
		out:    &Salvaged{fs: fsys, Segments: segments}, seen: map[uint64]bool{},
	}
	for _, n := range slices.Backward(segments) {
		if err := s.survey(n); err != nil && !errors.Is(err, tablet.ErrCorrupt) { // damage is found again below
			return nil, err
		}
	}
	s.missing(segments)
	for _, n := range segments {
		if err := s.segment(ctx, n); err != nil {
			return nil, fmt.Errorf("salvage log: %w", err)
		}
	}
	s.out.voids = s.report.Voids
	slices.SortFunc(s.out.kept, func(a, b location) int { return cmp.Compare(a.lsn, b.lsn) })
	s.out.Kept = int64(len(s.out.kept))
	s.out.Lost = s.lost()
	return s.out, nil
}

// salvage is one run of Salvage.
type salvage struct {
	replay
	out  *Salvaged
	seen map[uint64]bool // LSNs, of entries in files too

	ahead, behind int64 // bytes lost before the first good entry, and since the last one
}

// missing notes segments that are gone and were needed.
func (s *salvage) missing(segments []uint64) {
	for _, n := range slices.Sorted(maps.Keys(s.known)) {
		if err := s.checkGone(n, segments); err != nil {
			s.out.Losses = append(s.out.Losses, Loss{File: Name(n), What: err.What})
			if n < segments[0] {
				s.ahead = math.MaxInt64 // nobody knows how long it was
			}
		}
	}
}

func (s *salvage) segment(ctx context.Context, number uint64) error {
	file, err := s.fs.Open(Name(number))
	if err != nil {
		return err
	}
	defer file.Close()
	rd, err := s.reader(file, number)
	if err != nil {
		return err
	}
	in := salvagedSegment{salvage: s, number: number}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, offset, err := rd.Next()
		switch {
		case err == nil:
			in.record(b, offset)
		case err == io.EOF:
			return nil
		case errors.Is(err, tablet.ErrCorrupt):
			n, _, skipErr := rd.Skip()
			if skipErr != nil {
				return skipErr
			}
			in.lose(offset, n, err)
		default:
			return err
		}
	}
}

// salvagedSegment is one segment being read.
type salvagedSegment struct {
	*salvage
	number uint64
	last   uint64 // LSN of the last good entry
	begun  bool   // there was a record
	open   int    // one more than the index of the loss whose Before is not known yet; 0 for none
}

func (s *salvagedSegment) lose(offset, bytes int64, err error) {
	what := err.Error()
	var c *tablet.CorruptError
	if errors.As(err, &c) {
		what = c.What
	}
	out := s.out
	out.Losses = append(out.Losses, Loss{File: Name(s.number), Offset: offset, Bytes: bytes, What: what, After: s.last})
	s.open = len(out.Losses)
	s.behind += bytes
	if n := len(out.Damaged); n == 0 || out.Damaged[n-1] != s.number {
		out.Damaged = append(out.Damaged, s.number)
	}
	s.begun = true
}

// record takes in a record that verifies. What it says may be wrong all the same, and is then lost.
func (s *salvagedSegment) record(b []byte, offset int64) {
	first := !s.begun
	s.begun = true
	if b[0] == recordBegin && first {
		if _, err := readBegin(b, s.number); err != nil {
			s.lose(offset, record.FrameBytes+int64(len(b)), err)
		}
		return
	}
	e, rest, err := parseEntryHead(b)
	if err == nil && b[0] != recordEntry {
		err = fmt.Errorf("record of kind %d", b[0])
	}
	if err == nil {
		_, err = parseMutations(rest)
	}
	if err == nil && e.LSN <= s.last {
		err = fmt.Errorf("log entry: number %d follows %d", e.LSN, s.last)
	}
	if err != nil {
		s.lose(offset, record.FrameBytes+int64(len(b)), err)
		return
	}
	s.last = e.LSN
	if s.open > 0 {
		s.out.Losses[s.open-1].Before, s.open = e.LSN, 0
	}
	if s.seen[e.LSN] || s.voided(e.LSN) {
		return
	}
	if len(s.seen) == 0 {
		s.ahead = max(s.ahead, s.behind)
	}
	s.seen[e.LSN], s.behind = true, 0
	if session, ok := s.from(e.Tablet); ok && e.Session > session {
		s.out.kept = append(s.out.kept, location{e.LSN, s.number, offset + record.FrameBytes, int64(len(b))})
	}
}

// lost counts the LSNs that are nowhere, and what records at most the bytes at either end have held.
func (s *salvage) lost() (n int64) {
	var last uint64
	for _, lsn := range slices.Sorted(maps.Keys(s.seen)) {
		nowhere := int64(lsn - last - 1 - s.refused(last+1, lsn))
		if last == 0 { // those before the first entry may be in files
			nowhere = min(nowhere, s.ahead/minEntryRecord)
		}
		n += nowhere
		last = lsn
	}
	return n + s.behind/minEntryRecord
}

// refused counts the voided LSNs from one up to another.
func (s *salvage) refused(from, below uint64) (n uint64) {
	for _, v := range s.report.Voids {
		if low, high := max(v.From, from), min(v.To+1, below); low < high {
			n += high - low
		}
	}
	return n
}

// Write writes all that is kept into one new segment, sealed and durable, name and all. The number is above that of every
// segment. It can stand in for all that were read: they are no longer needed, and should be taken away from the last to
// the first, so that the log can be read, or is refused for its damage, at each moment in between.
func (s *Salvaged) Write(ctx context.Context, number uint64) error {
	f, err := s.fs.Create(Name(number))
	if err != nil {
		return fmt.Errorf("salvage log: %w", err)
	}
	if err := errors.Join(s.write(ctx, f, number), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("salvage log: %w", err), s.fs.Remove(Name(number)))
	}
	return s.fs.SyncDir(Dir)
}

func (s *Salvaged) write(ctx context.Context, f vfs.File, number uint64) error {
	const handOver = 1 << 20
	w := record.NewWriter(f, record.Header{Kind: record.Log, Version: version, Number: number})
	if _, err := w.Append(appendBegin(nil, &begin{voids: s.voids})); err != nil {
		return err
	}
	from := &sources{fs: s.fs}
	defer from.close()
	for _, p := range s.kept {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := from.read(p)
		if err != nil {
			return err
		}
		if _, err := w.Append(b); err != nil {
			return err
		}
		if w.Buffered() >= handOver {
			if err := w.Write(); err != nil {
				return err
			}
		}
	}
	return w.Seal()
}

// sources reads records that were found, one segment open at a time.
type sources struct {
	fs   vfs.FS
	at   uint64
	file vfs.File
	buf  []byte
}

func (s *sources) read(p location) ([]byte, error) {
	if s.at != p.segment {
		s.close()
		var err error
		if s.file, err = s.fs.Open(Name(p.segment)); err != nil {
			return nil, err
		}
		s.at = p.segment
	}
	s.buf = slices.Grow(s.buf[:0], int(p.bytes))[:p.bytes]
	if n, err := s.file.ReadAt(s.buf, p.offset); int64(n) < p.bytes {
		return nil, fmt.Errorf("read %s at offset %d: %w", s.file.Name(), p.offset, err)
	}
	return s.buf, nil
}

func (s *sources) close() {
	if s.file != nil {
		s.file.Close()
	}
	s.file, s.at = nil, 0
}
