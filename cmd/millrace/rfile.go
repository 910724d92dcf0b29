package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

func newRfile(e *env) *cobra.Command {
	return newGroup("rfile", "inspect, check, compare, make and compact RFiles", `
Commands on RFiles, Accumulo's sorted files. No Java and no Hadoop is needed.

All versions that Accumulo ever wrote are read; what is written is version 8 in a BCFile 1.0 container, which every
release of Accumulo reads, with checksums of its own that other readers pass over.

Rows and families are given and printed as text: printable ASCII as it is, other bytes as \xNN, a backslash as \\.`[1:],
		newInfo(e), newCat(e), newVerify(e), newDiff(e), newCreate(e), newCompact(e), newConvert(e), newSplit(e),
		newSplits(e), newExtents(e), newSums(e))
}

// openRFile opens a file that an argument names.
func (e *env) openRFile(path string) (*rfile.Reader, error) {
	f, err := e.open(path)
	if err != nil {
		return nil, err
	}
	return rfile.Open(f, rfile.ReaderOptions{})
}

// scan reads sources as one, entry by entry or batch by batch.
type scan struct {
	merge *iter.Merge
	runs  []iter.Run
}

// openScan merges groups of one file. Groups hold different families, so that their order among each other decides nothing.
func openScan(ctx context.Context, r *rfile.Reader, groups []*rfile.Group, rng tablet.Range, families tablet.Families) (*scan, error) {
	var sources []iter.Source
	for _, g := range groups {
		sources = append(sources, r.Cursor(g, rfile.CursorOptions{}))
	}
	return newScan(ctx, sources, rng, families)
}

// newScan merges sources, the first of which comes first among equal keys.
func newScan(ctx context.Context, sources []iter.Source, rng tablet.Range, families tablet.Families) (*scan, error) {
	const runs = 256
	s := &scan{merge: iter.NewMerge(iter.Tree, sources), runs: make([]iter.Run, runs)}
	if err := s.merge.Seek(ctx, rng, families); err != nil {
		return nil, errors.Join(err, s.merge.Close())
	}
	return s, nil
}

// each visits all entries, in stretches of a batch.
func (s *scan) each(ctx context.Context, visit func(b *tablet.Batch, run iter.Run) error) error {
	for {
		n, err := s.merge.Fill(ctx, s.runs)
		if err != nil || n == 0 {
			return err
		}
		for _, run := range s.runs[:n] {
			if err := visit(s.merge.Batch(run.Src), run); err != nil {
				return err
			}
		}
	}
}

func (s *scan) close() error { return s.merge.Close() }

// entryReader reads a scan entry by entry.
type entryReader struct {
	scan  *scan
	runs  []iter.Run // not yet used up
	batch *tablet.Batch
	at    uint32
}

// next is the next entry, a view until the call after; false at the end.
func (r *entryReader) next(ctx context.Context) (tablet.Entry, bool, error) {
	if len(r.runs) > 0 {
		if r.at++; r.at < r.runs[0].Hi {
			return r.batch.Entry(int(r.at)), true, nil
		}
		r.runs = r.runs[1:]
	}
	if len(r.runs) == 0 {
		n, err := r.scan.merge.Fill(ctx, r.scan.runs)
		if err != nil || n == 0 {
			return tablet.Entry{}, false, err
		}
		r.runs = r.scan.runs[:n]
	}
	r.batch, r.at = r.scan.merge.Batch(r.runs[0].Src), r.runs[0].Lo
	return r.batch.Entry(int(r.at)), true, nil
}
