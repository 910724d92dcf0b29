package vfs

// Spoilt is what a spoilt buffer is filled with.
const Spoilt = 0xDB

// SpoilOptions say whose buffers are filled with Spoilt.
type SpoilOptions struct {
	// Caller spoils the caller's buffer once a Write of it has succeeded: nobody may use it again. This is more than
	// io.Writer allows, so it is asked for.
	Caller bool
}

// SpoilFS finds those that use a buffer when they must not. The FS below gets a copy of what is written, which is spoilt
// when the call returns: it must have taken what it needs. What a caller reads into is spoilt behind the bytes that were
// read: nobody may rely on more than it was told of. It is safe for concurrent use.
type SpoilFS struct {
	layer
	opts SpoilOptions
}

// Spoil wraps an FS.
func Spoil(inner FS, opts SpoilOptions) *SpoilFS {
	s := &SpoilFS{opts: opts}
	s.layer = layer{inner: inner, around: s.pass}
	return s
}

func (s *SpoilFS) pass(p *passage) error {
	switch p.Op {
	case OpRead:
		err := p.pass()
		spoil(p.buf[p.n:])
		return err
	case OpWrite:
		own := append([]byte(nil), p.buf...)
		err := p.passPart(own)
		spoil(own)
		if err == nil && s.opts.Caller {
			spoil(p.buf)
		}
		return err
	}
	return p.pass()
}

func spoil(p []byte) {
	for i := range p {
		p[i] = Spoilt
	}
}
