package plan

import "millrace/tablet"

// Policy is a profile with its options, asked in terms of tablet.FileMeta: the form in which a hosted tablet asks, which
// declares the interface and knows nothing of this package.
type Policy struct {
	Profile Profile
	Options Options
}

// Situation is a Tablet in terms of tablet.FileMeta. It has no name of its own, so that others can declare the same type.
type Situation = struct {
	User    bool              // somebody wishes for all Files to be compacted
	Files   []tablet.FileMeta // all that may be compacted, those of running compactions among them
	Held    int               // how many more the tablet has
	Running []struct {
		User   bool
		Inputs []tablet.FileMeta
	}
}

// Next names the files to compact next, none if nothing is due, and says why these.
func (p Policy) Next(s Situation) (numbers []uint64, reason string) {
	next, ok := Next(p.Profile, tabletOf(s), p.Options)
	if !ok {
		return nil, ""
	}
	for _, f := range next.Inputs {
		numbers = append(numbers, f.Number)
	}
	return numbers, next.Explain()
}

// TakeAlong is the file that a flush merges with the memtable, if any.
func (p Policy) TakeAlong(s Situation) (number uint64, ok bool) {
	f, ok := MergeMinor(p.Profile, tabletOf(s), p.Options)
	return f.Number, ok
}

// Validate names the first bad option. The error is an ErrUsage.
func (p Policy) Validate() error { return p.Options.Validate() }

func tabletOf(s Situation) Tablet {
	t := Tablet{Files: filesOf(s.Files), Held: s.Held}
	if s.User {
		t.Kind = User
	}
	for _, r := range s.Running {
		running := Running{Inputs: filesOf(r.Inputs)}
		if r.User {
			running.Kind = User
		}
		t.Running = append(t.Running, running)
	}
	return t
}

func filesOf(metas []tablet.FileMeta) []File {
	files := make([]File, len(metas))
	for i := range metas {
		files[i] = File{Number: metas[i].Number, Name: metas[i].Name, Bytes: metas[i].Bytes}
	}
	return files
}
