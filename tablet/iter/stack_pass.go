package iter

import "millrace/tablet"

// The pass functions move entries from a run to out, and leave in the run what had no room: at least one entry moves.

// passRun keeps a whole run: nothing hides or filters it and versions do not count. The entry before it was kept too:
// only a marker of its cell could have dropped it.
func (s *Stack) passRun(run *Run, out []Run, n int) int {
	length := int64(run.Len())
	s.books.Read += length
	s.books.Written += length
	out[n] = *run
	run.Lo = run.Hi
	return n + 1
}

// beginsCells says whether each entry of a run is the first of its cell.
func beginsCells(b *tablet.Batch, run *Run) bool {
	if run.Code < tablet.CodeSameCell {
		return false
	}
	if run.Hi-run.Lo == 1 {
		return true
	}
	for _, code := range b.Codes[run.Lo+1 : run.Hi] {
		if code < tablet.CodeSameCell {
			return false
		}
	}
	return true
}

// passCells keeps a whole run that beginsCells, where nothing is filtered.
func (s *Stack) passCells(run *Run, out []Run, n int) int {
	length := int64(run.Len())
	s.books.Read += length
	s.books.Written += length
	out[n] = *run
	out[n].Code = max(s.carry, run.Code)
	run.Lo = run.Hi
	s.deleted, s.kept, s.carry = false, 1, 0
	return n + 1
}

// passCodes is for batches without markers where nothing is filtered: codes alone decide.
func (s *Stack) passCodes(b *tablet.Batch, run *Run, out []Run, n int) int {
	p := passing{out: out, n: n, run: *run, carry: s.carry}
	kept, deleted, limit := s.kept, s.deleted, s.opts.MaxVersions
	var hidden, versions int64
	for p.run.Lo < p.run.Hi && p.hasRoom() {
		switch {
		case p.run.Code >= tablet.CodeSameCell:
			deleted, kept = false, 1
			p.keep()
		case deleted:
			hidden++
			p.drop()
		case limit == 0 || kept < limit:
			kept++
			p.keep()
		default:
			versions++
			p.drop()
		}
		p.step(b)
	}
	s.kept, s.deleted = kept, deleted
	s.books.Hidden += hidden
	s.books.Versions += versions
	s.books.Written -= hidden + versions // finish counts all as written
	return s.finish(&p, run)
}

// passEntries is for all cases.
func (s *Stack) passEntries(b *tablet.Batch, run *Run, out []Run, n int) int {
	p := passing{out: out, n: n, run: *run, carry: s.carry}
	for p.run.Lo < p.run.Hi && p.hasRoom() {
		if dropped := s.judge(b, int(p.run.Lo), p.run.Code); dropped == nil {
			p.keep()
		} else {
			*dropped++
			s.books.Written--
			p.drop()
		}
		p.step(b)
	}
	return s.finish(&p, run)
}

// finish takes over where a passing stopped.
func (s *Stack) finish(p *passing, run *Run) int {
	p.close()
	length := int64(p.run.Lo - run.Lo)
	s.books.Read += length
	s.books.Written += length
	s.carry, *run = p.carry, p.run
	return p.n
}

// judge returns the account that an entry is dropped on, nil if it is kept.
func (s *Stack) judge(b *tablet.Batch, i int, code uint64) *int64 {
	if code >= tablet.CodeSameCell || s.fresh {
		s.newCell(b, i, code)
	}
	if s.deleted {
		return &s.books.Hidden
	}
	if b.Refs[i].Deleted {
		s.deleted = true
		if !s.opts.PropagateDeletes {
			return &s.books.Markers
		}
	}
	if !s.wanted {
		return &s.books.Filtered
	}
	if limit := s.opts.MaxVersions; limit > 0 && s.kept >= limit {
		return &s.books.Versions
	}
	s.kept++
	if s.early {
		if k := b.Key(i); s.beforeStart(&k) {
			return &s.books.Before
		}
		s.early = false
	}
	return nil
}

// newCell resets the state of the cell and decides whether the cell is wanted.
func (s *Stack) newCell(b *tablet.Batch, i int, code uint64) {
	s.deleted, s.kept = false, 0
	if !s.filters() {
		s.fresh = false
		return
	}
	k := b.Key(i)
	if s.opts.Columns.filters() && (code >= tablet.CodeSameQualifier || s.fresh) {
		s.fetched = s.opts.Columns.accepts(k.Family(), k.Qualifier())
	}
	s.wanted = s.fetched && (s.opts.Visible == nil || s.opts.Visible(k.Visibility()))
	s.fresh = false
}

func (s *Stack) beforeStart(k *tablet.Key) bool {
	c := tablet.Compare(k, &s.start)
	return c < 0 || c == 0 && !s.startInclusive
}

// passing is where a pass function stands: run is what it has not seen yet, run.Code the code of its first entry.
type passing struct {
	out   []Run
	n     int // runs in out, the open one not counted
	run   Run
	carry uint64
	open  bool // out[n] is being extended
}

// hasRoom says whether the next entry could be kept.
func (p *passing) hasRoom() bool { return p.open || p.n < len(p.out) }

func (p *passing) keep() {
	if !p.open {
		p.out[p.n] = Run{Code: max(p.carry, p.run.Code), Src: p.run.Src, Lo: p.run.Lo}
		p.open, p.carry = true, 0
	}
}

func (p *passing) drop() {
	p.close()
	p.carry = max(p.carry, p.run.Code)
}

// close ends the open run before the current entry.
func (p *passing) close() {
	if p.open {
		p.out[p.n].Hi = p.run.Lo
		p.n++
		p.open = false
	}
}

func (p *passing) step(b *tablet.Batch) {
	p.run.Lo++
	if p.run.Lo < p.run.Hi {
		p.run.Code = b.Codes[p.run.Lo]
	}
}
