package workload

import (
	"cmp"
	"slices"

	"millrace/tablet"
)

// Verifier collects which rows are there and which are referred to. Its memory is 8 bytes for each row and 16 for each
// reference; entries may come in any order, though it saves memory when those of one row come together.
type Verifier struct {
	entries, corrupt int64
	last             uint64
	hasLast          bool
	buckets          [bucketCount]bucket
}

// Rows are spread over buckets by hash, so that the check at the end works on one small part after another.
const (
	bucketBits  = 8
	bucketCount = 1 << bucketBits
)

type bucket struct {
	defined chunks[uint64]
	refs    chunks[reference]
}

type reference struct{ row, by uint64 }

// chunks is a list that grows without copying: first chunks are small, as there are many lists.
type chunks[T any] struct {
	full [][]T
	tail []T
	n    int
}

const (
	firstChunk = 32
	lastChunk  = 2048
)

func (c *chunks[T]) add(v T) {
	if len(c.tail) == cap(c.tail) {
		c.grow()
	}
	c.tail = append(c.tail, v)
	c.n++
}

func (c *chunks[T]) grow() {
	if c.tail != nil {
		c.full = append(c.full, c.tail)
	}
	c.tail = make([]T, 0, min(max(firstChunk, 2*cap(c.tail)), lastChunk))
}

// join moves the chunks of o over to c.
func (c *chunks[T]) join(o *chunks[T]) {
	c.full = append(c.full, o.full...)
	if len(o.tail) > 0 {
		c.full = append(c.full, o.tail)
	}
	c.n += o.n
	*o = chunks[T]{}
}

func (c *chunks[T]) all(f func(T)) {
	for _, chunk := range c.full {
		for _, v := range chunk {
			f(v)
		}
	}
	for _, v := range c.tail {
		f(v)
	}
}

// NewVerifier returns an empty verifier.
func NewVerifier() *Verifier { return &Verifier{} }

// Add takes in one entry. It keeps none of its bytes.
func (v *Verifier) Add(k *tablet.Key, value []byte) {
	v.entries++
	row, ok := parseRow(k.Row())
	parsed, err := Check(k, value)
	if !ok || err != nil {
		v.corrupt++
		return
	}
	if !v.hasLast || row != v.last {
		v.buckets[bucketOf(row)].defined.add(row)
		v.last, v.hasLast = row, true
	}
	if parsed.HasPrevious {
		v.buckets[bucketOf(parsed.Previous)].refs.add(reference{parsed.Previous, row})
	}
}

// spread turns a row into evenly spread bits: Fibonacci hashing.
func spread(row uint64) uint64 { return row * 0x9e3779b97f4a7c15 }

func bucketOf(row uint64) uint64 { return spread(row) >> (64 - bucketBits) }

// Merge takes over all that another verifier has collected, without copying it. The other is empty afterwards.
func (v *Verifier) Merge(o *Verifier) {
	v.entries += o.entries
	v.corrupt += o.corrupt
	for i := range v.buckets {
		v.buckets[i].defined.join(&o.buckets[i].defined)
		v.buckets[i].refs.join(&o.buckets[i].refs)
	}
	*o = Verifier{}
}

// Report is the outcome of a verification.
type Report struct {
	Entries      int64 // entries taken in, corrupt ones included
	Corrupt      int64 // entries whose row, value or checksum is wrong; they define and refer to nothing
	Undefined    int64 // rows that are referred to and not there: lost data
	Referenced   int64 // rows that are there and referred to
	Unreferenced int64 // rows that are there and not referred to: the newest step of each stream
	// Lost are the lowest undefined rows, at most LostShown, ascending.
	Lost []Lost
}

// Lost is an undefined row and who refers to it: at most LostShown rows, ascending.
type Lost struct {
	Row       uint64
	Referrers []uint64
}

// LostShown bounds the lists of a report.
const LostShown = 10

// Rows is how many different rows are there.
func (r *Report) Rows() int64 { return r.Referenced + r.Unreferenced }

// OK says that nothing was lost and nothing is corrupt.
func (r *Report) OK() bool { return r.Undefined == 0 && r.Corrupt == 0 }

// Report counts. The verifier may take in more afterwards.
func (v *Verifier) Report() Report {
	r := Report{Entries: v.entries, Corrupt: v.corrupt}
	var table rowTable
	for i := range v.buckets {
		v.buckets[i].report(&r, &table)
	}
	slices.SortFunc(r.Lost, func(a, b Lost) int { return cmp.Compare(a.Row, b.Row) })
	r.Lost = slices.Clip(r.Lost[:min(len(r.Lost), LostShown)])
	return r
}

func (b *bucket) report(r *Report, table *rowTable) {
	table.reset(b.defined.n)
	b.defined.all(table.define)
	var missing []reference
	var referenced int64
	b.refs.all(func(ref reference) {
		switch found, first := table.refer(ref.row); {
		case !found:
			missing = append(missing, ref)
		case first:
			referenced++
		}
	})
	r.Referenced += referenced
	r.Unreferenced += table.rows - referenced
	r.lose(missing)
}

// lose adds one bucket's references to rows that are not there. All references to one row lie in one bucket.
func (r *Report) lose(missing []reference) {
	slices.SortFunc(missing, func(a, b reference) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.by, b.by))
	})
	missing = slices.Compact(missing)
	shown := 0
	for len(missing) > 0 {
		row := missing[0].row
		n := 1
		for n < len(missing) && missing[n].row == row {
			n++
		}
		r.Undefined++
		if shown++; shown <= LostShown {
			l := Lost{Row: row}
			for _, ref := range missing[:min(n, LostShown)] {
				l.Referrers = append(l.Referrers, ref.by)
			}
			r.Lost = append(r.Lost, l)
		}
		missing = missing[n:]
	}
}
