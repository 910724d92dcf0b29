package vfs

// layerFile is a file as a layer sees it. Off of a write is counted here.
type layerFile struct {
	File
	layer   *layer
	name    string // within the FS, as it was opened
	writing bool
	written int64
	state   any // the layer's own
}

// Unwrap returns the file below.
func (f *layerFile) Unwrap() File { return f.File }

func (f *layerFile) ReadAt(p []byte, off int64) (int, error) {
	c := &passage{
		Call: Call{Op: OpRead, Name: f.name, Off: off, Bytes: len(p)}, file: f, buf: p,
		down: func(part []byte) (int, error) { return f.File.ReadAt(part, off) },
	}
	err := f.layer.around(c)
	return c.n, err
}

func (f *layerFile) Write(p []byte) (int, error) {
	c := &passage{Call: Call{Op: OpWrite, Name: f.name, Off: f.written, Bytes: len(p)}, file: f, buf: p, down: f.File.Write}
	err := f.layer.around(c)
	f.written += int64(c.n)
	return c.n, err
}

func (f *layerFile) Sync() error {
	return f.layer.call(Call{Op: OpSync, Name: f.name}, f, f.File.Sync)
}

func (f *layerFile) Size() (int64, error) {
	return ask(f.layer, Call{Op: OpSize, Name: f.name}, f, f.File.Size)
}

func (f *layerFile) Close() error {
	return f.layer.call(Call{Op: OpClose, Name: f.name}, f, f.File.Close)
}

// memFileBelow returns the file in memory that lies below all layers, or nil.
func memFileBelow(f File) *memFile {
	for {
		if m, ok := f.(*memFile); ok {
			return m
		}
		l, ok := f.(interface{ Unwrap() File })
		if !ok {
			return nil
		}
		f = l.Unwrap()
	}
}
