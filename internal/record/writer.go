package record

import (
	"fmt"

	"millrace/internal/invariant"
	"millrace/internal/vfs"
	"millrace/tablet"
)

// Writer appends records to a new file. After an error of Write, Sync or Seal it does nothing any more and gives that error
// again: what the file holds is unknown then, and a new file is begun.
type Writer struct {
	f      vfs.File
	number uint64

	buf    []byte // appended and not handed over; its first byte stands at size - len(buf)
	size   int64
	synced int64
	sealed bool
	err    error
}

// keptBytes bounds the buffer that is kept for the next records.
const keptBytes = 4 << 20

// NewWriter begins a file that vfs.FS.Create gave. The header waits to be written with the first records. The writer does
// not close the file.
func NewWriter(f vfs.File, h Header) *Writer {
	invariant.Check(len(h.Kind) == 4, "record: kind %q has not four letters", h.Kind)
	return &Writer{f: f, number: h.Number, buf: appendHeader(nil, h), size: headerBytes}
}

// Append adds a record and returns its offset in the file. The payload is copied; it has 1 to MaxPayload bytes. Nothing
// is written yet. A payload of another length is an ErrUsage, and the writer goes on.
func (w *Writer) Append(payload []byte) (offset int64, err error) {
	switch {
	case w.err != nil:
		return 0, w.err
	case w.sealed:
		return 0, fmt.Errorf("append to %s: sealed: %w", w.f.Name(), tablet.ErrClosed)
	case len(payload) == 0 || int64(len(payload)) > MaxPayload:
		return 0, fmt.Errorf("append to %s: record of %d bytes, must be 1 to %d: %w", w.f.Name(), len(payload), int64(MaxPayload), tablet.ErrUsage)
	}
	return w.frame(payload), nil
}

func (w *Writer) frame(payload []byte) (offset int64) {
	offset = w.size
	w.buf = appendFrame(w.buf, w.number, offset, w.synced, payload)
	w.size += frameBytes + int64(len(payload))
	return offset
}

// Write hands all records to the operating system, in one call: they outlive the process then.
func (w *Writer) Write() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	_, w.err = w.f.Write(w.buf)
	w.buf = w.buf[:0]
	if cap(w.buf) > keptBytes {
		w.buf = nil
	}
	return w.err
}

// Sync writes all records and puts them on stable storage: they outlive a power cut then, if the file's name does.
func (w *Writer) Sync() error {
	if err := w.Write(); err != nil || w.synced == w.size {
		return err
	}
	if w.err = w.f.Sync(); w.err == nil {
		w.synced = w.size
	}
	return w.err
}

// Seal syncs, adds the frame that ends the file, and syncs that. A sealed file has no torn tail: every damage shows.
func (w *Writer) Seal() error {
	if w.sealed {
		return w.err
	}
	if err := w.Sync(); err != nil {
		return err
	}
	w.frame(nil)
	w.sealed = true
	return w.Sync()
}

// Size is the file's length once all is written.
func (w *Writer) Size() int64 { return w.size }

// Synced is how many bytes of the file are on stable storage. It does not change any more after an error.
func (w *Writer) Synced() int64 { return w.synced }

// Buffered is how many bytes wait to be written.
func (w *Writer) Buffered() int { return len(w.buf) }
