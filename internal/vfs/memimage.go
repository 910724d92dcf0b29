package vfs

import "maps"

// Clone returns a copy of all that the process sees, on a device of its own: what a crash of the process leaves.
func (m *MemFS) Clone() *MemFS { return m.image(false) }

// Durable returns a copy of what was synced alone, on a device of its own: what a power cut leaves at the worst.
func (m *MemFS) Durable() *MemFS { return m.image(true) }

func (m *MemFS) image(durable bool) *MemFS {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	copies := map[*memNode]*memNode{} // a file with two names stays one file
	root := m.root.image(durable, copies)
	return &MemFS{device: &memDevice{free: m.device.free}, root: root}
}

func (n *memNode) image(durable bool, copies map[*memNode]*memNode) *memNode {
	if c := copies[n]; c != nil {
		return c
	}
	if !n.dir {
		length := len(n.data)
		if durable {
			length = n.synced
		}
		c := &memNode{data: n.data[:length:length], synced: n.synced}
		copies[n] = c
		return c
	}
	c := newMemDir()
	copies[n] = c
	from := n.entries
	if durable {
		from = n.durable
	}
	for name, child := range from {
		c.entries[name] = child.image(durable, copies)
	}
	if durable {
		c.durable = maps.Clone(c.entries)
		return c
	}
	for name, child := range n.durable {
		c.durable[name] = child.image(durable, copies)
	}
	return c
}
