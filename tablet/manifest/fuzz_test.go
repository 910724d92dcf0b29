package manifest

import (
	"testing"

	"millrace/tablet"
)

// FuzzManifest reads manifests whose frames verify and whose payloads are what the fuzzer makes of good ones: a payload is
// its length in two bytes and its bytes. A file that is taken holds the rules and is written to the same state.
func FuzzManifest(f *testing.F) {
	pack := func(payloads [][]byte) (out []byte) {
		for _, p := range payloads {
			out = append(append(out, byte(len(p)>>8), byte(len(p))), p...)
		}
		return out
	}
	f.Add([]byte{})
	for seed := range uint64(12) {
		g := newGen(seed)
		s := randomState(f, g, int(seed)*3)
		var edits [][]Edit
		after := s
		for range seed {
			e := g.edit(after)
			after = mustApply(f, after, e)
			edits = append(edits, []Edit{e})
		}
		f.Add(pack(payloads(s, edits...)))
	}
	s := smallState(f)
	shared := mustApply(f, s, Split{Tablet: 11, Row: []byte("c"), Low: Half{50, []uint64{20, 21}}, High: Half{11, []uint64{20, 21}}})
	f.Add(pack(payloads(shared, []Edit{Import{Tablet: 12, Add: []FileRef{*aFile(60, 7).with(func(f *FileRef) {
		f.Fence, f.Ages = Fence{After: []byte("n")}, tablet.AgeRange{Oldest: 4, Newest: 7}
	})}}})))
	f.Fuzz(func(t *testing.T, data []byte) {
		var in [][]byte
		for len(data) >= 2 {
			n := min(int(data[0])<<8|int(data[1]), len(data)-2)
			if n > 0 {
				in = append(in, data[2:2+n])
			}
			data = data[2+n:]
		}
		if !readMalformed(t, "fuzzed", in) {
			return
		}
		got, err := load(in)
		if err != nil {
			return // no whole snapshot
		}
		again, err := load(payloads(got))
		if err != nil || again.String() != got.String() {
			t.Fatalf("written again it is\n%v\nnot\n%v\n%v", again, got, err)
		}
	})
}
