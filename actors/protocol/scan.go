package protocol

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// The scan conversation. A client is an actor or an inbox; it reads one tablet a session.
//
//	client  --ScanOpen-->     scans    with a view; scans starts a session, its child, and tells it the same
//	session --ScanBatch-->    client   each costs one credit
//	client  --Credit-->       session  one for each page worked through, which it may give back
//	session --ScanEnd-->      client   exactly one, last, unless the client was first
//	client  --ScanClose-->    scans    always; scans stops the session
//	session --SessionDone-->  scans    if the client is not heard of any more
//
// A session that dies is ended towards its client by scans. None stops itself: its end is a system message and would
// overtake its last words.

// ScanOpen asks for a scan of one tablet. The answer is a stream, of a batch at least unless there is no entry.
type ScanOpen struct {
	Admitted
	Client *actor.PID
	Scan   uint64 // names the scan to the client, unique among its own
	View   View   // what is read; the session releases it
	Spec   scan.Spec
	Limits scan.Limits
	Credit int // batches that may be sent at once
}

// Refusal implements Answerable. No session was started, so the view is released here.
func (m *ScanOpen) Refusal(err error) (*actor.PID, any) {
	if m.View != nil {
		m.View.Release()
	}
	return m.Client, &ScanEnd{Scan: m.Scan, Err: err}
}

// Release implements Releaser.
func (m *ScanOpen) Release() { m.View.Release() }

// ScanBatch is the next page of a scan. The client owns it.
type ScanBatch struct {
	Scan    uint64
	Seq     int        // from 0
	Session *actor.PID // whom to send Credit
	Page    *scan.Page
}

// Credit lets a session send so many more batches. Pages are given back to be filled again.
type Credit struct {
	Scan    uint64
	Batches int
	Pages   []*scan.Page
}

// ScanEnd ends a scan. Err is nil when the batches were everything.
type ScanEnd struct {
	Scan uint64
	Err  error
}

// ScanClose ends a scan on its client's side. What still comes of it does not count.
type ScanClose struct {
	Admitted
	Client *actor.PID
	Scan   uint64
}

// SessionDone asks scans to stop a session whose client has gone.
type SessionDone struct {
	Client *actor.PID
	Scan   uint64
}

// Idle is the tick at which a session looks whether its client is still there.
type Idle struct{}

// View is a tablet at one moment: snapshots of its memtables and leases on its files. It is a live handle and never
// leaves the process.
type View interface {
	// Sources opens readers of everything, the newest first, with the cursors of a kit. They are valid until Release, and
	// are closed before it.
	Sources(k *scan.Kit, f tablet.Families) ([]iter.Source, error)
	// Release gives the view up. A second call does nothing.
	Release()
}
