package sim

import (
	"slices"
	"strings"
	"testing"
)

// picks has a schedule choose among tasks that are always ready, and returns their names in turn.
func picks(s Schedule, seed uint64, n int) (names []string) {
	var ready []*task
	order := uint64(0)
	for _, name := range []string{"a", "b", "c", "d"} {
		order++
		ready = append(ready, &task{name: name, hash: hashOf(name), since: order})
	}
	c := newChooser(s, seed)
	for range n {
		t := ready[c.choose(ready)]
		order++
		t.since = order
		names = append(names, t.name)
	}
	return names
}

// turns is how often the one who runs is another than before.
func turns(names []string) (n int) {
	for i := range names[1:] {
		if names[i] != names[i+1] {
			n++
		}
	}
	return n
}

func TestSchedules(t *testing.T) {
	const n = 4000
	distinct := func(names []string) int { return len(slices.Compact(slices.Sorted(slices.Values(names)))) }
	f := func(s Schedule, check func(names []string) bool) {
		t.Helper()
		for seed := range uint64(20) {
			if names := picks(s, seed, n); !check(names) {
				t.Errorf("%v, seed %d: %d of 4 run, in %d turns: %s…", s, seed, distinct(names), turns(names), strings.Join(names[:40], ""))
			}
		}
	}
	f(Schedule{}, func(names []string) bool { return distinct(names) == 4 && turns(names) > n/2 })
	f(Schedule{Kind: FIFO}, func(names []string) bool { return strings.Join(names[:8], "") == "abcdabcd" && turns(names) == n-1 })
	f(Schedule{Kind: LIFO}, func(names []string) bool { return distinct(names) == 1 })
	f(Schedule{Kind: PCT}, func(names []string) bool { return turns(names) == 3 && distinct(names) == 4 })
	f(Schedule{Kind: PCT, Changes: 1}, func(names []string) bool { return turns(names) == 1 })
	f(Schedule{Kind: Starve}, func(names []string) bool { return distinct(names) == 3 && turns(names) > n/3 })
	f(Schedule{Kind: Burst}, func(names []string) bool { return distinct(names) == 4 && turns(names) > 20 && turns(names) < n/8 })
	if slices.Equal(picks(Schedule{Kind: PCT}, 1, n), picks(Schedule{Kind: PCT}, 2, n)) {
		t.Error("two seeds give one PCT schedule")
	}
}

func TestParseSchedule(t *testing.T) {
	f := func(text string, want Schedule, ok bool) {
		t.Helper()
		got, err := ParseSchedule(text)
		if (err == nil) != ok || ok && got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
		if ok && got.String() != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
	f("uniform", Schedule{}, true)
	f("pct", Schedule{Kind: PCT}, true)
	f("pct:5", Schedule{Kind: PCT, Changes: 5}, true)
	f("burst", Schedule{Kind: Burst}, true)
	f("pct:0", Schedule{}, false)
	f("fifo:3", Schedule{}, false)
	f("random", Schedule{}, false)
}
