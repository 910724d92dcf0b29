package wal

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"millrace/internal/record"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// Replay reads the segments of these numbers, ascending, and gives yield each entry that is in no file, in the order of
// their LSNs. from is what the manifest says of a tablet: the session up to which everything is in files; ok is false for
// a tablet that is no more. The entry and its mutations belong to yield, whose error ends the replay.
//
// A torn tail is passed over. Damage, an end that is lost, or a segment that is gone and was needed is a
// tablet.CorruptError; entries before it may have been given. Nothing is changed.
func Replay(ctx context.Context, fsys vfs.FS, segments []uint64, from func(tablet uint64) (session uint64, ok bool), yield func(*Entry) error) (Report, error) {
	r := &replay{fs: fsys, from: from, yield: yield, known: map[uint64]*knowledge{}, sessions: map[uint64]uint64{}, unsynced: map[uint64]tailRecord{}}
	if !slices.IsSorted(segments) {
		return Report{}, fmt.Errorf("replay log: segments %v are not in order: %w", segments, tablet.ErrUsage)
	}
	err := r.run(ctx, segments)
	r.report.NextLSN = r.next()
	r.report.Sessions = sorted(r.sessions)
	for _, lsn := range slices.Sorted(maps.Keys(r.unsynced)) {
		r.report.tail = append(r.report.tail, r.unsynced[lsn])
	}
	return r.report, err
}

// replay is one run over a log.
type replay struct {
	fs    vfs.FS
	from  func(uint64) (uint64, bool)
	yield func(*Entry) error

	known    map[uint64]*knowledge // what later segments say of earlier ones
	highest  uint64                // LSN read, but for refused ones
	sessions map[uint64]uint64     // highest of each tablet
	unsynced map[uint64]tailRecord // entries given of which no place is known to be on stable storage, by LSN

	report Report
}

// knowledge is what all later segments say of one.
type knowledge struct {
	earlier
	by uint64 // the last that names it
}

func (r *replay) run(ctx context.Context, numbers []uint64) error {
	for _, n := range slices.Backward(numbers) { // so that a segment is read with all that others know of it
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replay log: %w", err)
		}
		if err := r.survey(n); err != nil {
			return err
		}
	}
	if err := r.checkMissing(numbers); err != nil {
		return err
	}
	for _, n := range numbers {
		if err := r.segment(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// survey reads a segment's first record.
func (r *replay) survey(number uint64) error {
	file, err := r.fs.Open(Name(number))
	if err != nil {
		return fmt.Errorf("replay log: %w", err)
	}
	defer file.Close()
	rd, err := r.reader(file, number)
	if err != nil {
		return err
	}
	b, offset, err := rd.Next()
	if err == io.EOF {
		return nil // a crash came before anything in it counted
	}
	if err != nil {
		return err
	}
	first, err := readBegin(b, number)
	if err != nil {
		return tablet.Corruptf(file.Name(), offset, "%v", err)
	}
	for _, e := range first.earlier {
		r.learn(e, number)
	}
	r.learnVoids(first.voids)
	return nil
}

func (r *replay) reader(f vfs.File, number uint64) (*record.Reader, error) {
	var known record.Outside
	if k := r.known[number]; k != nil {
		known = record.Outside{Synced: k.synced, End: k.end}
		if k.end != 0 {
			known.End = max(k.end, k.synced)
		}
	}
	return record.NewReader(f, record.Header{Kind: record.Log, Version: version, Number: number}, known)
}

func readBegin(b []byte, number uint64) (*begin, error) {
	if b[0] != recordBegin {
		return nil, fmt.Errorf("record of kind %d, the first of a segment is of kind %d", b[0], recordBegin)
	}
	return parseBegin(b, number)
}

// learn adds what a segment says of an earlier one. Which tablets need it is for the last segment that names it to say,
// which is read first: others were flushed in between.
func (r *replay) learn(e earlier, by uint64) {
	k := r.known[e.number]
	if k == nil {
		k = &knowledge{earlier: e, by: by}
		r.known[e.number] = k
	}
	k.synced = max(k.synced, e.synced)
	if e.end != 0 && (k.end == 0 || e.end < k.end) {
		k.end = e.end
	}
}

// learnVoids adds voids; the list stays ascending, without overlaps.
func (r *replay) learnVoids(voids []Void) {
	all := append(r.report.Voids, voids...)
	slices.SortFunc(all, func(a, b Void) int { return cmp.Compare(a.From, b.From) })
	merged := all[:0]
	for _, v := range all {
		if n := len(merged); n > 0 && v.From <= merged[n-1].To {
			merged[n-1].To = max(merged[n-1].To, v.To)
			continue
		}
		merged = append(merged, v)
	}
	r.report.Voids = merged
}

// checkMissing refuses a log of which a segment is gone that holds what no file does.
func (r *replay) checkMissing(numbers []uint64) error {
	for _, n := range slices.Sorted(maps.Keys(r.known)) {
		if _, there := slices.BinarySearch(numbers, n); there {
			continue
		}
		if err := r.checkGone(n, numbers); err != nil {
			return err
		}
		r.report.Missing = append(r.report.Missing, n)
	}
	return nil
}

// checkGone refuses that a segment is gone which holds what no file does.
func (r *replay) checkGone(n uint64, numbers []uint64) *tablet.CorruptError {
	if _, there := slices.BinarySearch(numbers, n); there {
		return nil
	}
	k := r.known[n]
	for _, t := range k.needed {
		if session, ok := r.from(t.Tablet); ok && t.Session > session {
			return &tablet.CorruptError{File: Name(n), What: fmt.Sprintf(
				"log segment is gone; segment %d says that it holds entries of tablet %d up to session %d, and files hold them up to session %d",
				k.by, t.Tablet, t.Session, session)}
		}
	}
	return nil
}

// segment reads one segment to its end.
func (r *replay) segment(ctx context.Context, number uint64) error {
	file, err := r.fs.Open(Name(number))
	if err != nil {
		return fmt.Errorf("replay log: %w", err)
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return fmt.Errorf("replay log: %w", err)
	}
	rd, err := r.reader(file, number)
	if err != nil {
		return err
	}
	s := segmentReplay{replay: r, number: number, needed: map[uint64]uint64{}}
	for n := 0; ; n++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("replay log: %w", err)
		}
		b, offset, err := rd.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		s.prove(rd.Synced())
		if err := s.record(n, b, offset); err != nil {
			return s.at(err, file.Name(), offset)
		}
	}
	end := rd.End()
	s.prove(end.Synced)
	s.keep()
	r.report.Segments = append(r.report.Segments, Segment{Number: number, Bytes: size, End: end.Offset, Synced: end.Synced,
		Sealed: end.Sealed, Torn: end.Torn, Marred: end.Marred, Needed: sorted(s.needed)})
	return nil
}

// segmentReplay is the run over one segment.
type segmentReplay struct {
	*replay
	number   uint64
	last     uint64            // LSN read here
	needed   map[uint64]uint64 // highest session of each tablet that is in no file and here on stable storage
	unproven []unproven        // by offset
}

// unproven is an entry at a place that no record read so far proves to be on stable storage.
type unproven struct {
	offset int64
	tailRecord
}

// prove notes that so many bytes of the segment were on stable storage.
func (s *segmentReplay) prove(synced int64) {
	n := 0
	for n < len(s.unproven) && s.unproven[n].offset < synced {
		u := &s.unproven[n]
		delete(s.unsynced, u.lsn)
		s.needed[u.of.Tablet] = max(s.needed[u.of.Tablet], u.of.Session)
		n++
	}
	clear(s.unproven[:n])
	s.unproven = s.unproven[n:]
}

// keep notes the entries that end on no stable storage. Of one that was read before the record is not here.
func (s *segmentReplay) keep() {
	for _, u := range s.unproven {
		if u.record != nil {
			s.unsynced[u.lsn] = u.tailRecord
		}
	}
}

// yieldError is the caller's own error.
type yieldError struct{ error }

// at gives an error its place, but for the caller's own.
func (s *segmentReplay) at(err error, file string, offset int64) error {
	if own, ok := err.(yieldError); ok {
		return fmt.Errorf("replay log: %w", own.error)
	}
	return tablet.Corruptf(file, offset, "%v", err)
}

func (s *segmentReplay) record(n int, b []byte, offset int64) error {
	if n == 0 {
		_, err := readBegin(b, s.number)
		return err
	}
	if b[0] != recordEntry {
		return fmt.Errorf("record of kind %d, only the first of a segment is of kind %d", b[0], recordBegin)
	}
	e, rest, err := parseEntryHead(b)
	if err != nil {
		return err
	}
	if e.LSN <= s.last {
		return fmt.Errorf("log entry: number %d follows %d", e.LSN, s.last)
	}
	s.last = e.LSN
	s.sessions[e.Tablet] = max(s.sessions[e.Tablet], e.Session)
	seen := e.LSN <= s.highest
	if !s.wanted(&e) {
		return nil
	}
	u := unproven{offset, tailRecord{lsn: e.LSN, of: TabletSession{e.Tablet, e.Session}}}
	if seen {
		s.report.Duplicates++
		s.unproven = append(s.unproven, u)
		return nil
	}
	u.record = bytes.Clone(b)
	s.unproven = append(s.unproven, u)
	return s.give(&e, u.record[len(b)-len(rest):])
}

// give parses an entry's mutations, which keep views of b, and passes it on.
func (s *segmentReplay) give(e *Entry, b []byte) (err error) {
	s.highest = e.LSN
	if e.Mutations, err = parseMutations(b); err != nil {
		return err
	}
	s.report.Entries++
	s.report.Mutations += int64(len(e.Mutations))
	if err := s.yield(e); err != nil {
		return yieldError{err}
	}
	return nil
}

// wanted says whether an entry is in no file, and counts why not.
func (s *segmentReplay) wanted(e *Entry) bool {
	if s.voided(e.LSN) {
		s.report.Voided++
		return false
	}
	session, ok := s.from(e.Tablet)
	switch {
	case !ok:
		s.report.Unknown++
	case e.Session <= session:
		s.report.Filed++
	default:
		return true
	}
	s.highest = max(s.highest, e.LSN)
	return false
}

func (r *replay) voided(lsn uint64) bool {
	i, _ := slices.BinarySearchFunc(r.report.Voids, lsn, func(v Void, lsn uint64) int {
		if v.To < lsn {
			return -1
		}
		return 1
	})
	return i < len(r.report.Voids) && r.report.Voids[i].From <= lsn
}

// next is above all LSNs given so far, refused ones too.
func (r *replay) next() uint64 {
	last := r.highest
	if n := len(r.report.Voids); n > 0 {
		last = max(last, r.report.Voids[n-1].To)
	}
	return last + 1
}
