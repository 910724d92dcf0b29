package protocol

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/reader/scan"
	"millrace/tablet"
	"millrace/tablet/iter"
)

// The scan conversation. A client is an actor or an inbox; it reads one tablet a session.
//
//	client  --ScanOpen-->    scans    which starts a session, its child, and tells it the same
//	session --WantView-->    tablet
//	tablet  --ViewIs-->      session  with leases on the files
//	session --ScanBatch-->   client   each costs one credit
//	client  --Credit-->      session  one for each page worked through, which it may give back
//	session --ScanEnd-->     client   exactly one, last; a client that sends ScanClose gets none
//	client  --ScanClose-->   session  or scans, if no batch has told the session's address yet
//	session --SessionDone--> scans    which stops the session
//
// A session that dies without SessionDone is ended towards its client by scans. It must not stop itself: its end is a
// system message and would overtake SessionDone.

// ScanOpen asks for a scan of one tablet. The answer is a stream, of a batch at least unless there is no entry.
type ScanOpen struct {
	Client *actor.PID
	Scan   uint64 // names the scan to the client, unique among its own
	Tablet *actor.PID
	Spec   scan.Spec
	Limits scan.Limits
	Credit int // batches that may be sent at once
}

// Refusal implements Answerable.
func (m *ScanOpen) Refusal(err error) (*actor.PID, any) {
	return m.Client, &ScanEnd{Scan: m.Scan, Err: err}
}

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

// ScanClose gives a scan up. No batch counts afterwards.
type ScanClose struct {
	Client *actor.PID
	Scan   uint64
}

// SessionDone tells scans that a session has ended in order.
type SessionDone struct {
	Client *actor.PID
	Scan   uint64
}

// Idle is the tick at which a session looks whether its client is still there.
type Idle struct{}

// WantView asks a tablet for what it holds now.
type WantView struct {
	From    *actor.PID
	Request uint64
}

// Refusal implements Answerable.
func (m *WantView) Refusal(err error) (*actor.PID, any) {
	return m.From, &ViewIs{Request: m.Request, Err: err}
}

// ViewIs answers WantView. The receiver releases the view.
type ViewIs struct {
	Request uint64
	View    View
	Err     error
}

// Release implements Releaser.
func (m *ViewIs) Release() {
	if m.View != nil {
		m.View.Release()
	}
}

// View is a tablet at one moment: snapshots of its memtables and leases on its files. It is a live handle and never
// leaves the process.
type View interface {
	// Sources opens readers of everything, the newest first. They are valid until Release, and are closed before it.
	Sources(f tablet.Families) ([]iter.Source, error)
	Release()
}
