package sim

import (
	"context"
	"iter"
	"time"

	"millrace/actors"
)

// Client is a user of the store beside others: a function that runs whenever the schedule lets it, and gives way wherever
// it waits. Only one of them, or the engine, runs at a time; what they share needs no lock.
type Client struct {
	Name string
	w    *World
	next func() (struct{}, bool)
	stop func()
	give func(struct{}) bool // hands control back to the loop; false when the client is to end
	done bool
}

// Go starts a client. It first runs when the world does: in Run, or while another waits. When the engine crashes, each of
// its waits ends with ErrCrashed, and it should return.
func (w *World) Go(name string, f func(c *Client)) *Client {
	c := &Client{Name: name, w: w}
	c.next, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.give = yield
		f(c)
	})
	w.clients = append(w.clients, c)
	l := w.loop
	l.waiting = append(l.waiting, &waiter{
		name: name, client: c, ctx: context.Background(), what: actors.Waiting{On: "its start"}, began: l.clock.Elapsed(), first: l.step,
		ready: func() bool { return true },
	})
	return c
}

// Run lets the world go on until every client has returned. Its error is a deadlock, or ErrCrashed.
func (w *World) Run() error {
	return w.loop.Wait(context.Background(), actors.Waiting{On: "the clients"}, func() bool {
		for _, c := range w.clients {
			if !c.done {
				return false
			}
		}
		return true
	})
}

// Pause lets others go first, as many as the schedule likes.
func (c *Client) Pause() error {
	return c.w.loop.Wait(context.Background(), actors.Waiting{On: "its turn"}, func() bool { return true })
}

// Sleep lets virtual time pass.
func (c *Client) Sleep(d time.Duration) error { return c.w.sleep(d) }

// Tick is a number that rises with every call, among all clients: for histories of what came before what.
func (w *World) Tick() int64 {
	w.ticks++
	return w.ticks
}

func (c *Client) wait(l *loop, w *waiter) error {
	if l.crashed {
		return ErrCrashed
	}
	l.waiting = append(l.waiting, w)
	if !c.give(struct{}{}) || l.crashed {
		return ErrCrashed
	}
	return w.err
}

// resume runs the client until its next wait, or its end.
func (c *Client) resume(l *loop) {
	outer := l.current
	l.current = &waiter{name: c.Name, client: c}
	defer func() { l.current = outer }()
	if _, more := c.next(); !more {
		c.done = true
	}
}

// end has the client return from its wait with ErrCrashed.
func (c *Client) end(l *loop) {
	if c.done {
		return
	}
	outer := l.current
	l.current = &waiter{name: c.Name, client: c}
	defer func() { l.current = outer }()
	c.stop()
	c.done = true
}
