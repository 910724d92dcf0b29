package experiment

import (
	"context"
	"fmt"

	"millrace/actors"
	"millrace/sim/workload"
	"millrace/tablet"
)

// goOn brings the generator to where the stream goes on, after it has looked for what was acknowledged: what comes behind
// the last flush is written again, and would hide a loss.
func (r *ingestRun) goOn(ctx context.Context, g *workload.Generator) error {
	j := r.journal
	if !j.resumed {
		return nil
	}
	row := &ResumedRow{Entries: j.flushed, Acknowledged: j.acknowledged}
	r.doc.Resumed = row
	var err error
	if row.Missing, err = r.missing(ctx, g.Instance()); err != nil {
		return fmt.Errorf("look for what was acknowledged: %w", err)
	}
	r.doc.Checks = check(r.doc.Checks, "acknowledged entries that are missing after the store was opened again", row.Missing, 0)
	for n := int64(0); g.Counts().Writes < j.flushed; n++ {
		if n%100_000 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.progress(Phase{Name: "go on", Done: g.Counts().Writes, Total: j.flushed, Unit: "entries"})
		}
		if _, ok := g.Next(); !ok {
			return fmt.Errorf("the store holds %d entries in files, --entries ends the stream before them: %w", j.flushed, tablet.ErrUsage)
		}
	}
	return nil
}

// missing counts the entries of the stream that were acknowledged and are not in the table. It keeps a bit for each.
func (r *ingestRun) missing(ctx context.Context, instance string) (int64, error) {
	scanner, err := r.store.Scan(ctx, ciTable, actors.ScanOptions{})
	if err != nil {
		return 0, err
	}
	defer scanner.Close()
	there := newBitmap(r.journal.acknowledged + r.options.Cycle())
	for n := int64(0); scanner.Next(); n++ {
		if n%10_000 == 0 {
			r.progress(Phase{Name: "look for what was acknowledged", Done: n, Total: r.journal.acknowledged, Unit: "entries"})
		}
		v, err := workload.ParseValue(scanner.Entry().Value)
		if err == nil && string(v.Instance) == instance {
			there.set(v.Count)
		}
	}
	if err := scanner.Err(); err != nil {
		return 0, err
	}
	missing := int64(0)
	for n := range uint64(r.journal.acknowledged) {
		if there.has(n) {
			continue
		}
		if by, ok := r.options.UpdatedBy(n); !ok || !there.has(by) {
			missing++
		}
	}
	return missing, nil
}

// bitmap is a set of numbers below a bound; others are passed over.
type bitmap []uint64

func newBitmap(below int64) bitmap { return make(bitmap, below/64+1) }

func (b bitmap) set(n uint64) {
	if n/64 < uint64(len(b)) {
		b[n/64] |= 1 << (n % 64)
	}
}

func (b bitmap) has(n uint64) bool { return n/64 < uint64(len(b)) && b[n/64]&(1<<(n%64)) != 0 }

// ackQueue are batches on their way, in the order in which they were sent.
type ackQueue struct {
	journal *ingestJournal
	// most is how many may be on their way at levels that outlive the process, where the journal follows; 0: any number, and
	// the journal is told of flushes alone.
	most  int
	queue []sentBatch
	done  int64 // entries from the beginning of the stream that were acknowledged
	noted int64
	every int64 // entries between two notes
}

type sentBatch struct {
	ack     *actors.Ack
	entries int
}

// Batches on their way, and between two notes, where the journal follows acknowledgements.
const (
	mostOnTheWay = 8
	noteBatches  = 2
)

// acks begins a queue behind so many entries.
func (r *ingestRun) acks(done int64) *ackQueue {
	q := &ackQueue{journal: r.journal, done: done, noted: done, every: noteBatches * int64(r.o.BatchEntries)}
	if d, err := tablet.ParseDurability(r.o.Properties["table.durability"]); err == nil && d >= tablet.DurabilityFlush {
		q.most = mostOnTheWay
	}
	return q
}

// add takes a batch in, and waits for older ones if there are many.
func (q *ackQueue) add(ctx context.Context, ack *actors.Ack, entries int) error {
	q.queue = append(q.queue, sentBatch{ack, entries})
	if q.most == 0 {
		return nil
	}
	if err := q.wait(ctx, q.most); err != nil {
		return err
	}
	if q.done-q.noted < q.every {
		return nil
	}
	q.noted = q.done
	_, err := q.journal.noteLater(ctx, journalAcknowledged, q.done)
	return err
}

// wait waits until at most so many batches are on their way.
func (q *ackQueue) wait(ctx context.Context, most int) error {
	n := 0
	for ; len(q.queue)-n > most; n++ {
		if err := q.queue[n].ack.Wait(ctx); err != nil {
			return err
		}
		q.done += int64(q.queue[n].entries)
	}
	q.queue = q.queue[:copy(q.queue, q.queue[n:])]
	return nil
}
