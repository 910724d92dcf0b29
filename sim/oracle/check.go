package oracle

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace/tablet"
)

// Check holds the entries that a scan has found against what may be there, and remembers what it told. MaxVersions of the
// query is the table's if it is 0. The error says which row is wrong and what may be in it.
func (m *Model) Check(q Query, found []tablet.Entry) error {
	if q.MaxVersions == 0 {
		q.MaxVersions = m.versions
	}
	if err := sorted(found); err != nil {
		return err
	}
	byRow := make(map[string][]tablet.Entry)
	for _, e := range found {
		row := string(e.Key.Row())
		byRow[row] = append(byRow[row], e)
	}
	if err := m.find(q, byRow); err != nil {
		return err
	}
	rows := maps.Clone(m.rows)
	for row := range byRow {
		rows[row] = nil
	}
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		states := m.closure(row)
		kept := slices.DeleteFunc(slices.Clone(states), func(s state) bool { return !same(byRow[row], s.store.Scan(q)) })
		if len(kept) == 0 {
			return &Mismatch{Row: row, Found: byRow[row], May: expected(states, q)}
		}
		if len(kept) < len(states) || m.rows[row] != nil {
			m.rows[row] = kept
		}
	}
	return nil
}

// Mismatch says that a row is none of what it may be.
type Mismatch struct {
	Row   string
	Found []tablet.Entry
	May   [][]tablet.Entry
}

func (e *Mismatch) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "row %q is\n%smay be", e.Row, lines(e.Found))
	for i, may := range e.May {
		if i == 5 {
			fmt.Fprintf(&b, "\nor one of %d more", len(e.May)-i)
			break
		}
		if i > 0 {
			b.WriteString("or")
		}
		fmt.Fprintf(&b, "\n%s", lines(may))
	}
	return b.String()
}

func lines(entries []tablet.Entry) string {
	if len(entries) == 0 {
		return "  nothing\n"
	}
	var b strings.Builder
	for _, e := range entries {
		ts := fmt.Sprint(e.Key.Timestamp())
		if isAssigned(e.Key.Timestamp()) {
			ts = fmt.Sprintf("assigned %d", e.Key.Timestamp()-assigned)
		}
		fmt.Fprintf(&b, "  %q:%q [%q] %s = %q\n", e.Key.Family(), e.Key.Qualifier(), e.Key.Visibility(), ts, e.Value)
	}
	return b.String()
}

func isAssigned(ts int64) bool { return ts >= assigned && ts < ExplicitFrom }

func expected(states []state, q Query) (all [][]tablet.Entry) {
	for _, s := range states {
		all = append(all, s.store.Scan(q))
	}
	return all
}

// same compares what was found with what a state shows. An assigned timestamp may be any that no history gives.
func same(found, want []tablet.Entry) bool {
	return slices.EqualFunc(found, want, func(f, w tablet.Entry) bool {
		ts := f.Key.Timestamp()
		if isAssigned(w.Key.Timestamp()) {
			if ts < ExplicitBelow || ts >= assigned {
				return false
			}
		} else if ts != w.Key.Timestamp() {
			return false
		}
		return bytes.Equal(f.Key.Data(), w.Key.Data()) && f.Key.Ends() == w.Key.Ends() && bytes.Equal(f.Value, w.Value)
	})
}

// sorted wants key order and no marker.
func sorted(found []tablet.Entry) error {
	for i := range found {
		if found[i].Key.Deleted() {
			return fmt.Errorf("a scan shows a delete marker: %v", found[i].Key)
		}
		if i > 0 && tablet.Compare(&found[i-1].Key, &found[i].Key) > 0 {
			return fmt.Errorf("a scan is out of order: %v before %v", found[i-1].Key, found[i].Key)
		}
	}
	return nil
}
