package actors

import (
	"testing"

	"pgregory.net/rapid"
)

func TestRingIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r ring
		var model []any
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					v := len(model) + rapid.Int().Draw(t, "v")
					r.push(v)
					model = append(model, v)
				}
			},
			"pop": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					if len(model) == 0 {
						return
					}
					if got := r.pop(); got != model[0] {
						t.Fatalf("popped %v, want %v", got, model[0])
					}
					model = model[1:]
				}
			},
			"": func(t *rapid.T) {
				if r.n != len(model) {
					t.Fatalf("holds %d, want %d", r.n, len(model))
				}
			},
		})
	})
}

// A flood must not keep its memory once it has passed, and a popped message must not stay reachable.
func TestRingLetsGo(t *testing.T) {
	var r ring
	for i := range 100_000 {
		r.push(i)
	}
	for range 100_000 {
		r.pop()
	}
	if len(r.buf) > ringKeep {
		t.Errorf("an empty ring keeps %d places", len(r.buf))
	}
	r.push(new(int))
	r.pop()
	for _, v := range r.buf {
		if v != nil {
			t.Error("a popped message is still referenced")
		}
	}
}
