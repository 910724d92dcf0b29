package bcfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// source is a file with its size, and its end in memory while it is being opened.
type source struct {
	f    vfs.File
	name string
	size int64
	tail []byte // the last bytes, or nil
}

func newSource(f vfs.File) (*source, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("size of %s: %w", f.Name(), err)
	}
	return &source{f: f, name: f.Name(), size: size}, nil
}

// corrupt returns a CorruptError of this file.
func (s *source) corrupt(offset int64, format string, args ...any) error {
	return tablet.Corruptf(s.name, offset, format, args...)
}

// loadTail keeps the last n bytes, or the whole file if it is shorter.
func (s *source) loadTail(n int64) error {
	if int64(len(s.tail)) >= min(n, s.size) {
		return nil
	}
	tail := make([]byte, min(n, s.size))
	if err := s.read(tail, s.size-int64(len(tail))); err != nil {
		return err
	}
	s.tail = tail
	return nil
}

// read fills p from offset. A file that turns out shorter than its size is corrupt.
func (s *source) read(p []byte, offset int64) error {
	n, err := s.readSome(p, offset)
	if n == len(p) {
		return nil
	}
	return err
}

// readSome reads into p and returns an error whenever it did not fill it.
func (s *source) readSome(p []byte, offset int64) (int, error) {
	if at := offset - (s.size - int64(len(s.tail))); at >= 0 && at+int64(len(p)) <= int64(len(s.tail)) {
		return copy(p, s.tail[at:]), nil
	}
	n, err := s.f.ReadAt(p, offset)
	switch {
	case n == len(p):
		return n, nil
	case errors.Is(err, io.EOF):
		return n, s.corrupt(offset+int64(n), "file ends early: %d of %d bytes read at %d", n, len(p), offset)
	case err == nil:
		err = io.ErrNoProgress
	}
	return n, fmt.Errorf("read %d bytes of %s at %d: %w", len(p), s.name, offset, err)
}

// checksum continues crc over the bytes from one offset to another.
func (s *source) checksum(crc uint32, from, to int64) (uint32, error) {
	buf := make([]byte, min(to-from, 64<<10))
	for from < to {
		part := buf[:min(int64(len(buf)), to-from)]
		if err := s.read(part, from); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, castagnoli, part)
		from += int64(len(part))
	}
	return crc, nil
}
