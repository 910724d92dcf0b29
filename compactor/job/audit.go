package job

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync/atomic"

	"millrace/internal/invariant"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// audit keeps, in checking builds, a second set of books of a group: it takes what the sources deliver, merges it in the
// plainest way there is, and says of each entry what must become of it. What a job drops must be as many for each reason,
// and what it writes must be the same multiset of entries. It holds no more than a batch of each source.
type audit struct {
	rule    auditRule
	sources []*auditedSource
	books   iter.Books

	cell    tablet.Key // owns its bytes
	any     bool
	kept    int
	deleted bool

	must, did uint64 // sums of hashes: of what is to survive, and of what was written
}

// auditRule says what may be dropped.
type auditRule struct {
	keepAll, markers bool // nothing; delete markers too
	versions         int  // 0: all
}

// Audited is how many groups, and how many of their entries, were audited in this process; 0 in other builds. A difference
// is a panic.
func Audited() (groups, entries int64) { return auditedGroups.Load(), auditedEntries.Load() }

var auditedGroups, auditedEntries atomic.Int64

var auditSeed = maphash.MakeSeed()

// newAudit returns nil in builds that do not check.
func newAudit(s *Spec) *audit {
	if !invariant.Enabled {
		return nil
	}
	return &audit{rule: auditRule{keepAll: s.KeepAll, markers: s.Full, versions: s.MaxVersions}}
}

// watch takes a copy of whatever sources deliver. The newest source comes first.
func (a *audit) watch(sources []iter.Source) {
	if a == nil {
		return
	}
	for i, s := range sources {
		w := &auditedSource{Source: s, audit: a}
		a.sources = append(a.sources, w)
		sources[i] = w
	}
}

// auditedSource is a source whose entries are queued for the audit.
type auditedSource struct {
	iter.Source
	audit *audit
	queue []tablet.Entry
	ended bool
}

// Unwrap is the source below.
func (s *auditedSource) Unwrap() iter.Source { return s.Source }

func (s *auditedSource) String() string {
	if named, ok := s.Source.(fmt.Stringer); ok {
		return named.String()
	}
	return fmt.Sprintf("%T", s.Source)
}

func (s *auditedSource) Next(ctx context.Context) (*tablet.Batch, error) {
	b, err := s.Source.Next(ctx)
	if err != nil {
		return b, err
	}
	if s.ended = b == nil; !s.ended {
		for i := range b.Len() {
			e := b.Entry(i)
			s.queue = append(s.queue, e.Clone())
		}
	}
	s.audit.advance()
	return b, nil
}

// advance judges entries as long as the next one is certain: every source that has not ended has one to compare.
func (a *audit) advance() {
	for {
		var next *auditedSource
		for _, s := range a.sources {
			switch {
			case len(s.queue) > 0:
				if next == nil || tablet.Compare(&s.queue[0].Key, &next.queue[0].Key) < 0 {
					next = s
				}
			case !s.ended:
				return
			}
		}
		if next == nil {
			return
		}
		a.judge(&next.queue[0])
		next.queue = next.queue[1:]
	}
}

// judge says what becomes of the next entry in the order of keys, of equal keys the newest source's.
func (a *audit) judge(e *tablet.Entry) {
	a.books.Read++
	if !a.any || !tablet.SameCell(&a.cell, &e.Key) {
		a.cell.Assign(&e.Key)
		a.any, a.kept, a.deleted = true, 0, false
	}
	hidden := a.deleted
	a.deleted = a.deleted || e.Key.Deleted()
	switch {
	case a.rule.keepAll:
	case hidden:
		a.books.Hidden++
		return
	case e.Key.Deleted() && a.rule.markers:
		a.books.Markers++
		return
	case a.rule.versions > 0 && a.kept == a.rule.versions:
		a.books.Versions++
		return
	}
	a.kept++
	a.books.Written++
	a.must += hashOf(e)
}

// wrote adds what is about to be written.
func (a *audit) wrote(b *tablet.Batch, lo, hi uint32) {
	if a == nil {
		return
	}
	for i := lo; i < hi; i++ {
		e := b.Entry(int(i))
		a.did += hashOf(&e)
	}
}

func hashOf(e *tablet.Entry) uint64 {
	var h maphash.Hash
	h.SetSeed(auditSeed)
	ends := e.Key.Ends()
	for _, n := range []int64{int64(ends.Row), int64(ends.Family), int64(ends.Qualifier), int64(e.Key.Size()), e.Key.Timestamp()} {
		maphash.WriteComparable(&h, n)
	}
	maphash.WriteComparable(&h, e.Key.Deleted())
	_, _ = h.Write(e.Key.Data())
	_, _ = h.Write(e.Value)
	return h.Sum64()
}

// close compares the books, once all has been read. Iterators above the stack may write what they like; what comes to them
// is compared.
func (a *audit) close(below iter.Books, iterators bool) {
	if a == nil {
		return
	}
	for _, s := range a.sources {
		if !s.ended || len(s.queue) > 0 {
			if !iterators {
				invariant.Fail("compaction: ended before %v", s)
			}
			return // an iterator wanted no more
		}
	}
	below.Filtered, below.Before = 0, 0 // a compaction has no columns, and its range begins with a row
	if below != a.books {
		invariant.Fail("compaction: books are %+v, and should be %+v", below, a.books)
	}
	if a.did != a.must && !iterators {
		invariant.Fail("compaction: of %+v others were written than survive", a.books)
	}
	auditedGroups.Add(1)
	auditedEntries.Add(a.books.Read)
}
