package parallel

import (
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

// Compressor is for rfile.WriterOptions.Behind: one goroutine, and up to Window blocks on their way. Close must follow,
// whatever becomes of the writer.
type Compressor struct {
	work   chan []byte
	done   chan compressed
	spare  [][]byte // raw buffers that came back
	stored []byte   // what Get returned last
	free   chan []byte
	ended  chan struct{}
}

type compressed struct {
	raw, stored []byte
	err         error
}

var _ rfile.BlockCompressor = (*Compressor)(nil)

// Start starts the goroutine.
func (c *Compressor) Start(codec string, level int) error {
	press, err := bcfile.NewCompressor(codec, level)
	if err != nil {
		return err
	}
	c.work, c.done = make(chan []byte, Window), make(chan compressed, Window)
	c.free, c.ended = make(chan []byte, Window+1), make(chan struct{})
	go c.run(press)
	return nil
}

// Window is how many blocks may be on their way.
func (c *Compressor) Window() int { return Window }

// Put takes over a block.
func (c *Compressor) Put(raw []byte) []byte {
	c.work <- raw
	n := len(c.spare)
	if n == 0 {
		return nil
	}
	raw, c.spare = c.spare[n-1], c.spare[:n-1]
	return raw
}

// Get waits for the oldest block.
func (c *Compressor) Get() ([]byte, error) {
	if c.stored != nil {
		c.free <- c.stored
	}
	b := <-c.done
	c.spare, c.stored = append(c.spare, b.raw), b.stored
	return b.stored, b.err
}

// Close ends the goroutine and drops the blocks on their way. A Compressor that was never started needs none.
func (c *Compressor) Close() {
	if c.work == nil {
		return
	}
	close(c.work)
	<-c.ended
	*c = Compressor{}
}

func (c *Compressor) run(press bcfile.Compressor) {
	defer close(c.ended)
	for raw := range c.work {
		var buf []byte
		select {
		case buf = <-c.free:
		default: // the first few
		}
		stored, err := press.Compress(buf[:0], raw)
		c.done <- compressed{raw, stored, err} // has room for all that are on their way
	}
	press.Close() // after the last block nothing of it is of use, its error least
}
