package protocol

// The files conversation:
//
//	whoever ends a lease  --FreeFile-->  files   closes an idle file, removes an obsolete one
//	engine                --Drain-->     files   answers when all that was named before is done
//	whoever finds no space  --WatchSpace-->  files   which looks a few times a second until there is some
//	files                 --SpaceIsBack-->  engine  which has everybody try again

// WatchSpace has the files actor look for space on a full disk.
type WatchSpace struct{ Again bool }

// SpaceIsBack says that what found no space may be tried again.
type SpaceIsBack struct{}

// FreeFile names a file that nobody holds.
type FreeFile struct {
	Number uint64
	// Tries counts those that failed.
	Tries int
}
