package record

import (
	"fmt"
	"hash/crc32"
	"io"

	"millrace/internal/vfs"
	"millrace/tablet"
)

// Reader gives the records of a file in order. Its memory is one window of 256 KiB, or the longest record that verifies.
type Reader struct {
	f    vfs.File
	want Header

	limit   int64 // the file ends here, or is taken to
	known   int64 // bytes that were synced, as somebody else knows
	started bool
	off     int64 // of the next frame
	proven  int64 // bytes that were synced, as the records say

	window   []byte
	windowAt int64
	piece    []byte // for sums that must leave the window alone

	end End
	err error // what Next gives from now on
}

// End is how a file ended.
type End struct {
	Offset int64 // bytes that verify, from the start
	// Synced is how many of them are known to have been on stable storage.
	Synced int64
	Sealed bool // the end is the one its writer gave it
	// Torn says that bytes follow which do not verify and which no record proves to have been synced.
	Torn bool
	// Marred says of a torn end that what follows is the seal, but for one byte. No crash leaves that: it is damage, though
	// nothing is lost.
	Marred bool
}

// Outside is what others know of a file.
type Outside struct {
	// Synced is how many bytes were on stable storage once. If that many do not verify, it is damage.
	Synced int64
	// End, unless 0, is where the file ends, whatever bytes follow: where an earlier reader found its torn tail.
	End int64
}

const windowBytes = 256 << 10

// NewReader reads a file that vfs.FS.Open gave. The header is checked by the first Next. The reader does not close the
// file.
func NewReader(f vfs.File, want Header, known Outside) (*Reader, error) {
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if known.End > 0 {
		size = min(size, known.End)
	}
	return &Reader{f: f, want: want, limit: size, known: known.Synced}, nil
}

// Next returns the next record and its offset. The payload is the reader's, until the next call. At the end of the file,
// be it sealed, torn or neither, it gives io.EOF itself; a place that was synced once and does not verify is a
// tablet.CorruptError. Every error stays.
func (r *Reader) Next() (payload []byte, offset int64, err error) {
	if r.err == nil && !r.started {
		r.started = true
		r.err = r.header()
	}
	if r.err != nil {
		return nil, r.off, r.err
	}
	offset = r.off
	payload, r.err = r.next()
	if r.err != nil {
		return nil, r.off, r.err
	}
	return payload, offset, nil
}

// End is how the file ended, once Next has given io.EOF.
func (r *Reader) End() End { return r.end }

// Synced is how many bytes are known to have been on stable storage, as far as the file was read.
func (r *Reader) Synced() int64 { return max(r.proven, r.known) }

// header checks the file's first bytes. A header of another file is like one that does not verify: a crash may leave the
// bytes of a removed file in place of those that were never synced.
func (r *Reader) header() error {
	if r.limit < headerBytes {
		return r.stop(r.limit > 0)
	}
	b, err := r.load(0, headerBytes)
	if err != nil {
		return err
	}
	got, ok := parseHeader(b)
	switch {
	case !ok || got.Number != r.want.Number:
		return r.stop(true)
	case got.Kind != r.want.Kind:
		return fmt.Errorf("%s: file is of kind %q, not %q: %w", r.f.Name(), got.Kind, r.want.Kind, tablet.ErrUnsupported)
	case got.Version != r.want.Version:
		return fmt.Errorf("%s: version %d of kind %q: %w", r.f.Name(), got.Version, got.Kind, tablet.ErrUnsupported)
	}
	r.off = headerBytes
	return nil
}

func (r *Reader) next() ([]byte, error) {
	left := r.limit - r.off
	if left < frameBytes {
		return nil, r.stop(left > 0)
	}
	b, err := r.load(r.off, frameBytes)
	if err != nil {
		return nil, err
	}
	h := parseHead(b)
	if !h.possible(r.off, r.limit) {
		return nil, r.stop(true)
	}
	payload, err := r.payload(h)
	switch {
	case err != nil:
		return nil, err
	case payload == nil:
		return nil, r.stop(true)
	}
	r.proven = max(r.proven, int64(h.synced))
	r.off += frameBytes + h.length
	if h.seal() {
		return nil, r.seal()
	}
	return payload, nil
}

// payload returns the verified payload of the frame at r.off; nil if it does not verify, empty but not nil in the seal.
// Memory for a long one is not taken before it verifies.
func (r *Reader) payload(h head) ([]byte, error) {
	n := int(frameBytes + h.length)
	if n > windowBytes && n > cap(r.window) {
		if ok, err := r.verifies(r.off, h); !ok || err != nil {
			return nil, err
		}
	}
	b, err := r.load(r.off, n)
	if err != nil {
		return nil, err
	}
	if crc32.Update(seed(r.want.Number, r.off), castagnoli, b[4:]) != h.sum {
		return nil, nil
	}
	return b[frameBytes:n:n], nil
}

// seal ends the reading behind the frame that ends the file.
func (r *Reader) seal() error {
	if r.off < r.limit {
		return tablet.Corruptf(r.f.Name(), r.off, "%d bytes behind the end of a sealed file", r.limit-r.off)
	}
	if r.off < r.known {
		return r.short()
	}
	r.end = End{Offset: r.off, Synced: r.Synced(), Sealed: true} // of the seal itself nothing says that it was synced
	return io.EOF
}

// stop ends the reading at r.off, where the file ends or, if torn, where bytes do not verify.
func (r *Reader) stop(torn bool) error {
	if r.off < r.known {
		if torn {
			return tablet.Corruptf(r.f.Name(), r.off, "record does not verify, and %d bytes were synced", r.known)
		}
		return r.short()
	}
	if torn {
		proof, found, err := r.proof()
		switch {
		case err != nil:
			return err
		case found:
			return tablet.Corruptf(r.f.Name(), r.off, "record does not verify, and was synced before the one at offset %d was written", proof)
		}
	}
	r.end = End{Offset: r.off, Synced: r.Synced(), Torn: torn}
	if torn {
		var err error
		if r.end.Marred, err = r.marred(); err != nil {
			return err
		}
	}
	return io.EOF
}

func (r *Reader) short() error {
	return tablet.Corruptf(r.f.Name(), r.off, "file ends here, and %d bytes were synced", r.known)
}

// load returns n bytes of the file at off, which has them, as a view of the window.
func (r *Reader) load(off int64, n int) ([]byte, error) {
	if at := off - r.windowAt; at >= 0 && at+int64(n) <= int64(len(r.window)) {
		return r.window[at : at+int64(n)], nil
	}
	fill := int(min(int64(max(n, windowBytes)), r.limit-off))
	if fill > cap(r.window) {
		r.window = make([]byte, fill)
	}
	r.window, r.windowAt = r.window[:fill], off
	if err := readFull(r.f, r.window, off); err != nil {
		r.window = r.window[:0]
		return nil, err
	}
	return r.window[:n], nil
}

// readFull fills p. An end of the file before that is an error: its length was asked for.
func readFull(f vfs.File, p []byte, off int64) error {
	n, err := f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF || err == nil {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %s at offset %d: %w", f.Name(), off+int64(n), err)
}
