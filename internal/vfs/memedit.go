package vfs

import "slices"

// Edit replaces a file's content, as damage at rest does: edit gets a copy and returns what is to be there, all of it
// durable. Files that are open see it; images that were taken before do not.
func (m *MemFS) Edit(name string, edit func([]byte) []byte) error {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	n, err := m.file(name)
	if err != nil {
		return pathError("edit", name, err)
	}
	m.device.replace(n, contentOf(edit(n.content.bytes())))
	n.synced = n.content.length
	return nil
}

// overwrite changes bytes of an open file in place, as a disk does that writes to the wrong place. What lies behind the
// end is left out.
func (f *memFile) overwrite(p []byte, off int64) {
	f.fs.device.mu.Lock()
	defer f.fs.device.mu.Unlock()
	c := &f.n.content
	if off >= c.length {
		return
	}
	p = p[:min(int64(len(p)), c.length-off)]
	c.pages = slices.Clone(c.pages)
	for len(p) > 0 {
		i, from := off/PageBytes, off%PageBytes
		c.pages[i] = c.own(i) // images keep the old one
		n := copy(c.pages[i][from:], p)
		off += int64(n)
		p = p[n:]
	}
}
