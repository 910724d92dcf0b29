package job

import (
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/memtable"
	"millrace/tablet/rfile"
)

// Input is a file or memtable to be compacted. It stays open until the job has ended; closing it is its owner's.
type Input interface {
	// Sources returns new sources that together hold all entries of the wanted families. No two of them hold the same
	// key. The job closes them.
	Sources(f tablet.Families) []iter.Source
}

// batched is an input whose sources' batches can be sized.
type batched interface {
	sourcesOf(f tablet.Families, batchEntries int) []iter.Source
}

type fileInput struct {
	r       *rfile.Reader
	ahead   func(*rfile.Reader, *rfile.Group) rfile.BlockAhead
	cursors *rfile.Cursors
}

// File is a file as an input.
func File(r *rfile.Reader) Input { return fileInput{r: r} }

// FileAhead is File whose blocks are read ahead, as rfile.CursorOptions.Ahead says.
func FileAhead(r *rfile.Reader, ahead func(*rfile.Reader, *rfile.Group) rfile.BlockAhead) Input {
	return fileInput{r: r, ahead: ahead}
}

// FilePooled is File whose cursors come out of a free list, which belongs to whoever steps the job; nil keeps none.
func FilePooled(r *rfile.Reader, cursors *rfile.Cursors) Input {
	return fileInput{r: r, cursors: cursors}
}

func (in fileInput) Sources(f tablet.Families) []iter.Source { return in.sourcesOf(f, 0) }

func (in fileInput) sourcesOf(f tablet.Families, batchEntries int) []iter.Source {
	var out []iter.Source
	for _, g := range in.r.GroupsFor(f) {
		out = append(out, in.cursors.Get(in.r, g, rfile.CursorOptions{BatchEntries: batchEntries, Ahead: in.ahead, Listed: true}))
	}
	return out
}

type memoryInput struct{ s *memtable.Snapshot }

// Memory is a memtable as an input.
func Memory(s *memtable.Snapshot) Input { return memoryInput{s} }

func (in memoryInput) Sources(tablet.Families) []iter.Source { return []iter.Source{in.s.Source()} }

type fencedInput struct {
	Input
	r tablet.Range
}

// Fenced is the part of an input that lies in r: of a file that a tablet shares with others.
func Fenced(in Input, r tablet.Range) Input { return fencedInput{in, r} }

func (in fencedInput) Sources(f tablet.Families) []iter.Source { return in.sourcesOf(f, 0) }

func (in fencedInput) sourcesOf(f tablet.Families, batchEntries int) []iter.Source {
	out := sourcesOf(in.Input, f, batchEntries)
	for i := range out {
		out[i] = iter.Fence(out[i], in.r)
	}
	return out
}

func sourcesOf(in Input, f tablet.Families, batchEntries int) []iter.Source {
	if b, ok := in.(batched); ok && batchEntries > 0 {
		return b.sourcesOf(f, batchEntries)
	}
	return in.Sources(f)
}

// The batches of all inputs together should stay in the processor's cache: 256 KiB, at some 128 bytes an entry.
const (
	cachedEntries   = 256 << 10 / 128
	minBatchEntries = 32
	maxBatchEntries = 1024
)

func batchEntries(inputs int) int {
	return min(max(cachedEntries/max(inputs, 1), minBatchEntries), maxBatchEntries)
}
