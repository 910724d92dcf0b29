package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkNext(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	tab := Tablet{}
	for i := range 15 {
		tab.Files = append(tab.Files, File{Number: uint64(i), Name: fmt.Sprintf("F%07d.rf", i), Bytes: int64(1) << rng.IntN(30)})
	}
	for _, p := range Profiles() {
		b.Run(p.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Next(p, tab, Options{})
			}
		})
	}
}
