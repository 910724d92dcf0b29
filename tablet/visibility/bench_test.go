package visibility

import (
	"fmt"
	"testing"
)

func BenchmarkVisible(b *testing.B) {
	var labels [][]byte
	for i := range 64 {
		labels = append(labels, fmt.Appendf(nil, "(group%d&staff)|admin", i))
	}
	e := NewEvaluator(auths(b, "admin"))
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.Visible(labels[0])
		}
	})
	b.Run("cached", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			e.Visible(labels[i%len(labels)])
			i++
		}
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			e.judge(labels[0])
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	label := []byte("(group1&staff)|admin")
	b.ReportAllocs()
	for b.Loop() {
		if err := Validate(label); err != nil {
			b.Fatal(err)
		}
	}
}
