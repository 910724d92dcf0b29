package vfs

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSamePath(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(at(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", at("symbolic")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(at("a"), at("hard")); err != nil {
		t.Fatal(err)
	}
	f := func(a, b string, want bool) {
		t.Helper()
		if got := SamePath(a, b); got != want {
			t.Errorf("SamePath(%q, %q) = %v", a, b, got)
		}
	}
	f(at("a"), at("a"), true)
	f(at("a"), dir+"/./a", true)
	f(at("a"), at("symbolic"), true)
	f(at("hard"), at("a"), true)
	f(at("a"), at("b"), false)
	f(at("missing"), at("missing"), false)
	f(at("a"), at("missing"), false)
}
