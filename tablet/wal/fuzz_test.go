package wal

import (
	"bytes"
	"testing"

	"millrace/internal/record"
	"millrace/internal/vfs"
)

// FuzzRecord: any bytes are a record in its one encoding, or are refused.
func FuzzRecord(f *testing.F) {
	for id := range uint64(3) {
		e := entry(id, 7, 3)
		e.LSN = id + 1
		f.Add(appendEntry(nil, e))
	}
	f.Add(appendBegin(nil, &begin{}))
	f.Add(appendBegin(nil, &begin{
		earlier: []earlier{{number: 1, synced: 300, needed: []TabletSession{{0, 1}, {300, 1 << 40}}}, {number: 9, synced: 20, end: 500}},
		voids:   []Void{{1, 1}, {1 << 20, 1<<63 - 1}},
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		if first, err := readBegin(b, 1000); err == nil {
			if again := appendBegin(nil, first); !bytes.Equal(again, b) {
				t.Fatalf("read %x, wrote %x", b, again)
			}
		}
		if b[0] != recordEntry {
			return
		}
		e, rest, err := parseEntryHead(b)
		if err != nil {
			return
		}
		if e.Mutations, err = parseMutations(rest); err != nil {
			return
		}
		if again := appendEntry(nil, &e); !bytes.Equal(again, b) {
			t.Fatalf("read %x, wrote %x", b, again)
		}
	})
}

// FuzzReplay: two segments of any records and any bytes behind them are read as a plain reading does, or refused.
func FuzzReplay(f *testing.F) {
	seed := func(records ...[]byte) (b []byte) {
		for _, r := range records {
			b = append(b, byte(len(r)))
			b = append(b, r...)
		}
		return b
	}
	e := func(lsn uint64) []byte {
		e := entry(lsn, 1, 1)
		e.LSN = lsn
		return appendEntry(nil, e)
	}
	none := appendBegin(nil, &begin{})
	second := appendBegin(nil, &begin{earlier: []earlier{{number: 1, synced: 24, needed: []TabletSession{{1, 1}}}}, voids: []Void{{2, 2}}})
	f.Add(seed(none, e(1), e(2), e(3)), seed(second, e(3), e(4)), []byte{})
	f.Add(seed(none), seed(second), []byte{0, 0, 0})
	f.Add(seed(e(1)), seed(none, second), []byte("tail"))
	f.Fuzz(func(t *testing.T, one, two, tail []byte) {
		d := disk{1: segmentOf(t, 1, one), 2: append(segmentOf(t, 2, two), tail...)}
		y := &tally{t: t}
		y.judge("fuzzed", d, map[uint64]uint64{1: 0, 2: 5})
	})
}

// segmentOf writes records, each behind its length in one byte; a sync before those of odd length.
func segmentOf(t *testing.T, number uint64, b []byte) []byte {
	mem := vfs.Mem()
	must(t, mem.MkdirAll(Dir))
	f, err := mem.Create(Name(number))
	must(t, err)
	w := record.NewWriter(f, record.Header{Kind: record.Log, Version: version, Number: number})
	for len(b) > 1 {
		n := min(int(b[0])+1, len(b))
		if n%2 == 1 {
			must(t, w.Sync())
		}
		if n > 1 {
			_, err := w.Append(b[1:n])
			must(t, err)
		}
		b = b[n:]
	}
	must(t, w.Sync())
	must(t, f.Close())
	return readDisk(t, mem)[number]
}
