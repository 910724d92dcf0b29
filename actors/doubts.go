package actors

import (
	"sync"

	"millrace/tablet"
	"millrace/tablet/manifest"
)

// doubts are files of jobs whose record may be durable or not. They stay where they are until the manifest is certain
// again. It locks inside.
type doubts struct {
	mu    sync.Mutex
	files []tablet.FileMeta
}

// add takes a file in.
func (d *doubts) add(f tablet.FileMeta) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files = append(d.files, f)
}

// take returns the files that a certain state does not name, and forgets all.
func (d *doubts) take(s *manifest.State) (unnamed []tablet.FileMeta) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range d.files {
		if s.Named(f.Number) == nil {
			unnamed = append(unnamed, f)
		}
	}
	d.files = nil
	return unnamed
}
