package rfile

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"millrace/tablet"
)

// vectors are the byte-level vectors that concern this package.
type vectors struct {
	Key []struct {
		Key goldenKey
		Hex hexBytes
	}
	RelativeKey []struct {
		Name    string
		Entries []struct {
			Key   goldenKey
			Hex   hexBytes
			Value hexBytes
		}
		Block hexBytes `json:"data_block_hex"`
	} `json:"relative_key"`
	Legacy []struct {
		Keys   []goldenKey
		Values []hexBytes
		Block  hexBytes `json:"data_block_hex"`
	} `json:"relative_key_legacy"`
	Bad []struct {
		Name    string
		Block   hexBytes `json:"data_block_hex"`
		Entries int      `json:"num_entries"`
	} `json:"relative_key_bad"`
	Shorten []struct {
		Prev, Next goldenKey
		Index      goldenKey `json:"index_key"`
	} `json:"key_shorten"`
	Bloom struct {
		Vectors []struct {
			Key       hexBytes
			Hashes    int   `json:"nb_hash"`
			Vector    int   `json:"vector_size"`
			Murmur    int32 `json:"murmur_seed0"`
			Positions []int
		}
	}
	Nodes []struct {
		Level, Offset int
		HasNext       bool `json:"has_next"`
		Entries       []struct {
			Key        goldenKey
			NumEntries int `json:"num_entries"`
			Offset     int64
			CSize      int64
			RawSize    int64
		}
		Hex hexBytes
	} `json:"index_node"`
}

func loadVectors(t *testing.T) vectors {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestKeyVectors(t *testing.T) {
	for _, v := range loadVectors(t).Key {
		want := v.Key.key()
		if got := appendKey(nil, &want); !bytes.Equal(got, v.Hex) {
			t.Errorf("%v is written as %x, want %x", want, got, v.Hex)
		}
		got, n, err := parseKey(v.Hex)
		if err != nil || n != len(v.Hex) || tablet.Compare(&got, &want) != 0 {
			t.Errorf("%x reads as %v, %d bytes, %v", v.Hex, got, n, err)
		}
		for cut := range v.Hex {
			if _, _, err := parseKey(v.Hex[:cut]); err == nil {
				t.Errorf("%x reads as a key", v.Hex[:cut])
			}
		}
	}
}

// decodeBlock decodes a whole block, checking that nothing is left over.
func decodeBlock(block []byte, entries int) ([]tablet.Entry, error) {
	b := &tablet.Batch{}
	d := decoder{batch: b}
	d.startBlock(block, entries)
	d.startBatch()
	for range entries {
		var ref tablet.EntryRef
		code, err := d.next(&ref)
		if err != nil {
			return nil, err
		}
		b.Refs, b.Codes = append(b.Refs, ref), append(b.Codes, code)
	}
	if d.at != len(block) {
		return nil, d.bad("left over")
	}
	var all []tablet.Entry
	for i := range b.Refs {
		all = append(all, b.Entry(i).Clone())
	}
	return all, nil
}

func TestRelativeKeyVectors(t *testing.T) {
	for _, v := range loadVectors(t).RelativeKey {
		got, err := decodeBlock(v.Block, len(v.Entries))
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		var block []byte
		for i, e := range v.Entries {
			want := e.Key.key()
			if tablet.Compare(&got[i].Key, &want) != 0 || !bytes.Equal(got[i].Value, e.Value) {
				t.Errorf("%s: entry %d reads as %v, want %v", v.Name, i, got[i].Key, want)
			}
			if i == 0 {
				block = appendFirst(block, want, e.Value)
				continue
			}
			prev := v.Entries[i-1].Key.key()
			at := len(block)
			block = appendRelative(block, &prev, &want, 0, 0, e.Value)
			if !bytes.HasPrefix(block[at:], e.Hex) {
				t.Errorf("%s: entry %d is written as %x, want %x", v.Name, i, block[at:], e.Hex)
			}
			// The same again with all that the code promises.
			same, shared := sharing(tablet.CodeOf(&prev, &want))
			if hinted := appendRelative(nil, &prev, &want, same, shared, e.Value); !bytes.Equal(hinted, block[at:]) {
				t.Errorf("%s: entry %d is written as %x with its code, %x without", v.Name, i, hinted, block[at:])
			}
		}
		if !bytes.Equal(block, v.Block) {
			t.Errorf("%s: block is written as %x, want %x", v.Name, block, v.Block)
		}
	}
}

func TestLegacyVectors(t *testing.T) {
	for _, v := range loadVectors(t).Legacy {
		got, err := decodeBlock(v.Block, len(v.Keys))
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if want := v.Keys[i].key(); tablet.Compare(&got[i].Key, &want) != 0 || !bytes.Equal(got[i].Value, v.Values[i]) {
				t.Errorf("entry %d reads as %v, want %v", i, got[i].Key, want)
			}
		}
	}
}

func TestBadBlocks(t *testing.T) {
	f := func(name string, block []byte, entries int) {
		t.Helper()
		if got, err := decodeBlock(block, entries); err == nil {
			t.Errorf("%s: reads as %v", name, got)
		}
	}
	for _, v := range loadVectors(t).Bad {
		f(v.Name, v.Block, v.Entries)
	}
	f("unknown flag", []byte{0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 1)
	f("bytes left over", []byte{0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 1)
	f("empty", nil, 1)
}

func TestShortenVectors(t *testing.T) {
	for _, v := range loadVectors(t).Shorten {
		prev, next, want := v.Prev.key(), v.Next.key(), v.Index.key()
		if got := shorten(&prev, &next); tablet.Compare(&got, &want) != 0 {
			t.Errorf("between %v and %v: %v, want %v", prev, next, got, want)
		}
	}
}

func TestNodeVectors(t *testing.T) {
	for _, v := range loadVectors(t).Nodes {
		nd, n, err := parseNode(v.Hex)
		if err != nil || n != len(v.Hex) || nd.level != v.Level || nd.offset != v.Offset || nd.hasNext != v.HasNext || nd.n != len(v.Entries) {
			t.Fatalf("%x: %+v, %d bytes, %v", v.Hex, nd, n, err)
		}
		for i, want := range v.Entries {
			e, err := nd.entry(i)
			key := want.Key.key()
			if err != nil || tablet.Compare(&e.key, &key) != 0 || e.entries != want.NumEntries ||
				e.region.Offset != want.Offset || e.region.Stored != want.CSize || e.region.Raw != want.RawSize {
				t.Errorf("entry %d: %+v, %v; want %+v", i, e, err, want)
			}
			if at, err := nd.search(&key); err != nil || at != i {
				t.Errorf("search of entry %d finds %d, %v", i, at, err)
			}
		}
	}
}
