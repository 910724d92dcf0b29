package hosted

import (
	"fmt"
	"slices"

	"millrace/internal/invariant"
	"millrace/tablet"
)

// Job is a major compaction to run.
type Job struct {
	ID     uint64            // unique in this load of the tablet
	User   bool              // it serves a wish, see SelectAll
	Reason string            // why the planner chose these files, for people
	Inputs []tablet.FileMeta // newest first
	Ages   tablet.AgeRange   // of the output
	// Full says that nothing older than the inputs can exist: delete markers, and all they hide, may go.
	Full bool
	// Planned is how many of the inputs the planner chose; the others complete the run of ages.
	Planned int

	wish   uint64 // the wish that it serves
	covers bool   // all that the wish has yet to cover
}

// Bytes is what the job reads.
func (j *Job) Bytes() (n int64) {
	for i := range j.Inputs {
		n += j.Inputs[i].Bytes
	}
	return n
}

// SelectAll wishes for a compaction of all files that the tablet has now, by as many jobs as it takes. It returns how many
// they are: with none there is nothing to do. A wish during another begins anew: what jobs under way will write is compacted
// once more.
func (t *Tablet) SelectAll() int {
	t.wish++
	t.partial = false
	for _, f := range t.files {
		t.selected[f.meta.Number] = true
	}
	return len(t.selected)
}

// SelectFiles is SelectAll for the files of some numbers, of which the tablet need not have all. Whatever their run of ages
// demands is compacted with them. Only if that is everything the job is full.
func (t *Tablet) SelectFiles(numbers []uint64) int {
	t.wish++
	t.partial = true
	clear(t.selected)
	for _, f := range t.files {
		if slices.Contains(numbers, f.meta.Number) {
			t.selected[f.meta.Number] = true
		}
	}
	return len(t.selected)
}

// Selected is how many files the wish has yet to cover. It is fulfilled when there are none.
func (t *Tablet) Selected() int { return len(t.selected) }

// Deselect takes the wish back. A job under way goes on.
func (t *Tablet) Deselect() { clear(t.selected) }

// NextJob is the compaction that is due, if any; its inputs are set apart for it. A user's comes first. The job ends in
// Swap or Cancel.
func (t *Tablet) NextJob() (Job, bool) {
	if len(t.selected) > 0 {
		if j, ok := t.start(true); ok {
			return j, true
		}
	}
	return t.start(false)
}

// start asks the planner and widens its answer. If that takes in a file that is in use, or reaches across an import or a
// job under way, there is no job for now.
func (t *Tablet) start(user bool) (Job, bool) {
	planned, reason := t.opts.Planner.Next(t.situation(user))
	if len(planned) == 0 {
		return Job{}, false
	}
	w := newWidening(t.files)
	for _, number := range planned {
		invariant.That(w.choose(number), "the planner chose a file that the tablet does not have")
	}
	w.widen()
	if t.reaches(w.ages) {
		return Job{}, false
	}
	inputs := w.chosen()
	covered := 0
	for _, f := range inputs {
		selected := t.selected[f.meta.Number]
		if t.busy(f.meta.Number) || selected && !user {
			return Job{}, false
		}
		if selected {
			covered++
		}
	}
	if t.crosses(w) {
		return Job{}, false
	}
	if user && len(inputs) == 1 && covered < len(t.selected) {
		return Job{}, false // by itself it would only be written again, and again, until the others are free
	}
	t.nextJob++
	j := &Job{ID: t.nextJob, wish: t.wish, User: user, Reason: reason, Inputs: metasOf(inputs), Ages: w.ages, Planned: len(planned)}
	j.covers = user && covered == len(t.selected)
	// Files that came after a user's selection are newer than all of it.
	j.Full = len(inputs) == len(t.files) || j.covers && !t.partial
	t.jobs = append(t.jobs, j)
	return *j, true
}

// busy says whether a flush or job under way reads the file.
func (t *Tablet) busy(number uint64) bool {
	return t.jobOf(number) != nil || t.flush != nil && slices.Contains(numbersOf(t.flush.Merge), number)
}

func (t *Tablet) jobOf(number uint64) *Job {
	for _, j := range t.jobs {
		if slices.Contains(numbersOf(j.Inputs), number) {
			return j
		}
	}
	return nil
}

// Jobs is how many jobs are under way.
func (t *Tablet) Jobs() int { return len(t.jobs) }

// Cancel ends a job without a result; its inputs are free again. An unknown job is an ErrUnknown.
func (t *Tablet) Cancel(id uint64) error {
	i := slices.IndexFunc(t.jobs, func(j *Job) bool { return j.ID == id })
	if i < 0 {
		return fmt.Errorf("hosted: cancel job %d: %w", id, ErrUnknown)
	}
	t.jobs = slices.Delete(t.jobs, i, i+1)
	return nil
}

// CheckSwap says whether Swap would succeed: to be asked before the change is recorded.
func (t *Tablet) CheckSwap(inputs []uint64, output *tablet.FileMeta) error {
	_, err := t.checkSwap(inputs, output)
	return err
}

// checkSwap also returns the job that the inputs belong to.
func (t *Tablet) checkSwap(inputs []uint64, output *tablet.FileMeta) (*Job, error) {
	if len(inputs) == 0 {
		return nil, fmt.Errorf("hosted: swap of no files: %w", ErrUnknown)
	}
	for _, n := range inputs {
		if t.find(n) == nil {
			return nil, fmt.Errorf("hosted: swap file %d: %w", n, ErrUnknown)
		}
	}
	j := t.jobOf(inputs[0])
	if j == nil || !sameNumbers(inputs, numbersOf(j.Inputs)) {
		return nil, fmt.Errorf("hosted: swap files %v: no job has these inputs: %w", inputs, ErrUnknown)
	}
	return j, t.checkOutput(output, j.Ages)
}

func sameNumbers(a, b []uint64) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// Swap replaces the inputs of a job under way, all of them in any order, by its output: nil if nothing was written. The
// output's ages are the job's. The inputs are obsolete once the last view that has them is released.
func (t *Tablet) Swap(inputs []uint64, output *tablet.FileMeta) error {
	j, err := t.checkSwap(inputs, output)
	if err != nil {
		return err
	}
	t.jobs = slices.DeleteFunc(t.jobs, func(other *Job) bool { return other == j })
	t.replace(inputs, output)
	if j.covers && j.wish == t.wish && output != nil {
		delete(t.selected, output.Number)
	}
	return nil
}
