package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// lineReader reads the lines of an input, however long up to a limit. Gzip is recognised by its first bytes.
type lineReader struct {
	name   string
	r      *bufio.Reader
	number int64 // of the last line
	limit  int
	long   []byte // a line that did not fit the reader's buffer
}

func newLineReader(name string, r io.Reader, limit int) (*lineReader, error) {
	const bufferBytes = 256 << 10
	l := &lineReader{name: name, r: bufio.NewReaderSize(r, bufferBytes), limit: limit}
	head, err := l.r.Peek(2)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if bytes.Equal(head, []byte{0x1f, 0x8b}) {
		unzipped, err := gzip.NewReader(l.r)
		if err != nil {
			return nil, &inputError{name, 1, err}
		}
		l.r = bufio.NewReaderSize(unzipped, bufferBytes)
	}
	return l, nil
}

// next is the next line that is not blank, valid until the call after; io.EOF at the end.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.line()
		if err == io.EOF {
			return nil, err
		}
		if err != nil {
			return nil, l.wrong(err)
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
	}
}

// wrong is the error for the line read last.
func (l *lineReader) wrong(err error) error { return &inputError{l.name, l.number, err} }

// inputError says which line of an input is wrong. Unless the machine or the user is to blame it is tablet.ErrCorrupt.
type inputError struct {
	name string
	line int64
	err  error
}

func (e *inputError) Error() string { return fmt.Sprintf("%s: line %d: %v", e.name, e.line, e.err) }
func (e *inputError) Unwrap() error { return e.err }

func (e *inputError) Is(target error) bool {
	var system syscall.Errno
	return target == tablet.ErrCorrupt && !errors.As(e.err, &system) && !errors.Is(e.err, tablet.ErrUsage) && !errors.Is(e.err, context.Canceled)
}

// line is the next line without its end.
func (l *lineReader) line() ([]byte, error) {
	l.number++
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if len(l.long)+len(part) > l.limit {
			return nil, usagef("longer than %d bytes, more --memory allows longer ones", l.limit)
		}
		if err == nil && len(l.long) == 0 {
			return part[:len(part)-1], nil
		}
		l.long = append(l.long, part...)
		switch {
		case err == nil:
			return l.long[:len(l.long)-1], nil
		case err == io.EOF && len(l.long) > 0:
			return l.long, nil
		case err == io.EOF:
			return nil, io.EOF
		}
	}
}

// fileReader reads a file from its start.
func fileReader(f vfs.File, read func(bytes int64)) io.Reader {
	return &countingReader{r: io.NewSectionReader(f, 0, math.MaxInt64), read: read}
}

// countingReader tells how much has been read.
type countingReader struct {
	r    io.Reader
	n    int64
	read func(bytes int64)
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.read(c.n)
	return n, err
}

// pump reads ahead on a goroutine of its own, so that an interruption does not have to wait for a reader that waits for
// somebody to type or a pipe to fill. The goroutine ends with the reader, or with the process.
type pump struct {
	ctx  context.Context
	full chan chunk
	free chan []byte
	now  chunk
	rest []byte
}

type chunk struct {
	buf []byte
	n   int
	err error
}

func newPump(ctx context.Context, r io.Reader) *pump {
	const buffers, bufferBytes = 2, 128 << 10
	p := &pump{ctx: ctx, full: make(chan chunk, buffers), free: make(chan []byte, buffers)}
	for range buffers {
		p.free <- make([]byte, bufferBytes)
	}
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case buf := <-p.free:
				n, err := r.Read(buf)
				p.full <- chunk{buf, n, err} // never waits: there are as many places as buffers
				if err != nil {
					return
				}
			}
		}
	}()
	return p
}

func (p *pump) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		if p.now.err != nil {
			return 0, p.now.err
		}
		if p.now.buf != nil {
			p.free <- p.now.buf
		}
		select {
		case <-p.ctx.Done():
			return 0, p.ctx.Err()
		case p.now = <-p.full:
			p.rest = p.now.buf[:p.now.n]
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
