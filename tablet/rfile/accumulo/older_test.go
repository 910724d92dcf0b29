//go:build accumulo

package accumulo

import (
	"path/filepath"
	"testing"
)

// TestOlder has Accumulo read the tree's files of versions 3 to 7, which were made from the description of the format and
// not by Accumulo: it finds in them what we find.
func TestOlder(t *testing.T) {
	paths, err := filepath.Glob("../testdata/older/*.rf")
	if err != nil || len(paths) != 4 {
		t.Fatalf("%d files, %v", len(paths), err)
	}
	eachRelease(t, func(t *testing.T, r *release) {
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				f := open(t, path)
				entries := entriesIn(t, f)
				if len(entries) < 150 {
					t.Fatalf("%d entries", len(entries))
				}
				judged(t, r, path, "older: "+filepath.Base(path), settings{}, entries, familiesOf(f), 60)
			})
		}
	})
}
