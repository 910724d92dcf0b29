package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/sim/experiment"
	"millrace/tablet"
	"millrace/writer"
)

// TestPeers writes to all stores, which must end with the same entries.
func TestPeers(t *testing.T) {
	var out, errs bytes.Buffer
	args := strings.Fields("-mutations 3000 -threads 1,3 -memory 1 -runs 2 -warm-ups 0")
	if err := run(context.Background(), append(args, "-json"), &out, &errs); err != nil {
		t.Fatal(err)
	}
	var doc experiment.PeersDocument
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Rows) != 6 || len(doc.Ratios) != 4 || len(doc.Checks) != 2 || doc.Checks[1].Value != "6" {
		t.Errorf("%d rows, %d ratios, %+v", len(doc.Rows), len(doc.Ratios), doc.Checks)
	}
	out.Reset()
	if err := run(context.Background(), append(args, "-stores", "pebble,millrace"), &out, &errs); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"pebble", "over others", "ok      stores whose entries are those that were written: 4 of 4"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestSameEntries writes several updates of several kinds to each store, and reads them back.
func TestSameEntries(t *testing.T) {
	ctx := context.Background()
	var mutations []*tablet.Mutation
	for i := range 500 {
		m := tablet.NewMutation([]byte{byte(i), byte(i >> 8), 0, byte(i % 3)})
		m.Put([]byte("f"), []byte{0, byte(i)}, nil, fmt.Appendf(nil, "value %d", i))
		m.Put([]byte("f\x00"), nil, nil, nil)
		m.Add(tablet.Update{Family: []byte("g"), Timestamp: int64(i) - 250, HasTimestamp: true, Value: []byte("at a time")})
		mutations = append(mutations, m)
	}
	read := func(p experiment.Peer) (all []string) {
		t.Helper()
		s, err := p.Open(ctx, t.TempDir(), [][]byte{{100}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close(ctx)
		w, err := s.NewWriter(writer.Options{MemoryBytes: 20_000})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutations {
			if err := w.Add(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
		err = s.Each(ctx, func(k *tablet.Key, value []byte) error {
			at := k.Timestamp()
			if at > 1000 {
				at = 0 // given by the store
			}
			all = append(all, fmt.Sprintf("%q %q %q %q %d = %q", k.Row(), k.Family(), k.Qualifier(), k.Visibility(), at, value))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := read(experiment.Ours())
	if len(want) != 1500 {
		t.Errorf("%d entries", len(want))
	}
	for _, p := range peers()[1:] {
		if got := read(p); !slices.Equal(got, want) {
			t.Errorf("%s has other entries than ours: %d, %d", p.Name, len(got), len(want))
		}
	}
}

// TestPebbleFlushesNothing holds that its memtables have grown before the clock starts.
func TestPebbleFlushesNothing(t *testing.T) {
	ctx := context.Background()
	p, err := openPebble(ctx, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(ctx)
	s := p.(*pebbleStore)
	before := s.db.Metrics().Flush.Count
	b := s.begin()
	for i := range 100_000 {
		if err := b.put(fmt.Appendf(nil, "%040d", i), make([]byte, 200)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.commit(); err != nil {
		t.Fatal(err)
	}
	if m := s.db.Metrics(); m.Flush.Count != before || m.MemTable.Count != 1 {
		t.Errorf("%d flushes, %d memtables, %+v", m.Flush.Count-before, m.MemTable.Count, m.MemTable)
	}
}

// TestKeys holds the order of encoded keys against that of the keys.
func TestKeys(t *testing.T) {
	parts := [][]byte{nil, {0}, {0, 0}, {0, 1}, {0, 255}, {1}, {1, 0}, []byte("a"), []byte("ab"), {255}}
	var keys []tablet.Key
	var encoded [][]byte
	for _, row := range parts[1:] {
		for _, family := range parts {
			for i, ts := range []int64{-1 << 63, -1, 0, 1, 1<<63 - 1} {
				u := tablet.Update{Family: family, Qualifier: parts[i], Timestamp: ts, HasTimestamp: true, Deleted: i%2 == 1}
				encoded = append(encoded, appendKey(nil, row, &u))
				k, err := splitKey(encoded[len(encoded)-1])
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(k.Row(), row) || !bytes.Equal(k.Family(), family) || !bytes.Equal(k.Qualifier(), parts[i]) || k.Timestamp() != ts || k.Deleted() != u.Deleted {
					t.Fatalf("%v is not %q %+v", k, row, u)
				}
				keys = append(keys, *k)
			}
		}
	}
	for i := range keys {
		for j := range keys {
			if got, want := bytes.Compare(encoded[i], encoded[j]), tablet.Compare(&keys[i], &keys[j]); got != want {
				t.Fatalf("%x and %x: %d, want %d", encoded[i], encoded[j], got, want)
			}
		}
	}
	for _, bad := range [][]byte{nil, {1, 2}, {0}, {0, 1, 0, 1, 0, 1, 0, 1}, {0, 3}, append(encoded[0], 1)} {
		if k, err := splitKey(bad); err == nil {
			t.Errorf("%x is taken as %v", bad, k)
		}
	}
}

func TestFlags(t *testing.T) {
	f := func(args, want string) {
		t.Helper()
		var out, errs bytes.Buffer
		if err := run(context.Background(), strings.Fields(args), &out, &errs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	f("-threads 1,x", `"x"`)
	f("-memory 0", `"0"`)
	f("-stores pebbel", `"pebbel"`)
	f("-runs -1", "runs is -1")
	f("more", "no arguments")
}
