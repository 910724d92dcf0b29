package writer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"millrace/tablet"
)

func TestOptions(t *testing.T) {
	f := func(o Options, want string) {
		t.Helper()
		err := o.Validate()
		if want == "" && err != nil || want != "" && (!errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	f(Options{}, "")
	f(Options{MemoryBytes: -1}, "MemoryBytes is -1")
	f(Options{Latency: -time.Second}, "Latency is -1s")
	f(Options{Timeout: -1}, "Timeout is -1ns")
	f(Options{Threads: -3}, "Threads is -3")
	f(Options{Durability: 9}, "Durability is durability 9")
	f(Options{Variant: 4}, "Variant is variant 4")
	f(Options{Binners: 1000}, "Binners is 1000")
	f(Options{MutationBytes: 1 << 40}, "MutationBytes is")
	for _, v := range Variants {
		if got, err := ParseVariant(v.String()); got != v || err != nil {
			t.Errorf("%v: %v %v", v, got, err)
		}
	}
	if _, err := ParseVariant("actor"); !errors.Is(err, tablet.ErrUsage) || !strings.Contains(err.Error(), `"actors"`) {
		t.Error(err)
	}
}
