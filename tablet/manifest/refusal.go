package manifest

import (
	"fmt"
	"strings"
)

// refusal collects where an edit applies.
type refusal struct {
	edit   string
	table  string
	tablet uint64
	extent fmt.Stringer
	file   *FileRef
	number uint64 // of a file of which nothing else is known
}

func (r refusal) ofTablet(t *Tablet) refusal {
	r.table, r.tablet, r.extent = t.Extent.Table, t.Number, t.Extent
	return r
}

func (r refusal) ofFile(f *FileRef) refusal {
	r.file = f
	return r
}

func (r refusal) ofNumber(file uint64) refusal {
	r.number = file
	return r
}

func (r refusal) because(format string, args ...any) error {
	return &Refusal{Edit: r.edit, Where: r.where(), What: fmt.Sprintf(format, args...)}
}

func (r refusal) where() string {
	var parts []string
	if r.table != "" {
		parts = append(parts, fmt.Sprintf("table %q", r.table))
	}
	if r.tablet != 0 {
		parts = append(parts, fmt.Sprintf("tablet %d", r.tablet))
	}
	if r.extent != nil {
		parts = append(parts, r.extent.String())
	}
	switch {
	case r.file != nil:
		parts = append(parts, fmt.Sprintf("file %d (%q)", r.file.Number, clip(r.file.Name)))
	case r.number != 0:
		parts = append(parts, fmt.Sprintf("file %d", r.number))
	}
	if len(parts) == 0 {
		return "the store"
	}
	return strings.Join(parts, ", ")
}

// clip keeps a message short whatever a name holds.
func clip(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
