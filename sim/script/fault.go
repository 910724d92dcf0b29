package script

import (
	"context"
	"syscall"

	"millrace/internal/vfs"
)

// faultStep makes file calls fail until they are healed, or the store is opened again.
type faultStep struct {
	kind        string
	op          vfs.Op
	class       vfs.Class
	from, count int // count 0: all from then on
}

var faultClasses = map[string]vfs.Class{
	"data": vfs.ClassData, "wal": vfs.ClassLog, "manifest": vfs.ClassManifest, "any": vfs.ClassAny,
}

func parseFault(o *object, _ string) step {
	o.must("kind", "on", "match")
	s := &faultStep{kind: o.choice("kind", "enospc", "eio", "short")}
	s.op = vfs.Op(o.choice("on", "write", "sync", "create", "rename", "syncdir", "read", "remove"))
	s.class = faultClasses[o.choice("match", "data", "wal", "manifest", "any")]
	s.from = o.count("from", 1, 1)
	s.count = o.count("count", 1, 0)
	if s.kind == "short" && s.op != vfs.OpWrite && s.op != vfs.OpRead {
		o.failf("only a write or a read can be short, not a %s", s.op)
	}
	return s
}

func (s *faultStep) run(_ context.Context, r *runner) error {
	rule := vfs.Rule{Op: s.op, Class: s.class, N: s.from, Sticky: s.count == 0, Err: syscall.EIO}
	switch s.kind {
	case "enospc":
		rule.Err = syscall.ENOSPC
	case "short":
		r.disk.short.add(shortRule{op: s.op, class: s.class, from: s.from, count: s.count})
		return nil
	}
	for range max(s.count, 1) {
		r.disk.faulty.Add(rule)
		rule.N++
	}
	return nil
}

type clearFaultsStep struct{}

func (clearFaultsStep) run(_ context.Context, r *runner) error {
	r.disk.heal()
	return nil
}
