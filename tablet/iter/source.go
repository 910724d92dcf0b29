package iter

import (
	"context"

	"millrace/tablet"
)

// Source is one sorted run of entries in batches. A Source that also is a fmt.Stringer is named so in errors.
type Source interface {
	// Seek positions the source at the first entry that lies in r and is of the wanted families. It may be called any
	// number of times, and never delivers an entry outside r or f. The source may keep r and f, and what they point to,
	// until the next Seek or Close.
	Seek(ctx context.Context, r tablet.Range, f tablet.Families) error

	// Next returns the next batch, which has at least one entry, or nil at the end and from then on. The batch is valid
	// until the following Next, Seek or Close.
	//
	// The code of the first entry after Seek is against the range's start if that is inclusive, else against the empty
	// key. All further codes, also across batches, are against the entry that this source delivered before.
	Next(ctx context.Context) (*tablet.Batch, error)

	Close() error
}

// Run is a stretch [Lo, Hi) of the batch of one source, with nothing from another source in between.
type Run struct {
	// Code is the code of entry Lo against the entry before it in the output; that of the first entry after Seek is
	// against the base that Source.Next names. Codes of the further entries are those of the batch.
	Code   uint64
	Src    uint16
	Lo, Hi uint32
}

// Len is the number of entries, at least 1.
func (r Run) Len() int { return int(r.Hi - r.Lo) }

// RunSource yields runs: a Merge, or a Stack upon one.
type RunSource interface {
	// Seek positions at the first entry in r, as Source.Seek does.
	Seek(ctx context.Context, r tablet.Range, f tablet.Families) error

	// Fill writes the next runs to out, which must not be empty, and returns how many; 0 is the end, and stays so. It may
	// leave out partly empty long before the end. An error comes alone, after all entries that are certainly before it,
	// and repeats until the next Seek.
	Fill(ctx context.Context, out []Run) (int, error)

	// Batch is the batch that the runs of one source refer to; valid until the next Fill, Seek or Close.
	Batch(src uint16) *tablet.Batch
}
