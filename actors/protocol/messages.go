package protocol

// Messages is a sample of every message, for tests that hold for all of them.
var Messages = []any{
	&Write{}, &Written{}, &Apply{}, &Applied{}, &Drain{}, &Drained{},
	&WantPermit{}, &Permit{}, &Release{}, &Holding{}, &SchedulerIs{}, &Continue{}, &Cancel{}, &JobDone{}, &Retry{},
	&FlushTable{}, &TableFlushed{}, &Flush{}, &Flushed{},
	&CompactTable{}, &TableCompacted{}, &Compact{}, &Compacted{},
	&ScanOpen{}, &ScanBatch{}, &Credit{}, &ScanEnd{}, &ScanClose{}, &SessionDone{}, &Idle{},
	&CreateTable{}, &TableIs{}, &Replace{}, &GetStats{}, &Stats{}, &GetTabletStats{}, &TabletStats{}, &FreeFile{}, &MemoryIs{}, &FlushMemory{}, &Hold{}, &MemoryTick{}, &BinnerIs{}, &CancelCompact{}, &StopTablets{}, &TabletsStopped{},
}
