package vfs

import "syscall"

// noCapacity is what Free returns of a device that is never full.
const noCapacity = 1 << 40

// SetFree sets what Free returns; 1 TiB before. It bounds nothing; see SetCapacity.
func (m *MemFS) SetFree(bytes uint64) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	m.device.free = bytes
}

// SetCapacity makes the device full at so many bytes of files, open or named: a write beyond takes what still fits and
// fails with ENOSPC. 0, as at first, is no bound. Below what is used already nothing more can be written. Free returns
// what is left.
func (m *MemFS) SetCapacity(bytes uint64) {
	m.device.mu.Lock()
	defer m.device.mu.Unlock()
	m.device.capacity = bytes
}

// Used is the bytes of all files on the device that are open or have a name.
func (m *MemFS) Used() uint64 {
	m.device.mu.RLock()
	defer m.device.mu.RUnlock()
	return m.device.used
}

// room is how many of n bytes still fit.
func (d *memDevice) room(n int) (int, error) {
	if d.capacity == 0 || d.used+uint64(n) <= d.capacity {
		return n, nil
	}
	if d.used >= d.capacity {
		return 0, syscall.ENOSPC
	}
	return int(d.capacity - d.used), syscall.ENOSPC
}

// left is what Free returns.
func (d *memDevice) left() uint64 {
	if d.capacity == 0 {
		return d.free
	}
	return d.capacity - min(d.used, d.capacity)
}

// unlinked, opened and closed count what keeps a node alive, as name does.
func (d *memDevice) unlinked(n *memNode) {
	n.links--
	if n.links == 0 && !n.dir {
		d.recycle(n.content)
	}
	d.release(n)
}

func (d *memDevice) opened(n *memNode) {
	n.opens++
	d.open++
}

func (d *memDevice) closed(n *memNode) {
	n.opens--
	d.open--
	d.release(n)
}

func (d *memDevice) release(n *memNode) {
	if n.links == 0 && n.opens == 0 {
		d.used -= uint64(n.content.length)
	}
}

// Removed files whose bytes may come to light again in an image, the last few, the first pages of each.
const (
	maxRecycled      = 8
	maxRecycledPages = 64
)

// recycle remembers the bytes of a removed file.
func (d *memDevice) recycle(c content) {
	if c.length == 0 {
		return
	}
	if len(d.recycled) == maxRecycled {
		d.recycled = append([]content(nil), d.recycled[1:]...)
	}
	c = c.prefix(min(c.length, maxRecycledPages*PageBytes))
	if last := c.length / PageBytes; c.length%PageBytes != 0 {
		p := c.own(last) // a handle that is still open may write behind it
		c.pages = append(c.pages[:last:last], p)
	}
	d.recycled = append(d.recycled, c)
}
