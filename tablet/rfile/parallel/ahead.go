package parallel

import (
	"context"
	"errors"

	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

// Window is how many blocks are read ahead of a cursor, and how many may wait to be compressed behind a writer. With
// the one in use that makes three buffers.
const Window = 2

// Ahead is for rfile.CursorOptions.Ahead. One goroutine walks the group's index from the first block asked for, and
// keeps up to Window blocks ready, decompressed.
func Ahead(r *rfile.Reader, g *rfile.Group) rfile.BlockAhead {
	return &ahead{r: r, g: g, direct: r.Container().NewBlockReader(), buffers: make([][]byte, Window+1)}
}

type ahead struct {
	r       *rfile.Reader
	g       *rfile.Group
	direct  *bcfile.BlockReader // for what the walk does not give
	buffers [][]byte            // while no walk runs; a walk has them in free, in ready and in used
	walk    *walk
	used    []byte // what Read returned last, of the walk
}

// walk is one run of the goroutine.
type walk struct {
	ready chan block // closed by the goroutine at its end
	free  chan []byte
	stop  chan struct{}
}

// block is one that was read, or the error that reading it gave.
type block struct {
	region bcfile.Region
	raw    []byte
	err    error
}

// errStopped ends a walk; nobody sees it.
var errStopped = errors.New("stopped")

// Read returns what the goroutine has read. A region that is not the next one, as after a seek, begins another walk
// there. Where the walk fails, the index is damaged or the group ends; the caller, who walks the same index, meets that
// itself.
func (a *ahead) Read(region bcfile.Region) ([]byte, error) {
	if a.walk == nil {
		a.start(region)
	} else {
		a.giveBack()
	}
	b, ok := <-a.walk.ready
	if ok && b.region != region {
		a.buffers = append(a.buffers, b.raw)
		a.end()
		a.start(region)
		b, ok = <-a.walk.ready
	}
	if !ok {
		a.end()
		return a.direct.Read(region)
	}
	a.used = b.raw
	return b.raw, b.err
}

// giveBack lets the goroutine use the buffer of the block read last.
func (a *ahead) giveBack() {
	if a.used != nil {
		a.walk.free <- a.used[:0]
		a.used = nil
	}
}

// start begins a walk at a region.
func (a *ahead) start(from bcfile.Region) {
	w := &walk{ready: make(chan block, Window), free: make(chan []byte, Window+1), stop: make(chan struct{})}
	for _, b := range a.buffers {
		w.free <- b
	}
	a.buffers, a.walk = a.buffers[:0], w
	go w.run(a.r, a.g, from)
}

// end stops the walk and collects its buffers.
func (a *ahead) end() {
	if a.walk == nil {
		return
	}
	close(a.walk.stop)
	for b := range a.walk.ready {
		a.buffers = append(a.buffers, b.raw)
	}
	close(a.walk.free)
	for b := range a.walk.free {
		a.buffers = append(a.buffers, b)
	}
	if a.used != nil {
		a.buffers = append(a.buffers, a.used)
	}
	for len(a.buffers) < Window+1 {
		a.buffers = append(a.buffers, nil)
	}
	a.walk, a.used = nil, nil
}

// Close ends the goroutine. The ahead may be used again.
func (a *ahead) Close() {
	a.end()
	clear(a.buffers)
	a.direct.Close()
}

// run reads block after block, from a region on.
func (w *walk) run(r *rfile.Reader, g *rfile.Group, from bcfile.Region) {
	defer close(w.ready)
	blocks := r.Container().NewBlockReader()
	defer blocks.Close()
	begun := false
	// What the walk finds wrong with the index is for the cursor to tell, when it comes there.
	_ = r.Walk(context.Background(), g, rfile.Visitor{Leaf: func(l rfile.LeafInfo) error {
		if begun = begun || l.Region == from; !begun {
			return w.stopped()
		}
		select {
		case buf := <-w.free:
			raw, err := blocks.AppendTo(buf[:0], l.Region)
			w.ready <- block{l.Region, raw, err} // has room for all but the buffer in use
			return err
		case <-w.stop:
			return errStopped
		}
	}})
}

// stopped is errStopped once the walk is to end.
func (w *walk) stopped() error {
	select {
	case <-w.stop:
		return errStopped
	default:
		return nil
	}
}
