package vfs

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// ledger is what a layer knows of the tree below from the calls that it saw: which names lead to the same file, how long
// files are, and how much of them was synced. Its user guards it.
type ledger struct {
	names   map[string]*ledgerNode
	durable map[string]durableName // as of the last SyncDir of the directory of each
	bytes   int64                  // of all files that have a name or are open
	calls   uint64                 // the ledger's time: calls noted
}

type ledgerNode struct {
	dir          bool
	links, opens int
	size, synced int64
	syncedAt     uint64
	dirtyAt      uint64 // the first write since the last sync; 0 when there is none
	failed       bool   // a sync failed
}

type durableName struct {
	node *ledgerNode
	at   uint64
}

// newLedger notes what is there, as durable. Two names of one file count as two files.
func newLedger(fsys FS) (*ledger, error) {
	l := &ledger{names: map[string]*ledgerNode{}, durable: map[string]durableName{}}
	if err := l.walk(fsys, "."); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *ledger) walk(fsys FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		name = path.Join(dir, name)
		info, err := fsys.Stat(name)
		if err != nil {
			return err
		}
		n := &ledgerNode{dir: info.Dir, links: 1, size: info.Bytes, synced: info.Bytes}
		l.names[name], l.durable[name] = n, durableName{node: n}
		l.bytes += info.Bytes
		if info.Dir {
			if err := l.walk(fsys, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// note takes over what a call did. err is what it reported.
func (l *ledger) note(p *passage, err error) {
	l.calls++
	switch p.Op {
	case OpWrite:
		l.wrote(p)
		return
	case OpSync:
		l.synced(p, err)
		return
	case OpClose:
		if n := nodeOf(p); n != nil && !errors.Is(err, fs.ErrClosed) {
			n.opens--
			l.released(n)
		}
		return
	}
	if err != nil {
		return
	}
	switch p.Op {
	case OpCreate:
		n := &ledgerNode{}
		l.put(p.Name, n)
		l.opened(p, n)
	case OpOpen:
		l.opened(p, l.names[p.Name])
	case OpLock:
		if l.names[p.Name] == nil {
			l.put(p.Name, &ledgerNode{})
		}
	case OpRename:
		l.renamed(p.Name, p.To)
	case OpRemove:
		l.drop(p.Name)
	case OpLink:
		l.linked(p)
	case OpMkdir:
		l.madeDir(p.Name)
	case OpSyncDir:
		l.syncedDir(p.Name)
	}
}

func nodeOf(p *passage) *ledgerNode {
	n, _ := p.file.state.(*ledgerNode)
	return n
}

func (l *ledger) opened(p *passage, n *ledgerNode) {
	if n != nil {
		n.opens++
		p.file.state = n
	}
}

func (l *ledger) wrote(p *passage) {
	n := nodeOf(p)
	if n == nil || p.n == 0 {
		return
	}
	n.size += int64(p.n)
	l.bytes += int64(p.n)
	if n.dirtyAt == 0 {
		n.dirtyAt = l.calls
	}
}

func (l *ledger) synced(p *passage, err error) {
	n := nodeOf(p)
	switch {
	case n == nil:
	case err != nil:
		n.failed = true
	default:
		n.synced, n.syncedAt, n.dirtyAt = n.size, l.calls, 0
	}
}

func (l *ledger) put(name string, n *ledgerNode) {
	l.drop(name)
	n.links++
	l.names[name] = n
}

func (l *ledger) drop(name string) {
	n := l.names[name]
	if n == nil {
		return
	}
	delete(l.names, name)
	n.links--
	l.released(n)
}

func (l *ledger) released(n *ledgerNode) {
	if n.links == 0 && n.opens == 0 {
		l.bytes -= n.size
	}
}

func (l *ledger) linked(p *passage) {
	if p.To == "" {
		return // into another tree
	}
	n := &ledgerNode{} // from another tree: that tree's bytes
	if p.within && l.names[p.Name] != nil {
		n = l.names[p.Name]
	}
	l.put(p.To, n)
}

func (l *ledger) renamed(from, to string) {
	n := l.names[from]
	if n == nil || l.names[to] == n {
		return
	}
	l.put(to, n)
	l.drop(from)
	if !n.dir {
		return
	}
	for name, n := range l.names { // each gets a name that no other has, so the order does not matter
		if rest, ok := strings.CutPrefix(name, from+"/"); ok {
			delete(l.names, name)
			l.names[to+"/"+rest] = n
		}
	}
	for name, d := range l.durable {
		if rest, ok := strings.CutPrefix(name, from+"/"); ok {
			delete(l.durable, name)
			l.durable[to+"/"+rest] = d
		}
	}
}

func (l *ledger) madeDir(dir string) {
	for parent := range parents(dir + "/") {
		if parent != "." && l.names[parent] == nil {
			l.put(parent, &ledgerNode{dir: true})
		}
	}
}

func (l *ledger) syncedDir(dir string) {
	for name := range l.durable {
		if path.Dir(name) == dir && l.names[name] == nil {
			delete(l.durable, name)
		}
	}
	for name, n := range l.names {
		if path.Dir(name) == dir && l.durable[name].node != n {
			l.durable[name] = durableName{n, l.calls}
		}
	}
}
