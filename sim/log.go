package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"reflect"
	"strings"
	"time"
)

// event is one line of the log: at which step and virtual time who got or did what, and two small facts about it. It
// never holds an address, the machine's time or anything that depends on the order of a map.
type event struct {
	step uint64
	at   time.Duration
	who  string
	what string
	a, b int64
}

func (e event) String() string {
	return fmt.Sprintf("%8d %12v %-40s %s %d %d", e.step, e.at, e.who, e.what, e.a, e.b)
}

// eventsKept are the last events that a failure report shows.
const eventsKept = 64

// eventLog digests every event, keeps the last ones, and writes them all out if it is told to.
type eventLog struct {
	sum   hash.Hash
	buf   []byte
	last  [eventsKept]event
	n     uint64
	out   io.Writer // nil: none
	from  uint64    // first step that is written out
	names map[reflect.Type]string
}

func newEventLog(out io.Writer, from uint64) *eventLog {
	return &eventLog{sum: sha256.New(), out: out, from: from, names: make(map[reflect.Type]string)}
}

const logBuffer = 8 << 10

func (l *eventLog) add(e event) {
	l.last[l.n%eventsKept] = e
	l.n++
	b := binary.LittleEndian.AppendUint64(l.buf, e.step)
	b = binary.LittleEndian.AppendUint64(b, uint64(e.at))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.a))
	b = binary.LittleEndian.AppendUint64(b, uint64(e.b))
	b = append(append(b, e.who...), 0)
	l.buf = append(append(b, e.what...), 0)
	if len(l.buf) > logBuffer {
		l.flush()
	}
	if l.out != nil && e.step >= l.from {
		fmt.Fprintln(l.out, e)
	}
}

func (l *eventLog) flush() {
	l.sum.Write(l.buf)
	l.buf = l.buf[:0]
}

// digest is a fingerprint of all events so far.
func (l *eventLog) digest() string {
	l.flush()
	return hex.EncodeToString(l.sum.Sum(nil)[:16])
}

// tail is the last events, the oldest first, one a line.
func (l *eventLog) tail() string {
	var b strings.Builder
	first := uint64(0)
	if l.n > eventsKept {
		first = l.n - eventsKept
	}
	for i := first; i < l.n; i++ {
		fmt.Fprintln(&b, l.last[i%eventsKept])
	}
	return b.String()
}

// typeName is a message's type as the log shows it.
func (l *eventLog) typeName(msg any) string {
	t := reflect.TypeOf(msg)
	name, ok := l.names[t]
	if !ok {
		name = strings.TrimPrefix(fmt.Sprint(t), "*protocol.")
		l.names[t] = name
	}
	return name
}
