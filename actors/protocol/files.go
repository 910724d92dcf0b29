package protocol

// The files conversation:
//
//	whoever ends a lease  --FreeFile-->  files   closes an idle file, removes an obsolete one
//	engine                --Drain-->     files   answers when all that was named before is done

// FreeFile names a file that nobody holds.
type FreeFile struct {
	Number uint64
	// Tries counts those that failed.
	Tries int
}
