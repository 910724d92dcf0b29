package vfs

import (
	"cmp"
	"slices"
)

// change is what a directory went through since its last SyncDir: a name given (from is empty), taken away (to is
// empty), or exchanged for another in one step.
type change struct {
	number   uint64 // in order of happening on the device; the two halves of a rename between directories share one
	node     *memNode
	from, to string
	other    *memNode // the directory of the other half
}

// changed notes a change in a directory.
func (d *memDevice) changed(dir *memNode, c change) {
	d.lastChange++
	c.number = d.lastChange
	dir.changes = append(dir.changes, c)
}

// name gives a node a name that is free.
func (d *memDevice) name(n, dir *memNode, name string) {
	dir.set(name, n)
	n.links++
	d.changed(dir, change{node: n, to: name})
}

// moved notes a rename. Between two directories it is a change to each.
func (d *memDevice) moved(node, fromDir *memNode, from string, toDir *memNode, to string) {
	if fromDir == toDir {
		d.changed(fromDir, change{node: node, from: from, to: to})
		return
	}
	d.lastChange++
	fromDir.changes = append(fromDir.changes, change{number: d.lastChange, node: node, from: from, other: toDir})
	toDir.changes = append(toDir.changes, change{number: d.lastChange, node: node, to: to, other: fromDir})
}

// apply does a change to a list of names that need not be the one it happened to: others before it may be missing.
// What is taken away is the node that it was, not another that has the name meanwhile.
func (c *change) apply(l memNames) memNames {
	if c.from != "" && l.get(c.from) == c.node {
		l = l.without(c.from)
	}
	if c.to != "" {
		l = l.with(c.to, c.node)
	}
	return l
}

// syncDir makes a directory's changes durable. A file that was renamed to another directory must not be gone from both,
// so the other half of such a rename goes with the one that takes the name away.
func (n *memNode) syncDir() {
	for _, c := range n.changes {
		if c.other != nil && c.to == "" {
			c.other.settleOne(c.number)
		}
	}
	n.settle()
}

func (n *memNode) settleOne(number uint64) {
	i := slices.IndexFunc(n.changes, func(c change) bool { return c.number == number })
	if i < 0 {
		return // durable already
	}
	n.durable = n.changes[i].apply(n.durable) // not shared, since there is a change
	n.changes = slices.Delete(n.changes, i, i+1)
}

// pendingChanges are the numbers of all changes below a directory, in order of happening, and each once.
func (n *memNode) pendingChanges() []uint64 {
	var numbers []uint64
	n.eachDir(map[*memNode]bool{}, func(dir *memNode) {
		for _, c := range dir.changes {
			numbers = append(numbers, c.number)
		}
	})
	slices.SortFunc(numbers, cmp.Compare[uint64])
	return slices.Compact(numbers)
}

// eachDir visits the directories that are, were, or in between were below this one.
func (n *memNode) eachDir(seen map[*memNode]bool, visit func(*memNode)) {
	if !n.dir || seen[n] {
		return
	}
	seen[n] = true
	visit(n)
	for _, e := range n.entries {
		e.node.eachDir(seen, visit)
	}
	if n.shared {
		return
	}
	for _, e := range n.durable {
		e.node.eachDir(seen, visit)
	}
	for _, c := range n.changes {
		c.node.eachDir(seen, visit)
	}
}
