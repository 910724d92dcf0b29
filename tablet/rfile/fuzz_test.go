package rfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"testing"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// FuzzNode reads arbitrary bytes as an index node and searches it.
func FuzzNode(f *testing.F) {
	all := someIngest()[:5]
	var nb nodeBuilder
	for i := range all {
		nb.add(appendIndexEntry(nil, &all[i].Key, 7, bcfile.Region{Offset: 16, Stored: 9, Raw: 9}))
	}
	f.Add(nb.append(nil, true), []byte("0"))
	f.Add((&nodeBuilder{}).append(nil, false), []byte(""))
	f.Fuzz(func(t *testing.T, block, row []byte) {
		nd, n, err := parseNode(block)
		if err != nil {
			return
		}
		if n > len(block) {
			t.Fatalf("%d bytes of %d used", n, len(block))
		}
		k := tablet.RowKey(row)
		at, err := nd.search(&k)
		if err == nil && (at < 0 || at > nd.n) {
			t.Fatalf("found entry %d of %d", at, nd.n)
		}
		for i := range min(nd.n, 100) {
			if e, err := nd.entry(i); err == nil && (e.entries < 0 || e.region.End() < 0) {
				t.Fatalf("entry %+v", e)
			}
		}
		nd.copyEntries()
		if again, err2 := nd.search(&k); again != at || (err == nil) != (err2 == nil) {
			t.Fatalf("copied: %d, %v; in place: %d, %v", again, err2, at, err)
		}
	})
}

// FuzzIndexBlock reads arbitrary bytes as the block RFile.index: groups, samples and the sampler.
func FuzzIndexBlock(f *testing.F) {
	own := ownFiles(f)
	var host *Reader
	for _, name := range names(own) {
		host = readBytes(f, own[name])
		meta, _ := host.Container().Meta(indexName)
		block, err := host.Container().ReadMeta(meta)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(block)
		old := bytes.Clone(block[:12])
		binary.BigEndian.PutUint32(old[4:], 4)
		f.Add(append(old, block[12:]...))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		r := &Reader{file: host.file, bc: host.bc}
		if err := r.parseIndex(block); err != nil {
			return
		}
		for _, g := range append(slices.Clone(r.groups), r.samples...) {
			r.Walk(context.Background(), g, Visitor{})
			c := r.Cursor(g, CursorOptions{})
			if err := c.Seek(context.Background(), tablet.ExactRow([]byte("b")), tablet.Families{}); err == nil {
				c.Next(context.Background())
			}
			c.Close()
		}
	})
}

// FuzzSampler reads arbitrary bytes as a sampler's configuration; what is read can be written and read again.
func FuzzSampler(f *testing.F) {
	s := &Sampler{rowSampler, map[string]string{"hasher": "md5", "modulus": "7"}}
	b, err := s.append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &fields{b: b}
		s := parseSampler(r)
		if r.err != nil {
			return
		}
		again, err := s.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		r = &fields{b: again}
		if back := parseSampler(r); r.err != nil || !back.Equal(s) || r.at != len(again) {
			t.Fatalf("%+v reads again as %+v, %v", s, back, r.err)
		}
		if a, err := s.acceptor(); err == nil {
			k := tablet.RowKey(b)
			a.accepts(&k)
		}
	})
}

// FuzzSkim holds the walk that makes no keys against the one that does: on any bytes both end alike, or both fail.
func FuzzSkim(f *testing.F) {
	f.Add(blockOf(someIngest()[:20]), 20, []byte("3"), false)
	f.Add([]byte("\x00\x02ab\x01f\x01q\x00\x05\x00\x00\x00\x00\x9e\x01\x02\x01z\x00\x00\x00\x00"), 2, []byte("abz"), true)
	f.Add([]byte("\x00\x02ab\x01f\x01q\x00\x05\x00\x00\x00\x00\x9e\x01\x03\x01z\x00\x00\x00\x00"), 2, []byte("abz"), true)
	f.Fuzz(func(t *testing.T, block []byte, entries int, row []byte, past bool) {
		if entries < 1 || entries > 1000 {
			return
		}
		all, plainErr := decodeUntil(block, entries)
		bound := tablet.Bound{Key: tablet.RowKey(row), Inclusive: !past}
		goal := targetOf(&bound)
		r := tablet.Range{}.WithStart(bound.Key)
		if past {
			r = tablet.Range{}.After(bound.Key)
		}
		want := slices.IndexFunc(all, func(e tablet.Entry) bool { return !r.BeforeStart(&e.Key) })
		d := decoder{batch: &tablet.Batch{}}
		d.startBlock(block, entries)
		d.startBatch()
		ref, found, err := d.skipTo(&goal)
		if want < 0 {
			if found || (err == nil) != (plainErr == nil) {
				t.Fatalf("found %v, %v; decoded %d entries, %v", found, err, len(all), plainErr)
			}
			return
		}
		if err != nil || !found {
			t.Fatalf("%v, %v; entry %d is %v", found, err, want, all[want].Key)
		}
		d.batch.Refs, d.batch.Codes = append(d.batch.Refs, ref), append(d.batch.Codes, 0)
		if got := d.batch.Entry(0); tablet.Compare(&got.Key, &all[want].Key) != 0 || !bytes.Equal(got.Value, all[want].Value) ||
			d.left != entries-want-1 {
			t.Fatalf("%v with %d to come, want %v", got.Key, d.left, all[want].Key)
		}
	})
}

// decodeUntil decodes entries up to the first error.
func decodeUntil(block []byte, entries int) (all []tablet.Entry, err error) {
	d := decoder{batch: &tablet.Batch{}}
	d.startBlock(block, entries)
	d.startBatch()
	for d.left > 0 {
		var ref tablet.EntryRef
		code, err := d.next(&ref)
		if err != nil {
			return all, err
		}
		b := d.batch
		b.Refs, b.Codes = append(b.Refs, ref), append(b.Codes, code)
		all = append(all, b.Entry(len(b.Refs)-1).Clone())
	}
	return all, nil
}
