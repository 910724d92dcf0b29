package protocol

import (
	"github.com/asynkron/protoactor-go/actor"

	"millrace/reader/scan"
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
//	session --SessionDone--> scans
//
// A session that dies without SessionDone is ended towards its client by scans.

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
