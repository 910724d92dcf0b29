package main

import (
	"reflect"
	"testing"
)

// FuzzFlags gives any text to the flags that parse theirs themselves: no panic, and what is accepted prints as text that
// means the same.
func FuzzFlags(f *testing.F) {
	for _, seed := range []string{"", "a", `a\x00b\\`, "100K", "1G", "-1", "a=b,c;d=e", `n\x3d=f\x2c,g`, "a=b;a=c", "a=", ",", ";", "text", "jsno"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var b escaped
		if b.Set(text) == nil {
			var again escaped
			if err := again.Set(b.String()); err != nil || string(again) != string(b) {
				t.Errorf("%q prints as %q, which is %q, %v", text, b.String(), again, err)
			}
		}
		var s size
		if s.Set(text) == nil {
			var again size
			if err := again.Set(s.String()); err != nil || again != s {
				t.Errorf("%q prints as %q, %v", text, s.String(), err)
			}
		}
		var g groupingFlag
		if g.Set(text) == nil {
			var again groupingFlag
			if err := again.Set(g.String()); err != nil || !reflect.DeepEqual(again.named, g.named) {
				t.Errorf("%q prints as %q, which is %q, %v", text, g.String(), again.named, err)
			}
		}
		c := choice{from: []string{"text", "json"}}
		if c.Set(text) == nil && c.value != text {
			t.Errorf("%q became %q", text, c.value)
		}
	})
}
