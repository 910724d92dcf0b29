package actortest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"millrace/actors"
	"millrace/actors/protocol"
)

// Source is where expectations take messages from: a Probe or a Tap.
type Source interface{ source() *inlet }

// Probe is an actor that records what it gets and answers when it is told to.
type Probe struct {
	*inlet
	k   *Kit
	pid *actor.PID
}

// Tap is a copy of what another actor gets.
type Tap struct{ *inlet }

// Probe starts a probe.
func (k *Kit) Probe(name string) *Probe {
	k.t.Helper()
	p := &Probe{inlet: newInlet(k.t, name), k: k}
	pid, err := k.rt.Spawn(name, actors.Spec{Kind: "probe", Last: true, New: func() actor.Actor { return &probeActor{p} }})
	if err != nil {
		k.t.Fatal(err)
	}
	p.pid = pid
	k.tops = append(k.tops, pid)
	return p
}

// Tap starts copying what an actor gets.
func (k *Kit) Tap(pid *actor.PID) *Tap {
	t := &Tap{newInlet(k.t, "tap of "+pid.Id)}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.taps[pid.Id] = append(k.taps[pid.Id], t)
	return t
}

// PID is the probe's address.
func (p *Probe) PID() *actor.PID { return p.pid }

// Send sends a message with the probe as its sender.
func (p *Probe) Send(to *actor.PID, msg any) {
	p.k.rt.Send(to, &actor.MessageEnvelope{Message: msg, Sender: p.pid})
}

// Reply sends a message to the sender of the one that was taken last. Senders that named themselves in the message
// only are answered with Send.
func (p *Probe) Reply(msg any) {
	p.t.Helper()
	if p.sender == nil {
		p.t.Fatalf("probe %s: the last message had no sender", p.name)
	}
	p.Send(p.sender, msg)
}

// Grant gives a scan's session credit for so many batches.
func (p *Probe) Grant(session *actor.PID, scan uint64, batches int) {
	p.Send(session, &protocol.Credit{Scan: scan, Batches: batches})
}

// Spawn starts an actor as the probe's child: the probe gets what the child tells its parent, and its end.
func (p *Probe) Spawn(name string, s actors.Spec) *actor.PID {
	p.t.Helper()
	cmd := &spawnCommand{name: name, spec: s, done: make(chan struct{})}
	p.k.rt.Send(p.pid, cmd)
	<-cmd.done
	if cmd.err != nil {
		p.t.Fatal(cmd.err)
	}
	return cmd.pid
}

// ExpectTerminated waits for the end of an actor.
func (p *Probe) ExpectTerminated(pid *actor.PID) {
	p.t.Helper()
	if p.k.parentOf(pid) != p.pid.Id { // parents are told without asking, and would be told twice
		p.k.rt.Watch(p.pid, pid)
	}
	for {
		got, ok := p.take(patience)
		if !ok {
			p.t.Fatalf("probe %s: %s has not ended", p.name, pid.Id)
		}
		if m, is := got.msg.(*actor.Terminated); is && m.Who.Id == pid.Id {
			return
		}
	}
}

func (k *Kit) parentOf(pid *actor.PID) string {
	for i := len(pid.Id) - 1; i >= 0; i-- {
		if pid.Id[i] == '/' {
			return pid.Id[:i]
		}
	}
	return ""
}

type spawnCommand struct {
	name string
	spec actors.Spec
	pid  *actor.PID
	err  error
	done chan struct{}
}

type probeActor struct{ p *Probe }

func (a *probeActor) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
	case *actor.DeadLetterResponse: // the library's word to senders; the kit records dead letters itself
	case *spawnCommand:
		m.pid, m.err = a.p.k.rt.SpawnChild(c, m.name, m.spec)
		close(m.done)
	default:
		a.p.put(m, c.Sender())
	}
}

// inlet queues messages for a test's goroutine.
type inlet struct {
	t      testing.TB
	name   string
	sender *actor.PID // of the message taken last

	mu    sync.Mutex
	queue []received
	some  chan struct{} // one place: something was put
}

type received struct {
	msg    any
	sender *actor.PID
}

func newInlet(t testing.TB, name string) *inlet {
	return &inlet{t: t, name: name, some: make(chan struct{}, 1)}
}

func (in *inlet) source() *inlet { return in }

func (in *inlet) put(msg any, sender *actor.PID) {
	in.mu.Lock()
	in.queue = append(in.queue, received{msg, sender})
	in.mu.Unlock()
	select {
	case in.some <- struct{}{}:
	default:
	}
}

// take waits for the next message.
func (in *inlet) take(within time.Duration) (received, bool) {
	late := time.NewTimer(within)
	defer late.Stop()
	for {
		in.mu.Lock()
		if len(in.queue) > 0 {
			r := in.queue[0]
			in.queue = in.queue[1:]
			in.mu.Unlock()
			in.sender = r.sender
			return r, true
		}
		in.mu.Unlock()
		select {
		case <-in.some:
		case <-late.C:
			return received{}, false
		}
	}
}

// Pending is the number of messages that wait to be expected.
func (in *inlet) Pending() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.queue)
}

func (r received) String() string { return fmt.Sprintf("%T %+v", r.msg, r.msg) }
