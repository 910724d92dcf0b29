package vfs

import "io"

// layer passes every call on to another FS through one function, which may do something before and after, change what
// is read and written, or not pass the call on. The layers of this package embed it.
type layer struct {
	inner  FS
	around func(*passage) error
}

// passage is one call on its way down.
type passage struct {
	Call
	file *layerFile // nil for a call on the FS
	// within says of a link that both names are in this tree.
	within bool
	// buf is the caller's buffer of a read or a write.
	buf []byte
	// n is how many bytes the call says it read or wrote. pass adds to it when it writes.
	n    int
	down func([]byte) (int, error)
}

// pass does the call on what lies below. A write may be passed in parts, by passing less than buf each time.
func (p *passage) pass() error { return p.passPart(p.buf) }

func (p *passage) passPart(part []byte) error {
	n, err := p.down(part)
	if p.Op == OpWrite {
		p.n += n
	} else {
		p.n = n
	}
	return err
}

var _ LinkTarget = (*layer)(nil)

// Unwrap returns the FS below.
func (l *layer) Unwrap() FS { return l.inner }

// Close ends the FS below.
func (l *layer) Close() error { return Close(l.inner) }

// call does a call that has no buffer.
func (l *layer) call(c Call, file *layerFile, do func() error) error {
	return l.around(&passage{Call: c, file: file, down: func([]byte) (int, error) { return 0, do() }})
}

// openThrough does a call that gives back something to be closed, which a failing call must not leave open.
func openThrough[T io.Closer](l *layer, c Call, file *layerFile, do func() (T, error)) (got T, err error) {
	opened := false
	err = l.call(c, file, func() (err error) {
		got, err = do()
		opened = err == nil
		return err
	})
	if err != nil && opened {
		got.Close()
	}
	return got, err
}

func (l *layer) Create(name string) (File, error) { return l.openFile(OpCreate, name, l.inner.Create) }

func (l *layer) Open(name string) (File, error) { return l.openFile(OpOpen, name, l.inner.Open) }

func (l *layer) openFile(op Op, name string, do func(string) (File, error)) (File, error) {
	f := &layerFile{layer: l, name: name, writing: op == OpCreate}
	inner, err := openThrough(l, Call{Op: op, Name: name}, f, func() (File, error) { return do(name) })
	if err != nil {
		return nil, err
	}
	f.File = inner
	return f, nil
}

func (l *layer) Lock(name string) (io.Closer, error) {
	held := &layerLock{layer: l, name: name}
	var err error
	held.Closer, err = openThrough(l, Call{Op: OpLock, Name: name}, nil, func() (io.Closer, error) { return l.inner.Lock(name) })
	if err != nil {
		return nil, err
	}
	return held, nil
}

func (l *layer) Rename(from, to string) error {
	return l.call(Call{Op: OpRename, Name: from, To: to}, nil, func() error { return l.inner.Rename(from, to) })
}

func (l *layer) Remove(name string) error {
	return l.call(Call{Op: OpRemove, Name: name}, nil, func() error { return l.inner.Remove(name) })
}

func (l *layer) MkdirAll(dir string) error {
	return l.call(Call{Op: OpMkdir, Name: dir}, nil, func() error { return l.inner.MkdirAll(dir) })
}

func (l *layer) SyncDir(dir string) error {
	return l.call(Call{Op: OpSyncDir, Name: dir}, nil, func() error { return l.inner.SyncDir(dir) })
}

func (l *layer) List(dir string) ([]string, error) {
	return ask(l, Call{Op: OpList, Name: dir}, nil, func() ([]string, error) { return l.inner.List(dir) })
}

func (l *layer) Stat(name string) (Info, error) {
	return ask(l, Call{Op: OpStat, Name: name}, nil, func() (Info, error) { return l.inner.Stat(name) })
}

func (l *layer) Free(dir string) (uint64, error) {
	return ask(l, Call{Op: OpFree, Name: dir}, nil, func() (uint64, error) { return l.inner.Free(dir) })
}

// ask does a call that gives back a value.
func ask[T any](l *layer, c Call, file *layerFile, do func() (T, error)) (got T, err error) {
	err = l.call(c, file, func() (err error) { got, err = do(); return err })
	if err != nil {
		var none T
		return none, err
	}
	return got, nil
}

// Link counts as one call on each of the two trees, and as one within a tree.
func (l *layer) Link(from string, to FS, name string) error {
	if t, ok := to.(interface{ same(*layer) bool }); ok && t.same(l) {
		return l.LinkFrom(l.inner, from, name)
	}
	return l.call(Call{Op: OpLink, Name: from}, nil, func() error { return l.inner.Link(from, to, name) })
}

// same says whether an FS is this layer, which the type that embeds it hides from a comparison.
func (l *layer) same(other *layer) bool { return l == other }

// LinkFrom makes a link into this tree.
func (l *layer) LinkFrom(source FS, from, name string) error {
	return l.around(&passage{Call: Call{Op: OpLink, Name: from, To: name}, within: source == l.inner,
		down: func([]byte) (int, error) { return 0, source.Link(from, l.inner, name) }})
}

// MemBelow returns the tree in memory that lies below all layers, if one does.
func MemBelow(fsys FS) (*MemFS, bool) {
	for {
		if m, ok := fsys.(*MemFS); ok {
			return m, true
		}
		l, ok := fsys.(interface{ Unwrap() FS })
		if !ok {
			return nil, false
		}
		fsys = l.Unwrap()
	}
}

// layerLock passes the end of a lock on as a call.
type layerLock struct {
	io.Closer
	layer *layer
	name  string
}

func (l *layerLock) Close() error {
	return l.layer.call(Call{Op: OpUnlock, Name: l.name}, nil, l.Closer.Close)
}
