package job

import (
	"bytes"
	"fmt"
	"time"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// Spec says what to compact, and how.
type Spec struct {
	// Inputs are what is merged, the newest first.
	Inputs []Input
	// Range is what of them is wanted: the tablet's rows. The zero value is everything.
	Range tablet.Range
	// Groups are the named locality groups of the output, in order. Families in none of them go to the default group.
	Groups []GroupSpec

	// Full says that no older data exists beside the inputs, so that delete markers are dropped with what they hide.
	Full bool
	// Minor says that the input is memory. A minor compaction is never full.
	Minor bool
	// User says that a user asked for it.
	User  bool
	Table string
	// MaxVersions is how many entries of a cell are kept; 0 all.
	MaxVersions int
	// Iterators stand above deletes and versions, in any order. Versioning iterators that stand lowest cost no more than
	// MaxVersions.
	Iterators []iter.Setting
	// Now tells the time to iterators that ask for it. Nil refuses those that do.
	Now func() time.Time
	// KeepAll drops nothing at all, not even what deletes hide: for a change of format.
	KeepAll bool

	Mode   iter.Mode
	Writer rfile.WriterOptions
	// Recode compresses every block anew. Else one that is to be written as it was read, byte for byte, is taken over as it
	// is stored; see rfile.Writer.Pass. Entries and books are the same, blocks may end elsewhere.
	Recode bool

	// Create opens the output, once. Remove takes it away again; it is called by Discard alone, and only if Create
	// succeeded.
	Create func() (vfs.File, error)
	Remove func() error
}

// GroupSpec is a named locality group.
type GroupSpec struct {
	Name     string
	Families [][]byte
}

// validate names what is wrong with a spec; the error wraps tablet.ErrUsage.
func (s *Spec) validate() error {
	switch {
	case s.Create == nil || s.Remove == nil:
		return fmt.Errorf("no functions to create and remove the output: %w", tablet.ErrUsage)
	case !s.Mode.Valid():
		return fmt.Errorf("merge in %v: %w", s.Mode, tablet.ErrUsage)
	case s.Minor && s.Full:
		return fmt.Errorf("a minor compaction cannot be full: %w", tablet.ErrUsage)
	case s.MaxVersions < 0:
		return fmt.Errorf("versions to keep are %d, less than 0: %w", s.MaxVersions, tablet.ErrUsage)
	case s.KeepAll && (s.Full || s.MaxVersions > 0 || len(s.Iterators) > 0):
		return fmt.Errorf("keep all, but drop markers, versions or what iterators drop: %w", tablet.ErrUsage)
	}
	if err := s.validateGroups(); err != nil {
		return err
	}
	return s.Writer.Validate()
}

func (s *Spec) validateGroups() error {
	names, owners := map[string]bool{}, map[string]string{}
	for _, g := range s.Groups {
		if g.Name == "" || names[g.Name] {
			return fmt.Errorf("group name %q is empty or used twice: %w", g.Name, tablet.ErrUsage)
		}
		names[g.Name] = true
		for _, f := range g.Families {
			if owner, taken := owners[string(f)]; taken {
				return fmt.Errorf("family %q in groups %q and %q: %w", f, owner, g.Name, tablet.ErrUsage)
			}
			owners[string(f)] = g.Name
		}
	}
	return nil
}

// families are those of output group i; the default group comes after the named ones.
func (s *Spec) families(i int) tablet.Families {
	if i < len(s.Groups) {
		return tablet.OnlyFamilies(s.Groups[i].Families...)
	}
	var named [][]byte
	for _, g := range s.Groups {
		named = append(named, g.Families...)
	}
	return tablet.AllFamiliesBut(named...)
}

// fuse moves the versioning iterators that stand lowest into MaxVersions.
func (s *Spec) fuse() error {
	most, rest, err := iter.FuseVersions(s.Iterators)
	if err != nil {
		return err
	}
	s.Iterators = rest
	if most > 0 && (s.MaxVersions == 0 || most < s.MaxVersions) {
		s.MaxVersions = most
	}
	return nil
}

// clone makes the spec independent of the caller's slices.
func (s Spec) clone() Spec {
	s.Inputs = append([]Input(nil), s.Inputs...)
	s.Range = s.Range.Clone()
	groups := make([]GroupSpec, len(s.Groups))
	for i, g := range s.Groups {
		groups[i].Name = g.Name
		for _, f := range g.Families {
			groups[i].Families = append(groups[i].Families, bytes.Clone(f))
		}
	}
	s.Groups = groups
	return s
}
