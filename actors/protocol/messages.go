package protocol

// Messages is a sample of every message, for tests that hold for all of them.
var Messages = []any{
	&Write{}, &Written{}, &Apply{}, &Applied{}, &Drain{}, &Drained{},
	&Bin{}, &EndBins{}, &WriteSet{}, &GiveUp{}, &LastTries{}, &LaneAgain{},
	&WantPermit{}, &Permit{}, &Release{}, &Holding{}, &SchedulerIs{}, &Continue{}, &Cancel{}, &JobDone{}, &Retry{},
	&FlushTable{}, &TableFlushed{}, &Flush{}, &Flushed{},
	&FlushUnlogged{}, &CompactTable{}, &TableCompacted{}, &Compact{}, &Compacted{},
	&ScanOpen{}, &ScanBatch{}, &Credit{}, &ScanEnd{}, &ScanClose{}, &SessionDone{}, &Idle{},
	&Append{}, &Appended{}, &SyncNow{}, &LogTick{}, &InFiles{}, &InFilesTaken{}, &FlushTablets{}, &TabletsAsked{}, &ReadLog{}, &LogRead{},
	&Record{}, &Recorded{}, &Heal{}, &Doubted{}, &GetState{}, &StateIs{},
	&AddSplits{}, &SplitsAdded{}, &Split{}, &SplitDone{}, &LaneClosed{}, &HoldOverdue{},
	&DeleteTable{}, &TableDeleted{}, &SetProperties{}, &PropertiesSet{}, &Configure{}, &Configured{},
	&CreateTable{}, &TableIs{}, &Replace{}, &GetStats{}, &Stats{}, &GetTabletStats{}, &TabletStats{}, &FreeFile{}, &WatchSpace{}, &SpaceIsBack{}, &MemoryIs{}, &MemorySeen{}, &FlushThese{}, &FlushMemory{}, &Hold{}, &MemoryTick{}, &BinnerIs{}, &CancelCompact{}, &StopTablets{}, &TabletsStopped{},
}
