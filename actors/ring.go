package actors

// ring is a first-in first-out queue of messages. The zero value is empty and ready.
type ring struct {
	buf  []any // its length is a power of two, or 0
	head int   // index of the oldest message
	n    int
}

const (
	ringFirst = 8
	// ringKeep is the largest buffer that survives an empty queue: 1024 messages, 16 KiB. A larger one is the trace of
	// a flood and would otherwise stay for the actor's life.
	ringKeep = 1024
)

func (r *ring) push(msg any) {
	if r.n == len(r.buf) {
		r.grow()
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = msg
	r.n++
}

func (r *ring) pop() any {
	msg := r.buf[r.head]
	r.buf[r.head] = nil
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	if r.n == 0 && len(r.buf) > ringKeep {
		r.buf, r.head = nil, 0
	}
	return msg
}

func (r *ring) grow() {
	next := make([]any, max(ringFirst, 2*len(r.buf)))
	n := copy(next, r.buf[r.head:])
	copy(next[n:], r.buf[:r.head])
	r.buf, r.head = next, 0
}
