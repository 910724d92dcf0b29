package iter

// singleOrder passes the whole batches of at most one source on: their codes are already right.
type singleOrder struct{}

func (singleOrder) start(*Merge) {}

func (singleOrder) fill(m *Merge, out []Run) int {
	if len(m.cursors) == 0 || m.cursors[0].batch == nil {
		return 0
	}
	return m.emitRest(out, 0, 0)
}

func (singleOrder) refilled(*Merge, uint16) {}
