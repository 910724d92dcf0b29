package plan

import (
	"testing"

	"pgregory.net/rapid"

	"millrace/tablet"
)

// TestPolicyAsksTheSame: a policy's answers are those of Next and MergeMinor.
func TestPolicyAsksTheSame(t *testing.T) {
	metas := func(files []File) (list []tablet.FileMeta) {
		for _, f := range files {
			list = append(list, tablet.FileMeta{Number: f.Number, Name: f.Name, Bytes: f.Bytes})
		}
		return list
	}
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{rapid.SampledFrom(Profiles()).Draw(t, "profile"), drawOptions.Draw(t, "options")}
		tab := drawTablet.Draw(t, "tablet")
		tab.Held = rapid.IntRange(0, 3).Draw(t, "held")
		s := Situation{User: tab.Kind == User, Files: metas(tab.Files), Held: tab.Held}
		for _, r := range tab.Running {
			s.Running = append(s.Running, struct {
				User   bool
				Inputs []tablet.FileMeta
			}{r.Kind == User, metas(r.Inputs)})
		}
		want, ok := Next(p.Profile, tab, p.Options)
		numbers, reason := p.Next(s)
		if len(numbers) != len(want.Inputs) || ok && reason != want.Explain() {
			t.Fatalf("chose %v (%s), want %v", numbers, reason, want)
		}
		for i, f := range want.Inputs {
			if numbers[i] != f.Number {
				t.Fatalf("chose %v, want %v", numbers, want)
			}
		}
		along, takes := MergeMinor(p.Profile, tab, p.Options)
		if number, ok := p.TakeAlong(s); ok != takes || number != along.Number {
			t.Fatalf("takes %d along, want %v", number, along)
		}
		if p.Validate() != nil || (Policy{Options: Options{Ratio: 0.1}}).Validate() == nil {
			t.Fatal("Validate")
		}
	})
}
