package hosted

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"millrace/compactor/plan"
	"millrace/tablet"
)

// TestHosted runs testdata/hosted/*. Rewrite with: go test ./tablet/hosted -rewrite
//
//	load      [prev=] [end=] [profile=] [time=logical] [ratio= open= max=] [clock=]   files as N ages=1-2 rows=a-c ts=1-5 bytes=10
//	prepare   as=NAME now=MS               mutations, one a line: row then updates as family:qualifier[:label][@ts], ! in front deletes
//	commit, abort NAME                     what was prepared
//	write     now=MS                       prepare and commit
//	freeze, flush, fail                    set memory aside; the flush that is due; it failed
//	install   age= number= [bytes=] [ages=] [none]
//	select, deselect, job, cancel id=      a user's wish; the job that is due; give it up
//	swap      inputs=(1,2) number= [bytes=] [ages=] [none]
//	reserve, giveback                      an age for an import
//	import    [late]                       files as for load, with ages set apart now; late: by reserve or a failed import before
//	view, hold as=NAME, release NAME       what readers see; keep it; let it go
//	obsolete, state, split row=
func TestHosted(t *testing.T) {
	datadriven.Walk(t, "testdata/hosted", func(t *testing.T, path string) {
		s := &script{prepared: map[string]*Prepared{}, views: map[string]*View{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			if err := s.run(t, d, &b); err != nil {
				return err.Error()
			}
			if b.Len() == 0 {
				return "ok"
			}
			return b.String()
		})
	})
}

type script struct {
	tab      *Tablet
	prepared map[string]*Prepared
	views    map[string]*View
	ages     tablet.AgeRange // set apart last
}

func (s *script) run(t *testing.T, d *datadriven.TestData, out *strings.Builder) error {
	switch d.Cmd {
	case "load":
		return s.load(t, d)
	case "prepare", "write":
		return s.write(t, d, out)
	case "commit":
		s.tab.Commit(s.prepared[d.CmdArgs[0].Key])
	case "abort":
		s.tab.Abort(s.prepared[d.CmdArgs[0].Key])
	case "freeze":
		f, ok := s.tab.Freeze()
		writeFrozen(out, f, ok)
	case "flush":
		f, ok := s.tab.NextFlush()
		writeFrozen(out, f.Frozen, ok)
		if ok {
			fmt.Fprintf(out, "output ages=%d-%d, taking along %s\n", f.Ages.Oldest, f.Ages.Newest, numbers(f.Merge))
		}
	case "fail":
		s.tab.FlushFailed()
	case "install":
		return s.tab.Install(uint64(intArg(t, d, "age", 0)), s.output(t, d, s.flushed()))
	case "select":
		fmt.Fprintf(out, "%d files\n", s.tab.SelectAll())
	case "deselect":
		s.tab.Deselect()
	case "job":
		j, ok := s.tab.NextJob()
		if !ok {
			out.WriteString("none")
			return nil
		}
		fmt.Fprintf(out, "job %d: %s user=%v planned=%d ages=%d-%d full=%v bytes=%d", j.ID, numbers(j.Inputs), j.User, j.Planned,
			j.Ages.Oldest, j.Ages.Newest, j.Full, j.Bytes())
	case "cancel":
		return s.tab.Cancel(uint64(intArg(t, d, "id", 0)))
	case "swap":
		inputs := numbersArg(t, d, "inputs")
		return s.tab.Swap(inputs, s.output(t, d, s.metas(inputs)))
	case "import":
		files := parseFiles(t, d)
		ages := s.ages
		if !d.HasArg("late") {
			ages = s.tab.ReserveAges(len(files))
		}
		for i := range files {
			if age := ages.Oldest + uint64(i); files[i].Ages == (tablet.AgeRange{}) {
				files[i].Ages = tablet.AgeRange{Oldest: age, Newest: age}
			}
		}
		err := s.tab.Import(ages, files)
		if err != nil {
			s.ages = ages
		}
		return err
	case "reserve":
		s.ages = s.tab.ReserveAges(1)
		fmt.Fprintf(out, "ages=%d-%d", s.ages.Oldest, s.ages.Newest)
	case "giveback":
		s.tab.ReleaseAges(s.ages)
	case "view":
		v := s.tab.View()
		defer v.Release()
		writeView(out, v)
	case "hold":
		s.views[textArg(d, "as")] = s.tab.View()
	case "look":
		writeView(out, s.views[d.CmdArgs[0].Key])
	case "release":
		s.views[d.CmdArgs[0].Key].Release()
	case "obsolete":
		out.WriteString(numbers(s.tab.Obsolete()))
	case "state":
		writeState(out, s.tab.State())
		active, frozen := s.tab.Memory()
		fmt.Fprintf(out, "memory=%d frozen=%d files=%d bytes=%d selected=%d jobs=%d\n", active, frozen, s.tab.Files(), s.tab.FileBytes(), s.tab.Selected(), s.tab.Jobs())
	case "split":
		low, high, err := s.tab.SplitAt([]byte(textArg(d, "row")))
		if err != nil {
			return err
		}
		writeState(out, low)
		writeState(out, high)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	return nil
}

func (s *script) load(t *testing.T, d *datadriven.TestData) (err error) {
	st := State{Extent: tablet.Extent{Table: "t"}, Files: parseFiles(t, d), Time: int64(intArg(t, d, "clock", 0))}
	if d.HasArg("prev") {
		st.Extent.PrevEndRow = []byte(textArg(d, "prev"))
	}
	if d.HasArg("end") {
		st.Extent.EndRow = []byte(textArg(d, "end"))
	}
	var o Options
	var p plan.Policy
	if textArg(d, "time") == "logical" {
		o.Time = Logical
	}
	if d.HasArg("profile") {
		if p.Profile, err = plan.ParseProfile(textArg(d, "profile")); err != nil {
			return err
		}
	}
	o.MaxKeyBytes = intArg(t, d, "key", 0)
	p.Options = plan.Options{Ratio: float64(intArg(t, d, "ratio", 0)), MaxOpen: intArg(t, d, "open", 0), FileMax: intArg(t, d, "max", 0)}
	o.Planner = p
	o.Constraints = []Constraint{{
		Name:     "no secrets",
		Check:    func(m *tablet.Mutation) int { return bytes.Count(m.Row(), []byte("secret")) * 7 },
		Describe: func(code int) string { return fmt.Sprintf("%d secrets", code/7) },
	}}
	s.tab, err = New(st, o)
	return err
}

func (s *script) write(t *testing.T, d *datadriven.TestData, out *strings.Builder) error {
	p, rejects := s.tab.Prepare(parseMutations(t, d), int64(intArg(t, d, "now", 0)))
	if p != nil {
		fmt.Fprintf(out, "%d mutations, session=%d ts=%d", len(p.Mutations), p.Session, p.Timestamp)
		if p.Step != 0 {
			fmt.Fprintf(out, "+%d", p.Step)
		}
		out.WriteByte('\n')
		if d.Cmd == "write" {
			s.tab.Commit(p)
		} else {
			s.prepared[textArg(d, "as")] = p
		}
	}
	for _, r := range rejects {
		fmt.Fprintf(out, "refused %d: %s %d: %s", r.Index, r.Constraint, r.Code, r.What)
		if r.Elsewhere {
			out.WriteString(" (elsewhere)")
		}
		out.WriteByte('\n')
	}
	for _, v := range Violations(rejects) {
		fmt.Fprintf(out, "%s %d: %d mutations\n", v.Constraint, v.Code, v.Mutations)
	}
	return nil
}

// flushed is what the flush under way reads.
func (s *script) flushed() []tablet.FileMeta {
	if s.tab.flush == nil {
		return nil
	}
	f := s.tab.flush.Snapshot.Facts()
	mem := tablet.FileMeta{Entries: f.Entries, FirstRow: f.FirstRow, LastRow: f.LastRow, MinTimestamp: f.MinTimestamp, MaxTimestamp: f.MaxTimestamp,
		TimestampsKnown: true, Ages: tablet.AgeRange{Oldest: s.tab.flush.Age, Newest: s.tab.flush.Age}}
	return append([]tablet.FileMeta{mem}, s.tab.flush.Merge...)
}

func (s *script) metas(of []uint64) (metas []tablet.FileMeta) {
	for _, m := range s.tab.metas() {
		if slices.Contains(of, m.Number) {
			metas = append(metas, m)
		}
	}
	return metas
}

// output is the file that the command names, with the bounds of the inputs together.
func (s *script) output(t *testing.T, d *datadriven.TestData, inputs []tablet.FileMeta) *tablet.FileMeta {
	if d.HasArg("none") {
		return nil
	}
	m := joinMetas(inputs)
	m.Number = uint64(intArg(t, d, "number", 0))
	m.Bytes = int64(intArg(t, d, "bytes", 10))
	if text := textArg(d, "ages"); text != "" {
		m.Ages = agesOf(t, d, text)
	}
	return &m
}

// joinMetas is the meta of a file that holds all the inputs' entries.
func joinMetas(inputs []tablet.FileMeta) (m tablet.FileMeta) {
	for i, in := range inputs {
		if i == 0 {
			m = in
			continue
		}
		m.Entries += in.Entries
		m.Bytes += in.Bytes
		if bytes.Compare(in.FirstRow, m.FirstRow) < 0 {
			m.FirstRow = in.FirstRow
		}
		if bytes.Compare(in.LastRow, m.LastRow) > 0 {
			m.LastRow = in.LastRow
		}
		m.MinTimestamp, m.MaxTimestamp = min(m.MinTimestamp, in.MinTimestamp), max(m.MaxTimestamp, in.MaxTimestamp)
		m.TimestampsKnown = m.TimestampsKnown && in.TimestampsKnown
		m.Ages = tablet.AgeRange{Oldest: min(m.Ages.Oldest, in.Ages.Oldest), Newest: max(m.Ages.Newest, in.Ages.Newest)}
	}
	return m
}

func textArg(d *datadriven.TestData, key string) string {
	for _, a := range d.CmdArgs {
		if a.Key == key && len(a.Vals) > 0 {
			return a.Vals[0]
		}
	}
	return ""
}

func intArg(t *testing.T, d *datadriven.TestData, key string, otherwise int) int {
	text := textArg(d, key)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return n
}

func numbersArg(t *testing.T, d *datadriven.TestData, key string) (list []uint64) {
	for _, a := range d.CmdArgs {
		if a.Key != key {
			continue
		}
		for _, v := range a.Vals {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				d.Fatalf(t, "%s: %v", key, err)
			}
			list = append(list, n)
		}
	}
	return list
}

func agesOf(t *testing.T, d *datadriven.TestData, text string) (a tablet.AgeRange) {
	if _, err := fmt.Sscanf(text, "%d-%d", &a.Oldest, &a.Newest); err != nil {
		d.Fatalf(t, "ages %q: %v", text, err)
	}
	return a
}

func parseFiles(t *testing.T, d *datadriven.TestData) (files []tablet.FileMeta) {
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		n, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		m := tablet.FileMeta{Number: n, Name: words[0], Entries: 1, Bytes: 10}
		for _, w := range words[1:] {
			key, val, _ := strings.Cut(w, "=")
			low, high, _ := strings.Cut(val, "-")
			switch key {
			case "ages":
				m.Ages = agesOf(t, d, val)
			case "rows":
				m.FirstRow, m.LastRow = []byte(low), []byte(high)
			case "ts":
				m.TimestampsKnown = true
				m.MinTimestamp, _ = strconv.ParseInt(low, 10, 64)
				m.MaxTimestamp, _ = strconv.ParseInt(high, 10, 64)
			case "bytes":
				m.Bytes, _ = strconv.ParseInt(val, 10, 64)
			case "entries":
				m.Entries, _ = strconv.ParseInt(val, 10, 64)
			default:
				d.Fatalf(t, "unknown %q", w)
			}
		}
		files = append(files, m)
	}
	return files
}

func parseMutations(t *testing.T, d *datadriven.TestData) (list []*tablet.Mutation) {
	for line := range strings.Lines(d.Input) {
		words := strings.Fields(line)
		m := tablet.NewMutation([]byte(words[0]))
		for _, w := range words[1:] {
			var u tablet.Update
			w, u.Deleted = strings.CutPrefix(w, "!")
			w, ts, has := strings.Cut(w, "@")
			if u.HasTimestamp = has; has {
				var err error
				if u.Timestamp, err = strconv.ParseInt(ts, 10, 64); err != nil {
					d.Fatalf(t, "%v", err)
				}
			}
			parts := append(strings.SplitN(w, ":", 3), "", "")
			u.Family, u.Qualifier, u.Visibility = []byte(parts[0]), []byte(parts[1]), []byte(parts[2])
			m.Add(u)
		}
		list = append(list, m)
	}
	return list
}

func numbers(files []tablet.FileMeta) string {
	list := []string{}
	for _, m := range files {
		list = append(list, fmt.Sprint(m.Number))
	}
	return "[" + strings.Join(list, " ") + "]"
}

func writeFrozen(out *strings.Builder, f Frozen, ok bool) {
	switch {
	case !ok:
		out.WriteString("none")
	case f.Snapshot == nil:
		fmt.Fprintf(out, "age=%d session=%d, mutations on their way\n", f.Age, f.Session)
	default:
		fmt.Fprintf(out, "age=%d session=%d entries=%d\n", f.Age, f.Session, f.Snapshot.Entries())
	}
}

func writeView(out *strings.Builder, v *View) {
	for _, s := range v.Snapshots() {
		out.WriteString("memory:")
		s.All(func(e tablet.Entry) bool {
			fmt.Fprintf(out, " %s@%d", e.Key.Row(), e.Key.Timestamp())
			return true
		})
		out.WriteByte('\n')
	}
	for _, m := range v.Files() {
		fmt.Fprintf(out, "file %d ages=%d-%d\n", m.Number, m.Ages.Oldest, m.Ages.Newest)
	}
	if out.Len() == 0 {
		out.WriteString("empty")
	}
}

func writeState(out *strings.Builder, s State) {
	fmt.Fprintf(out, "%v files=%s time=%d session=%d\n", s.Extent, numbers(s.Files), s.Time, s.Session)
}
