package tablet

import (
	"errors"
	"strings"
	"testing"
)

func TestDurability(t *testing.T) {
	f := func(text string, want Durability) {
		t.Helper()
		got, err := ParseDurability(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	f("none", DurabilityNone)
	f("log", DurabilityLog)
	f("flush", DurabilityFlush)
	f("sync", DurabilitySync)
	if !(DurabilityDefault < DurabilityNone && DurabilityNone < DurabilityLog && DurabilityLog < DurabilityFlush && DurabilityFlush < DurabilitySync) {
		t.Error("the levels do not compare")
	}
	refused := func(text, nearest string) {
		t.Helper()
		_, err := ParseDurability(text)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), `"`+nearest+`"`) {
			t.Errorf("%q: %v", text, err)
		}
	}
	refused("snyc", "sync")
	refused("Flush", "flush")
	refused("lag", "log")
	refused("default", "flush")
	if got := Durability(9).String(); got != "durability 9" {
		t.Errorf("%q", got)
	}
	if DurabilityDefault.String() != "default" {
		t.Error("the zero level has no name")
	}
}
