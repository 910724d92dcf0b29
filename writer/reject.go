package writer

import (
	"fmt"

	"millrace/tablet"
)

// errFailed is for whoever waits for memory when a mutation has failed.
var errFailed = fmt.Errorf("batch writer has failed")

// reject notes failures. From the first on nothing is added any more.
func (w *BatchWriter) reject(mutations []*tablet.Mutation, e tablet.Extent, err error, unknown bool) {
	w.rejecting.Lock()
	var all []Failure
	if old := w.failed.Load(); old != nil {
		all = old.Failed
	}
	for _, m := range mutations {
		all = append(all, Failure{Mutation: m, Extent: e, Err: err, Unknown: unknown})
	}
	w.failed.Store(&RejectedError{Failed: all}) // older ones see the front of the same array
	w.rejecting.Unlock()
	w.counters.failed.Add(int64(len(mutations)))
	w.memory.turnAway(errFailed)
}

// rejection is the error that names what has failed; nil if nothing has.
func (w *BatchWriter) rejection() error {
	if failed := w.failed.Load(); failed != nil {
		return failed
	}
	return nil
}
