package vfs

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Op is a kind of call on an FS or a File.
type Op string

// The kinds of call. OpAny in a Rule stands for all of them.
const (
	OpAny     Op = ""
	OpCreate  Op = "create"
	OpOpen    Op = "open"
	OpRename  Op = "rename"
	OpRemove  Op = "remove"
	OpList    Op = "list"
	OpStat    Op = "stat"
	OpMkdir   Op = "mkdir"
	OpSyncDir Op = "syncdir"
	OpLock    Op = "lock"
	OpFree    Op = "free"
	OpLink    Op = "link"
	OpRead    Op = "read"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpSize    Op = "size"
	OpClose   Op = "close"
	OpUnlock  Op = "unlock" // the end of a lock
)

// Ops are all kinds but OpAny.
var Ops = []Op{OpCreate, OpOpen, OpRename, OpRemove, OpList, OpStat, OpMkdir, OpSyncDir, OpLock, OpFree, OpLink, OpRead,
	OpWrite, OpSync, OpSize, OpClose, OpUnlock}

// Class is what a file of a store is for, as its name tells.
type Class string

// The classes. ClassAny in a Rule stands for all of them.
const (
	ClassAny       Class = ""
	ClassLog       Class = "log"
	ClassData      Class = "data"
	ClassManifest  Class = "manifest"
	ClassTemporary Class = "temporary"
	ClassOther     Class = "other"
)

// Classes are all classes but ClassAny.
var Classes = []Class{ClassLog, ClassData, ClassManifest, ClassTemporary, ClassOther}

var (
	classOfDir = map[string]Class{"wal": ClassLog, "data": ClassData, "manifest": ClassManifest, "tmp": ClassTemporary}
	classOfExt = map[string]Class{".wal": ClassLog, ".rf": ClassData, ".sums": ClassData, ".manifest": ClassManifest,
		".tmp": ClassTemporary}
)

// ClassOf tells the class of a file or a directory: by the extension .tmp, else by the directory in which it stands, or
// which it is, else by the extension.
func ClassOf(name string) Class {
	ext := classOfExt[path.Ext(name)]
	if ext == ClassTemporary {
		return ext
	}
	for dir := name; dir != "." && dir != ""; {
		last := dir
		if i := strings.LastIndexByte(dir, '/'); i >= 0 {
			dir, last = dir[:i], dir[i+1:]
		} else {
			dir = "."
		}
		if class := classOfDir[last]; class != ClassAny {
			return class
		}
	}
	if ext != ClassAny {
		return ext
	}
	return ClassOther
}

// Call is a call that was made.
type Call struct {
	Op   Op
	Name string // within the FS
	To   string // the second name of a rename or a link
	Off  int64  // of a read, and of a write as far as the file was written through the layer that tells
	// Bytes is how much a read or a write is asked for.
	Bytes int
}

// Class is the class of the file; of a rename or a link that of the new name.
func (c Call) Class() Class {
	if c.To != "" {
		return ClassOf(c.To)
	}
	return ClassOf(c.Name)
}

func (c Call) String() string {
	s := fmt.Sprintf("%s %q", c.Op, c.Name)
	if c.To != "" {
		s += fmt.Sprintf(" to %q", c.To)
	}
	if c.Op == OpRead || c.Op == OpWrite {
		s += fmt.Sprintf(" at %d, %d bytes", c.Off, c.Bytes)
	}
	return s
}

// Site is a kind of call on a class of files.
type Site struct {
	Op    Op
	Class Class
}

func (s Site) String() string { return string(s.Op) + " " + string(s.Class) }

// compareSites orders sites as Ops and Classes are.
func compareSites(a, b Site) int {
	if by := slices.Index(Ops, a.Op) - slices.Index(Ops, b.Op); by != 0 {
		return by
	}
	return slices.Index(Classes, a.Class) - slices.Index(Classes, b.Class)
}

// sortedSites are the keys of a map, in order.
func sortedSites[V any](m map[Site]V) []Site { return slices.SortedFunc(maps.Keys(m), compareSites) }
