package sim

import "millrace/actors/protocol"

// facts are what the log tells of a message beside its type, so that two runs which differ in what they do differ in
// their digests at once, and not only when it changes who gets what.
func facts(msg any) (a, b int64) {
	switch m := msg.(type) {
	case *protocol.Write:
		return int64(len(m.Mutations)), 0
	case *protocol.Apply:
		return int64(m.Batch), int64(len(m.Mutations))
	case *protocol.Applied:
		return int64(m.Batch), bit(m.Err != nil)
	case *protocol.WantPermit:
		return int64(m.Job), m.Bytes
	case *protocol.Permit:
		return int64(m.Job), 0
	case *protocol.JobDone:
		if m.Err != nil {
			return int64(m.Job), -1
		}
		return int64(m.Job), int64(m.Output.CRC)<<16 ^ m.Output.Bytes
	case *protocol.ScanBatch:
		return int64(m.Seq), int64(m.Page.Len())
	case *protocol.ScanEnd:
		return int64(m.Scan), bit(m.Err != nil)
	case *protocol.MemoryIs:
		return m.Active, m.Flushing
	}
	return 0, 0
}

func bit(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
