package rfile

import "millrace/tablet"

// maxSampleBytes is how much of a group's sample is held back, fields and values together, before it is written between
// the group's own blocks.
const maxSampleBytes = 10_000_000

// sampleWriter holds back the accepted entries of a group until the group ends, so that the sample gets blocks of its
// own behind the group's.
//
// Source: Accumulo RFile.SampleLocalityGroupWriter.
type sampleWriter struct {
	out     *groupWriter
	accept  *acceptor
	entries []tablet.Entry // views of arena
	arena   []byte         // grows by replacement: entries keep what they point at
	bytes   int
	begun   bool
	last    bool // the answer for the entry before, once begun
}

// newSampleWriter makes the sample of a group: a group of the same name and families.
func newSampleWriter(of *groupWriter, families [][]byte) (*sampleWriter, error) {
	accept, err := of.w.o.Sampler.acceptor()
	if err != nil {
		return nil, err
	}
	g := *of.g
	g.sample = true
	out := newGroupWriter(of.w, &g, families)
	out.meta = new(tablet.FileMeta)
	return &sampleWriter{out: out, accept: accept}, nil
}

// add takes an entry if the sampler accepts it. The fields before same are those of the entry before.
func (w *sampleWriter) add(k *tablet.Key, value []byte, same int) {
	if !w.begun || same <= w.accept.deepest {
		w.begun, w.last = true, w.accept.accepts(k)
	}
	if !w.last {
		return
	}
	n := k.Size()
	held := w.take(n + len(value))
	copy(held, k.Data())
	copy(held[n:], value)
	w.entries = append(w.entries, tablet.Entry{
		Key: tablet.KeyView(held[:n:n], k.Ends(), k.Timestamp(), k.Deleted()), Value: held[n:],
	})
	w.bytes += n + len(value)
}

// sampleChunkBytes is what the arena grows by.
const sampleChunkBytes = 64 << 10

func (w *sampleWriter) take(n int) []byte {
	if cap(w.arena)-len(w.arena) < n {
		w.arena = make([]byte, 0, max(n, sampleChunkBytes))
	}
	at := len(w.arena)
	w.arena = w.arena[:at+n]
	return w.arena[at : at+n : at+n]
}

// relieve is called after each block of the group. Past the bound it writes what is held and closes a block of the
// sample with it; one entry stays back, so that the sample's last block is never closed before its end.
func (w *sampleWriter) relieve() error {
	n := len(w.entries) - 1
	if w.bytes <= maxSampleBytes || n < 1 {
		return nil
	}
	if err := w.write(w.entries[:n]); err != nil {
		return err
	}
	last := w.out.prev.key()
	if err := w.out.cut(&last, false); err != nil {
		return err
	}
	kept := w.entries[n].Clone()
	w.entries = append(w.entries[:0], kept)
	clear(w.entries[1:cap(w.entries)])
	w.arena, w.bytes = nil, 0
	return nil
}

func (w *sampleWriter) write(entries []tablet.Entry) error {
	for i := range entries {
		if err := w.out.append(&entries[i].Key, entries[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// finish writes what is held, closes the sample group and appends its description.
func (w *sampleWriter) finish(description []byte) ([]byte, error) {
	if err := w.write(w.entries); err != nil {
		return nil, err
	}
	w.entries, w.arena = nil, nil
	return w.out.finish(description)
}
