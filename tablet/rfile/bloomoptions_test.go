package rfile

import "testing"

// TestBloomOptions makes filters anew by the options that a filter tells: rows have as many bits and take as many keys.
func TestBloomOptions(t *testing.T) {
	f := func(o BloomOptions) {
		t.Helper()
		w := newBloomWriter(o)
		block, err := w.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := parseBloom(block)
		if err != nil {
			t.Fatal(err)
		}
		again := newBloomWriter(b.Options())
		if again.keys != w.keys || again.header != w.header || again.functor != w.functor {
			t.Errorf("%+v: %d keys, %+v, not %d keys, %+v", o, again.keys, again.header, w.keys, w.header)
		}
		if err := (WriterOptions{Bloom: &o}).Validate(); err != nil {
			t.Error(err)
		}
	}
	f(BloomOptions{})
	f(BloomOptions{Keys: 1})
	f(BloomOptions{Keys: 500, ErrorRate: 0.01, Functor: "ColumnFamilyFunctor"})
	for keys := 1; keys < 100_000; keys = keys*3 + 1 {
		for rate := 0.9; rate > 1e-9; rate /= 7 {
			f(BloomOptions{Keys: keys, ErrorRate: rate, Functor: "ColumnQualifierFunctor"})
		}
	}
	for _, b := range []Bloom{{functor: 1, header: bloomHeader{vector: 1}}, {functor: 1, header: bloomHeader{vector: 1}, keys: -5}, {functor: 1, header: bloomHeader{vector: 1}, keys: 1 << 30}} {
		o := b.Options()
		if (WriterOptions{Bloom: &o}).Validate() == nil {
			t.Errorf("%+v: options %+v are taken", b, o)
		}
	}
}
