package nearest

import "testing"

func TestName(t *testing.T) {
	names := []string{"info", "cat", "verify", "diff"}
	f := func(name, want string) {
		t.Helper()
		if got := Name(name, names); got != want {
			t.Errorf("Name(%q) = %q, want %q", name, got, want)
		}
	}
	f("inof", "info")
	f("cta", "cat")
	f("very", "verify")
	f("dif", "diff")
	f("", "cat")
	f("cat", "cat")
	if Name("x", nil) != "" {
		t.Error("a name out of none")
	}
}
