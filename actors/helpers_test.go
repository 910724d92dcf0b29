package actors_test

import (
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet/visibility"
)

// gateFS keeps whoever creates a file waiting until the gate is opened: so a test knows that a job runs.
type gateFS struct {
	vfs.FS
	gate chan struct{}
}

func newGate(fs vfs.FS) *gateFS { return &gateFS{fs, make(chan struct{})} }

func (g *gateFS) Create(name string) (vfs.File, error) {
	<-g.gate
	return g.FS.Create(name)
}

func (g *gateFS) open() { close(g.gate) }

func auths(t *testing.T, tokens ...string) visibility.Authorizations {
	t.Helper()
	a, err := visibility.NewAuthorizations(tokens...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
