package workload

import (
	"errors"
	"testing"

	"millrace/tablet"
)

const vectorInstance = "0b0a3c52-6d1f-4a0e-9b51-2f6c3d7e8a90"

// vectorGenerator stands at the cell of the published test vectors.
func vectorGenerator(t *testing.T, label string, count int64) (*Generator, cell) {
	t.Helper()
	g, err := NewGenerator(Options{FlushEntries: 2})
	if err != nil {
		t.Fatal(err)
	}
	copy(g.value[:], vectorInstance)
	g.counts.Writes = count
	g.key = append(g.key, label...)
	return g, cell{row: 0x1f3a5b7c9d0e2f41, family: 0x0a1b, qualifier: 0x7ffe}
}

func TestValueVectors(t *testing.T) {
	f := func(label string, count int64, previous uint64, refers bool, want string) {
		t.Helper()
		g, c := vectorGenerator(t, label, count)
		g.set(c, previous, refers)
		if got := string(g.write.Value); got != vectorInstance+want {
			t.Errorf("value %s, want %s%s", got, vectorInstance, want)
		}
		if got := string(g.write.Row) + string(g.write.Family) + string(g.write.Qualifier) + string(g.write.Visibility); got != "1f3a5b7c9d0e2f410a1b7ffe"+label {
			t.Errorf("key %s", got)
		}
		k := keyOf(&g.write)
		v, err := Check(&k, g.write.Value)
		if err != nil || v.Count != uint64(count) || v.HasPrevious != refers || v.Previous != previous || !v.HasChecksum {
			t.Errorf("Check(%s) = %+v, %v", want, v, err)
		}
	}
	f("", 0, 0, false, ":0000000000000000::3a32c08a")
	f("", 1_000_000, 0x00c0ffee00c0ffee, true, ":00000000000f4240:00c0ffee00c0ffee:6105671b")
	f("A&B", 1_000_000, 0x00c0ffee00c0ffee, true, ":00000000000f4240:00c0ffee00c0ffee:c13781d5")
}

func TestParseValue(t *testing.T) {
	f := func(tail string, want error) {
		t.Helper()
		if _, err := ParseValue([]byte(vectorInstance + tail)); !errors.Is(err, want) {
			t.Errorf("ParseValue(…%s) = %v, want %v", tail, err, want)
		}
	}
	const count = ":0000000000000000:"
	f(count+":", nil)
	f(count+":3a32c08a", nil)
	f(count+"00c0ffee00c0ffee:", nil)
	f(count+"00c0ffee00c0ffee:6105671b", nil)
	f(count+"00c0ffee00c0ffee:some padding:6105671b", nil)
	f("", ErrMalformed)
	f(count, ErrMalformed)
	f(":000000000000000g::", ErrMalformed)
	f(":0000000000000000x:", ErrMalformed)
	f(count+"00c0ffee00c0ffe", ErrMalformed)
	f(count+"00c0ffee00c0ffee", ErrMalformed)
	f(count+"00C0ffee00c0ffee:", ErrMalformed)
	f(count+":3a32c08", ErrMalformed)
	f(count+":3a32c08x", ErrMalformed)
	f(count+"00c0ffee00c0ffee:16105671b", ErrMalformed)
}

func TestCheckFindsEveryChangedByte(t *testing.T) {
	g, c := vectorGenerator(t, "L", 7)
	g.set(c, 0xc0ffee, true)
	for i := range g.write.Value {
		changed := append([]byte(nil), g.write.Value...)
		changed[i] ^= 1
		k := keyOf(&g.write)
		if _, err := Check(&k, changed); err == nil {
			t.Errorf("a flipped bit in byte %d of the value went unnoticed", i)
		}
	}
	w := g.write
	w.Family = []byte("0a1c")
	k := keyOf(&w)
	if _, err := Check(&k, w.Value); !errors.Is(err, ErrChecksum) {
		t.Errorf("another family: %v, want ErrChecksum", err)
	}
}

func keyOf(w *Write) tablet.Key {
	return tablet.NewKey(tablet.Fields{Row: w.Row, Family: w.Family, Qualifier: w.Qualifier, Visibility: w.Visibility, Timestamp: 1})
}

func FuzzParseValue(f *testing.F) {
	f.Add([]byte(vectorInstance + ":0000000000000000::3a32c08a"))
	f.Add([]byte(vectorInstance + ":0000000000000000:00c0ffee00c0ffee:6105671b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ParseValue(b)
		if err != nil {
			return
		}
		if string(b[countAt:previousAt-1]) != string(appendHex(nil, v.Count, rowBytes)) {
			t.Errorf("count %x of %q", v.Count, b)
		}
		if v.HasPrevious && string(b[previousAt:longestPrevious]) != string(appendHex(nil, v.Previous, rowBytes)) {
			t.Errorf("previous row %x of %q", v.Previous, b)
		}
	})
}
