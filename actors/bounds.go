package actors

import (
	"millrace/actors/protocol"
	"millrace/tablet"
)

// A mailbox takes whatever is sent to it. How much that can be is bounded by who sends: they have a window of credits, or
// one message at a time that must be answered before the next, or they are callers and were admitted. The functions here
// add up, for each kind of actor, what all its senders may have on their way to it. Tests of the store and the simulator
// hold every mailbox against its sum; a new message needs a term here, and somebody who bounds it.

// requestsMost bounds what a store's engine is asked at once, as creating, flushing or compacting a table: whoever asks more
// waits, with a context, until something is answered. So it bounds what waits for the engine, and what that asks of tablets.
const requestsMost = 256

// scanMessagesMost bounds the messages of scanners that begin and end scans and that nobody has looked at yet.
const scanMessagesMost = 1024

// pendingMost bounds the batches that a tablet works on: the window of the binner, and that of one which has failed.
const pendingMost = 2 * protocol.ApplyWindow

// jobsMost bounds the compactions that a tablet has wished for or runs.
const jobsMost = 16

// others is room for what comes one at a time and rarely: timers, of which one that was taken back may still wait beside
// the next; introductions of what was replaced; the end.
const others = 16

// permitsMost is how many jobs may run: as many as there are permits, and as many again that were given before a scheduler
// was replaced and that the next one has not heard of.
func (k *core) permitsMost() int { return 2 * (k.server.MinorMax + k.server.MajorMax) }

// bounds are the sums, by kind. What is not here has its bound where it is spawned: jobs, sessions of scans, workers of
// batch writers.
var bounds = map[string]func(k *core, n Census) int{
	// Requests, and what takes back those that can be; answers of each tablet to each request; what tablets, the log and
	// the manifest say when tablets are split and replaced.
	"engine": func(_ *core, n Census) int {
		return 2*requestsMost + (requestsMost+4)*n.Most("tablet") + others
	},
	// A report of memory that is answered, and a wish and a release for each job.
	"scheduler": func(_ *core, n Census) int { return (2+2*jobsMost)*n.Most("tablet") + others },
	// Admitted writes; sets of batch writers, and the end of each; a window of answers of each tablet, and a timer; and
	// one message for each state of a table, of which there is one for each tablet or request.
	"binner": func(k *core, n Census) int {
		sets := 2 * k.writerBytes.Load() / int64(tablet.NewMutation(nil).EstimatedMemory())
		return int(k.server.QueueBytes/writeBytes+sets) + (pendingMost+1)*n.Most("tablet") + n.Ever("tablet") + requestsMost + others
	},
	// One message for each file that is named to be closed or removed.
	"files": func(k *core, _ Census) int { return int(k.files.most.Load()) + others },
	// Messages of scanners, which are admitted, and the end of each session.
	"scans": func(_ *core, n Census) int { return scanMessagesMost + n.Most("scan") + others },
	// What tablets have pending, and one that is to be replaced. The manifest's word is answered, and the engine's waited
	// for.
	"log": func(_ *core, n Census) int { return (pendingMost+1)*n.Most("tablet") + others },
	// A record for each job that runs, and for each request; and what is asked and said of tablets that have failed.
	"manifest": func(k *core, n Census) int {
		return k.permitsMost() + requestsMost + (jobsMost+1)*n.Most("tablet") + others
	},
	// Batches and what the log says of them; one message at a time for each job that runs; requests, and what takes them
	// back.
	"tablet": func(k *core, _ Census) int { return pendingMost + k.permitsMost() + 2*requestsMost + others },
}

// spec is an actor of a kind in the table.
func (k *core) spec(s Spec) Spec {
	if bound := bounds[s.Kind]; bound != nil {
		s.BoundNow = func(n Census) int { return bound(k, n) }
	}
	return s
}
