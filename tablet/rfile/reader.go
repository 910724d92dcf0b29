package rfile

import (
	"errors"
	"fmt"
	"sync"

	"millrace/internal/vfs"
	"millrace/internal/wire"
	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// ReaderOptions tunes a Reader. The zero value is fit for use.
type ReaderOptions struct {
	// MaxBlockBytes bounds the decompressed size of a block. Default as for the container.
	MaxBlockBytes int64
	// SkipSums leaves the file's own checksums unread.
	SkipSums bool
	// Sidecar holds the checksums of a file that has none of its own; see bcfile.Sidecar.
	Sidecar *bcfile.Sums
	// FileID, if not zero, is the identity that the file's checksums must have: that of tablet.FileMeta. It tells a file
	// from another of the same name, as an older version of itself.
	FileID [16]byte
	// Cache, if not nil, may keep the block from which a file is known; see CursorOptions.Cache for the others.
	Cache BlockCache
}

// Reader is an open RFile. It is immutable and safe for concurrent use; each Cursor on it is not.
type Reader struct {
	file    vfs.File
	bc      *bcfile.Reader
	version int
	groups  []*Group
	samples []*Group
	sampler *Sampler

	hasBloom bool
	bloom    struct {
		sync.Once
		filter *Bloom
		err    error
	}
}

// Open reads the structure of a file: its trailer, its container's directory and the roots of its indexes, but no data.
// The reader takes over the file and closes it, also when Open fails.
func Open(f vfs.File, o ReaderOptions) (*Reader, error) {
	r, err := open(f, o)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

func open(f vfs.File, o ReaderOptions) (*Reader, error) {
	bc, err := bcfile.Open(f, bcfile.ReaderOptions{MaxBlockBytes: o.MaxBlockBytes, SkipSums: o.SkipSums, Sidecar: o.Sidecar})
	if err != nil {
		return nil, err
	}
	if err := checkID(bc, f.Name(), o); err != nil {
		return nil, err
	}
	r := &Reader{file: f, bc: bc}
	_, r.hasBloom = bc.Meta(bloomName)
	meta, ok := bc.Meta(indexName)
	if !ok {
		return nil, tablet.Corruptf(f.Name(), bc.MetaIndexOffset(), "no block named %s", indexName)
	}
	block, err := metaLoad{bc, meta}.through(o.Cache)
	if err != nil {
		return nil, err
	}
	if err := r.parseIndex(block); err != nil {
		if errors.Is(err, tablet.ErrUnsupported) {
			return nil, err
		}
		return nil, tablet.Corruptf(f.Name(), meta.Region.Offset, "%s: %v", indexName, err)
	}
	return r, nil
}

// checkID holds the file against the identity that it should have.
func checkID(bc *bcfile.Reader, name string, o ReaderOptions) error {
	if o.FileID == ([16]byte{}) || o.SkipSums {
		return nil
	}
	if bc.Sums() == nil {
		return tablet.Corruptf(name, 0, "no checksums, in a file that was written with identity %x", o.FileID)
	}
	if id := bc.Sums().FileID(); id != o.FileID {
		return tablet.Corruptf(name, 0, "identity is %x, not %x: another file, or an older one of this name", id, o.FileID)
	}
	return nil
}

func (r *Reader) parseIndex(block []byte) error {
	f := &fields{b: block}
	if magic := f.int32("magic"); f.err == nil && magic != indexMagic {
		return fmt.Errorf("magic is %08x, not %08x", uint32(magic), indexMagic)
	}
	r.version = f.int32("version")
	switch r.version {
	case 3, 4, 6, 7, version8:
	default:
		if f.err == nil {
			return fmt.Errorf("%s: RFile version %d: %w", r.Name(), r.version, tablet.ErrUnsupported)
		}
	}
	const groupBytes = 8
	n := f.count("number of groups", groupBytes)
	r.groups = parseGroups(f, n, r.version, r.bc.DataRegions())
	if r.version == version8 && f.bool("samples flag") {
		r.samples = parseGroups(f, n, r.version, nil)
		for _, g := range r.samples {
			g.sample = true
		}
		r.sampler = parseSampler(f)
	}
	if f.err == nil && f.at != len(block) {
		f.fail(fmt.Sprintf("%d bytes too many", len(block)-f.at), wire.ErrMalformed)
	}
	if f.err != nil {
		return f.err
	}
	return checkGroups(r.groups)
}

func parseGroups(f *fields, n, version int, blocks []bcfile.Region) []*Group {
	var groups []*Group
	for i := 0; i < n && f.err == nil; i++ {
		g := parseGroup(f, version, blocks)
		g.ordinal = i
		groups = append(groups, g)
	}
	return groups
}

// checkGroups holds the rules between groups: one default group at most, and no family with entries in two.
func checkGroups(groups []*Group) error {
	owner := map[string]*Group{}
	defaults := 0
	for _, g := range groups {
		if g.Default {
			defaults++
		}
		if g.HasFirstKey != (g.root.n > 0) {
			return fmt.Errorf("%v: first key present: %v, with %d index entries", g, g.HasFirstKey, g.root.n)
		}
		for _, c := range g.Families {
			if c.Count == 0 {
				continue
			}
			if other := owner[string(c.Family)]; other != nil {
				return fmt.Errorf("family %q has entries in %v and in %v", c.Family, other, g)
			}
			owner[string(c.Family)] = g
		}
	}
	if defaults > 1 {
		return fmt.Errorf("%d default groups", defaults)
	}
	return nil
}

// Name is the file's name, as it was opened.
func (r *Reader) Name() string { return r.file.Name() }

// Version is the RFile version.
func (r *Reader) Version() int { return r.version }

// Container is the file below: codec, versions, named blocks, sums.
func (r *Reader) Container() *bcfile.Reader { return r.bc }

// Groups are the file's locality groups in file order. The caller must not change them.
func (r *Reader) Groups() []*Group { return r.groups }

// Samples are the sample groups, one for each group, nil without samples; Sampler says how they were made.
func (r *Reader) Samples() []*Group { return r.samples }

// Sampler is the sample groups' configuration, nil without samples.
func (r *Reader) Sampler() *Sampler { return r.sampler }

// GroupsFor are the groups that a scan of the families must merge.
func (r *Reader) GroupsFor(f tablet.Families) []*Group {
	var chosen []*Group
	for _, g := range r.groups {
		if g.wanted(f) {
			chosen = append(chosen, g)
		}
	}
	return chosen
}

// Close closes the file. Cursors must not be used afterwards.
func (r *Reader) Close() error { return r.file.Close() }
