package hosted

import "millrace/tablet"

// Planner chooses the files to compact. It is policy, and declared here so that this package holds none;
// compactor/plan.Policy is one.
type Planner interface {
	// Next names the files to compact next, none if nothing is due, and says why these.
	Next(s Situation) (numbers []uint64, reason string)
	// TakeAlong is the file that a flush merges with the memtable, if any.
	TakeAlong(s Situation) (number uint64, ok bool)
	// Validate names the first setting that is wrong.
	Validate() error
}

// Situation is a tablet as its planner sees it. It has no name of its own, so that planners need not know this package.
type Situation = struct {
	User    bool              // somebody wishes for all Files to be compacted
	Files   []tablet.FileMeta // all that may be compacted, those of running compactions among them
	Held    int               // how many more the tablet has
	Running []struct {
		User   bool
		Inputs []tablet.FileMeta
	}
}

// noPlan never finds anything due.
type noPlan struct{}

func (noPlan) Next(Situation) ([]uint64, string)  { return nil, "" }
func (noPlan) TakeAlong(Situation) (uint64, bool) { return 0, false }
func (noPlan) Validate() error                    { return nil }

// situation is the tablet for a user's compaction, to which the selected files are all there is, or for a system's, for
// which they are held back.
func (t *Tablet) situation(user bool) Situation {
	s := Situation{User: user}
	for _, f := range t.files {
		switch {
		case t.selected[f.meta.Number] == user:
			s.Files = append(s.Files, f.meta)
		case !user:
			s.Held++
		}
	}
	add := func(user bool, inputs []tablet.FileMeta) {
		s.Running = append(s.Running, struct {
			User   bool
			Inputs []tablet.FileMeta
		}{user, inputs})
	}
	for _, j := range t.jobs {
		add(j.User, j.Inputs)
	}
	if t.flush != nil && len(t.flush.Merge) > 0 { // to the planner this is a compaction as well
		add(false, t.flush.Merge)
	}
	return s
}
