package iter

import (
	"context"
	"fmt"

	"millrace/tablet"
)

// inGroups turns sources, the newest first, into few enough for one merge: merges of groups of at most so many of them,
// and of groups of these if need be. Neighbours stay together, so that the first group is newer than the second.
func (p *Pool) inGroups(mode Mode, sources []Source, most int) []Source {
	for len(sources) > most {
		var groups []Source
		for from := 0; from < len(sources); from += most {
			part := sources[from:min(from+most, len(sources))]
			groups = append(groups, &groupSource{merge: p.Get(mode, part), first: from})
		}
		sources = groups
	}
	return sources
}

// groupSource is a merge as a source of another: each of its runs is a batch. What the merge says of the codes of its runs
// is what a source must say of its batches.
type groupSource struct {
	merge *Merge
	first int // rank of the newest source among all
	in    [stackRuns]Run
	runs  []Run // drawn and not yet handed out; a part of in
	batch tablet.Batch
}

func (g *groupSource) String() string {
	return fmt.Sprintf("sources from %d on", g.first)
}

// Seek is as in Source.
func (g *groupSource) Seek(ctx context.Context, r tablet.Range, f tablet.Families) error {
	g.runs = nil
	return g.merge.Seek(ctx, r, f)
}

// Next is as in Source. The batches that the runs refer to are valid until more are drawn.
func (g *groupSource) Next(ctx context.Context) (*tablet.Batch, error) {
	if len(g.runs) == 0 {
		n, err := g.merge.Fill(ctx, g.in[:])
		if n == 0 || err != nil {
			return nil, err
		}
		g.runs = g.in[:n]
	}
	r := g.runs[0]
	g.runs = g.runs[1:]
	b, out := g.merge.Batch(r.Src), &g.batch
	out.Refs, out.Codes = b.Refs[r.Lo:r.Hi], append(out.Codes[:0], b.Codes[r.Lo:r.Hi]...)
	out.Arena, out.Raw, out.Facts = b.Arena, b.Raw, b.Facts
	out.Codes[0] = r.Code
	// It is no block, and the bound of its codes is a part's.
	f := &out.Facts
	f.Block, f.FirstOf, f.LastOf, f.MaxCode = -1, false, false, 0
	for _, code := range out.Codes[1:] {
		f.MaxCode = max(f.MaxCode, code)
	}
	return out, nil
}

// Close is as in Source.
func (g *groupSource) Close() error {
	if g.merge == nil {
		return nil
	}
	m := g.merge
	*g = groupSource{first: g.first}
	return m.Close()
}
