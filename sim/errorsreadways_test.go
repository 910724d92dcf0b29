package sim

import (
	"context"
	"fmt"

	"millrace/actors"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// openAndScan: the fault is met by the opening; the scan is sound.
func (r *readTrial) openAndScan() ([]string, error) { return r.thenScan(r.open()) }

func (r *readTrial) scan() ([]string, error) { return r.all(r.options()) }

func (r *readTrial) scanColumns() ([]string, error) {
	o := r.options()
	o.Columns = iter.FetchColumns(iter.Column{Family: []byte("g"), Whole: true}, iter.Column{Family: []byte("f"), Qualifier: []byte("q1")})
	return r.all(o)
}

func (r *readTrial) scanSnapshot() ([]string, error) {
	o := r.options()
	o.Snapshot, o.Versions = true, -1
	return r.all(o)
}

// iterate goes through the table entry by entry.
func (r *readTrial) iterate() (found []string, err error) {
	it, err := r.w.Store().Iterator("t", actors.IteratorOptions{Authorizations: r.p.all})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	ctx := context.Background()
	for err = it.Seek(ctx, tablet.Range{}); err == nil; err = it.Next(ctx) {
		e, ok := it.Top()
		if !ok {
			return found, nil
		}
		found = append(found, texts([]tablet.Entry{e})...)
	}
	return found, err
}

// seek looks for rows forwards and backwards, with one iterator.
func (r *readTrial) seek() (found []string, err error) {
	it, err := r.w.Store().Iterator("t", actors.IteratorOptions{Authorizations: r.p.all})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for i := range 24 {
		row := fmt.Appendf(nil, "r%02d", i*7%12)
		if err := it.Seek(context.Background(), tablet.ExactRow(row)); err != nil {
			return found, err
		}
		e, ok := it.Top()
		found = append(found, fmt.Sprint(string(row), ok, texts([]tablet.Entry{e})))
	}
	return found, nil
}

func (r *readTrial) get() (found []string, err error) {
	for i := range 24 {
		row := fmt.Appendf(nil, "r%02d", i*5%12)
		e, ok, err := r.w.Store().Get(context.Background(), "t", actors.Column{Row: row, Family: []byte("f"), Qualifier: fmt.Appendf(nil, "q%d", i%4)}, r.p.all)
		if err != nil {
			return found, err
		}
		found = append(found, fmt.Sprint(string(row), ok, texts([]tablet.Entry{e})))
	}
	return found, nil
}

// thenScan ends a phase whose reads are those of something else than a scan, which shows only what came of it.
func (r *readTrial) thenScan(err error) ([]string, error) {
	if r.own = r.trace.Last(); err != nil {
		return nil, err
	}
	return r.all(r.options())
}

// partial compacts the newest files of each tablet.
func (r *readTrial) partial() ([]string, error) {
	ctx := context.Background()
	stats, err := r.w.Store().Stats(ctx, "t")
	if err != nil {
		return nil, err
	}
	var files []uint64
	for _, s := range stats {
		for _, f := range s.Files[:min(2, len(s.Files))] {
			files = append(files, f.Number)
		}
	}
	_, err = r.w.Store().Compact(ctx, "t", actors.CompactOptions{Files: files})
	return r.thenScan(err)
}

func (r *readTrial) compact() ([]string, error) {
	_, err := r.w.Store().Compact(context.Background(), "t", actors.CompactOptions{})
	return r.thenScan(err)
}

func (r *readTrial) scratch() (found []string, err error) {
	done, err := r.w.Store().Compact(context.Background(), "t", actors.CompactOptions{Scratch: true})
	if err != nil {
		return nil, err
	}
	for _, c := range done {
		for range 5 {
			found = append(found, fmt.Sprintf("%v %x %d", c.Extent, c.Hash, c.Output.Entries))
		}
	}
	return found, nil
}
