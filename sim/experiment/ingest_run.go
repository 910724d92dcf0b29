package experiment

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"millrace/actors"
	"millrace/actors/protocol"
	"millrace/compactor/plan"
	"millrace/internal/clock"
	"millrace/internal/vfs"
	"millrace/sim/workload"
	"millrace/tablet"
)

// ciTable is the table's name, as in the ticket.
const ciTable = "ci"

// ingestRun is one run of Ingest, phase by phase.
type ingestRun struct {
	o        IngestOptions
	fs       vfs.FS
	clock    clock.Clock
	store    *actors.Store
	progress func(Phase)
	doc      *IngestDocument
	written  workload.Counts
	options  workload.Options
	journal  *ingestJournal
	codec    string
	// files are those of each tablet as ingest has left them, the newest first.
	files           [][]tablet.FileMeta
	tableProperties map[string]string
	held            heldOutputs
	compactions     int64 // thrown away
}

func startIngest(ctx context.Context, fs vfs.FS, o IngestOptions, progress func(Phase)) (*ingestRun, error) {
	server, table := map[string]string{}, map[string]string{}
	for name, value := range o.Properties {
		if strings.HasPrefix(name, "table.") {
			table[name] = value
		} else {
			server[name] = value
		}
	}
	store, err := actors.Open(ctx, "", actors.WithFS(fs), actors.WithProperties(server), actors.WithMemoryLimit(o.MemoryLimit),
		actors.WithProfile(plan.V1_5), actors.WithSeed(o.Seed))
	if err != nil {
		return nil, err
	}
	r := &ingestRun{o: o, fs: fs, clock: clock.Real{}, store: store, progress: progress, tableProperties: table,
		held:    heldOutputs{sameBytes: true, sameFiles: true, balanced: true, sameShapes: true, hashes: map[string][][32]byte{}},
		options: workload.Options{Seed: o.Seed, FlushEntries: o.FlushEntries, Limit: o.Entries}}
	r.doc = &IngestDocument{Document: Document[IngestRow]{
		Schema: "millrace.sim.ingest/1", Command: "ingest", Settings: settingsOf(o), Machine: ThisMachine(),
	}}
	if r.journal, err = openJournal(ctx, store, o); err != nil {
		return nil, r.closeAfter(err)
	}
	if err := r.table(ctx, table); err != nil {
		return nil, r.closeAfter(err)
	}
	settings, err := actors.ParseTable(table)
	if err != nil {
		return nil, r.closeAfter(err)
	}
	r.codec = settings.Codec
	if len(r.o.Codecs) == 0 {
		r.o.Codecs = []string{r.codec}
	}
	return r, nil
}

// table makes the table, or gives the one that is there the properties that hold now.
func (r *ingestRun) table(ctx context.Context, properties map[string]string) error {
	there, err := r.store.Properties(ctx, ciTable)
	if err != nil {
		return r.store.CreateTable(ctx, ciTable, r.options.Splits(r.o.Tablets), properties)
	}
	changed := maps.Clone(properties)
	for name := range there {
		if _, set := properties[name]; !set {
			changed[name] = "" // the default
		}
	}
	return r.store.SetProperties(ctx, ciTable, changed)
}

func (r *ingestRun) closeAfter(err error) error {
	r.close()
	return err
}

// close ends the store. It has its own time, since the run's may be over.
func (r *ingestRun) close() error {
	const patience = 30 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.store.Close(ctx)
}

// write runs the generator to its end, with a flush wherever it asks for one.
func (r *ingestRun) write(ctx context.Context) error {
	g, err := workload.NewGenerator(r.options)
	if err != nil {
		return err
	}
	if err := r.goOn(ctx, g); err != nil {
		return err
	}
	start := g.Counts()
	in := &r.doc.Ingest
	t := startTimer(r.clock)
	total := r.options.CountsAt(r.o.Entries).Writes
	acks := r.acks(start.Writes)
	for {
		batch := make([]*tablet.Mutation, r.o.BatchEntries)
		n := g.Fill(batch)
		if n == 0 {
			break
		}
		for _, m := range batch[:n] {
			in.Bytes += int64(m.NumBytes())
		}
		ack, err := r.store.ApplyAsync(ctx, ciTable, batch[:n])
		if err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
		if err := acks.add(ctx, ack, n); err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
		if g.NeedsFlush() {
			flush := startTimer(r.clock)
			if err := r.flush(ctx, acks); err != nil {
				return fmt.Errorf("ingest: %w", err)
			}
			wall, _ := flush.stop()
			in.FlushNS += int64(wall)
		}
		r.progress(Phase{Name: "ingest", Done: g.Counts().Writes, Total: total, Unit: "entries"})
	}
	wall, cpu := t.stop()
	r.written = g.Counts()
	in.Entries, in.Updates = r.written.Writes-start.Writes, r.written.Updates-start.Updates
	in.WallNS, in.CPUNS = int64(wall), int64(cpu)
	return r.takeStock(ctx)
}

// flush returns when everything written is in synced files, and the journal says so: a flush covers only what has been
// applied.
func (r *ingestRun) flush(ctx context.Context, acks *ackQueue) error {
	if err := acks.wait(ctx, 0); err != nil {
		return err
	}
	if err := r.store.Flush(ctx, ciTable); err != nil {
		return err
	}
	return r.journal.note(ctx, journalFlushed, acks.done)
}

// takeStock notes what ingest has left: files, and how much was written for them.
func (r *ingestRun) takeStock(ctx context.Context) error {
	stats, err := r.settled(ctx, ciTable)
	if err != nil {
		return err
	}
	in := &r.doc.Ingest
	flushed, rewritten := int64(0), int64(0)
	for _, s := range stats {
		in.Flushes += s.Counts.Flushes
		in.Compactions += s.Counts.Compactions
		flushed += s.Counts.FlushedBytes
		rewritten += s.Counts.CompactedBytes
		row := TabletRow{Extent: s.Extent.String(), Files: len(s.Files)}
		for _, f := range s.Files {
			row.Entries += f.Entries
			row.Bytes += f.Bytes
			row.FileBytes = append(row.FileBytes, f.Bytes)
		}
		in.FileBytes += row.Bytes
		r.doc.Tablets = append(r.doc.Tablets, row)
		r.files = append(r.files, s.Files)
	}
	if flushed > 0 {
		in.WriteAmp = float64(flushed+rewritten) / float64(flushed)
	}
	return nil
}

// settled waits until no job of a table is running or wished for, so that the files that merges are compared on stand still. A
// tablet plans anew in the moment a job ends, so two looks without a job between them are enough.
func (r *ingestRun) settled(ctx context.Context, table string) ([]protocol.TabletStats, error) {
	const pause = 20 * time.Millisecond
	for calm := 0; ; {
		stats, err := r.store.Stats(ctx, table)
		if err != nil {
			return nil, err
		}
		jobs, compactions := 0, int64(0)
		for _, s := range stats {
			if s.Err != nil {
				return nil, s.Err
			}
			jobs += s.Jobs
			compactions += s.Counts.Compactions
		}
		if calm++; jobs > 0 {
			calm = 0
		}
		if calm == 2 {
			return stats, nil
		}
		r.progress(Phase{Name: "waiting for compactions", Done: compactions, Unit: "compactions"})
		if err := clock.Sleep(ctx, r.clock, pause); err != nil {
			return nil, err
		}
	}
}

// verify scans the table and holds every entry against the rules of continuous ingest.
func (r *ingestRun) verify(ctx context.Context) error {
	t := startTimer(r.clock)
	scanner, err := r.store.Scan(ctx, ciTable, actors.ScanOptions{})
	if err != nil {
		return err
	}
	defer scanner.Close()
	v := workload.NewVerifier()
	var n int64
	ordered := true
	var last tablet.Key
	for scanner.Next() {
		e := scanner.Entry()
		if n > 0 && tablet.Compare(&last, &e.Key) >= 0 {
			ordered = false
		}
		last.Assign(&e.Key)
		v.Add(&e.Key, e.Value)
		if n++; n%10000 == 0 {
			r.progress(Phase{Name: "verify", Done: n, Total: r.written.Cells(), Unit: "entries"})
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	report := v.Report()
	wall, _ := t.stop()
	r.doc.Verified = VerifiedRow{Entries: report.Entries, Undefined: report.Undefined, Referenced: report.Referenced,
		Unreferenced: report.Unreferenced, Corrupt: report.Corrupt, WallNS: int64(wall)}
	c := &r.doc.Checks
	*c = check(*c, "undefined rows", report.Undefined, 0)
	*c = check(*c, "corrupt entries", report.Corrupt, 0)
	*c = check(*c, "entries read back, of those written less updates", report.Entries, r.written.Cells())
	*c = check(*c, "keys ascend", ordered, true)
	return nil
}
