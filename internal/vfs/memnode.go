package vfs

import "slices"

// memNode is a file or a directory; names live in the directory above.
type memNode struct {
	dir bool

	// A directory: what the process sees, what was there at the last SyncDir, and what happened between the two.
	entries memNames
	durable memNames
	shared  bool // entries and durable are one slice
	changes []change

	// A file: what the process sees, how much of it was there at the last Sync, and what of it the disk will never have
	// because a failed sync dropped it.
	content content
	synced  int64
	dropped []span

	links  int // names, as the process sees it
	opens  int // handles
	locked bool
}

func newMemDir() *memNode { return &memNode{dir: true} }

// pending is how many bytes were written since the last Sync.
func (n *memNode) pending() int64 { return n.content.length - n.synced }

// settled is a file's content as of its last Sync.
func (n *memNode) settled() content { return n.content.prefix(n.synced).without(n.dropped) }

// set gives a name to a node, in place of what had it.
func (n *memNode) set(name string, child *memNode) {
	n.own()
	n.entries = n.entries.with(name, child)
}

func (n *memNode) unset(name string) {
	n.own()
	n.entries = n.entries.without(name)
}

func (n *memNode) own() {
	if n.shared {
		n.entries, n.shared = slices.Clone(n.entries), false
	}
}

// settle makes the entries durable.
func (n *memNode) settle() {
	n.durable, n.shared, n.changes = n.entries, true, nil
}

// memNames are a directory's entries in order of their names.
type memNames []memName

type memName struct {
	name string
	node *memNode
}

func (l memNames) find(name string) (int, bool) {
	return slices.BinarySearchFunc(l, name, func(e memName, name string) int {
		switch {
		case e.name < name:
			return -1
		case e.name > name:
			return 1
		}
		return 0
	})
}

// get returns nil for a name that is not there.
func (l memNames) get(name string) *memNode {
	if i, ok := l.find(name); ok {
		return l[i].node
	}
	return nil
}

// with and without change the slice in place.
func (l memNames) with(name string, node *memNode) memNames {
	i, ok := l.find(name)
	if ok {
		l[i].node = node
		return l
	}
	return slices.Insert(l, i, memName{name, node})
}

func (l memNames) without(name string) memNames {
	if i, ok := l.find(name); ok {
		return slices.Delete(l, i, i+1)
	}
	return l
}
