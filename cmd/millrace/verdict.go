package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/dustin/go-humanize"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
	"millrace/tablet/rfile/parallel"
)

// verdict is what verify found of a file. What could not be found out is absent.
type verdict struct {
	File          string         `json:"file"`
	OK            bool           `json:"ok"`
	Deep          bool           `json:"deep"`
	Bytes         *int64         `json:"size,omitempty"`
	RFileVersion  int            `json:"rfile_version,omitempty"`
	BCFileVersion []int          `json:"bcfile_version,omitempty"` // major, minor
	Codec         string         `json:"codec,omitempty"`
	Sums          *bool          `json:"sums,omitempty"`    // whether there are checksums of the file
	Sidecar       string         `json:"sidecar,omitempty"` // the file that has them, if it is not this one
	Entries       *int64         `json:"entries,omitempty"`
	SHA256        string         `json:"sha256,omitempty"` // of all entries in key order, groups merged; if asked for
	Groups        []groupVerdict `json:"groups,omitzero"`
	Error         *errorDocument `json:"error,omitempty"`
}

// groupVerdict is a group of it.
type groupVerdict struct {
	Name        *string `json:"name"` // null for the default group
	Default     bool    `json:"default"`
	Entries     int64   `json:"entries"`
	Deletes     *int64  `json:"deletes,omitempty"` // deep only
	SHA256      string  `json:"sha256,omitempty"`  // if asked for
	IndexLevels int     `json:"index_levels"`
	DataBlocks  int64   `json:"data_blocks"`
}

// judge checks a file. The verdict holds what was found until an error.
func (e *env) judge(ctx context.Context, t target, depth depth, m meter) (v *verdict, err error) {
	v = &verdict{File: t.path, Deep: depth != shallow}
	if t.err != nil {
		return v, t.err
	}
	f, err := e.open(t.path)
	if err != nil {
		return v, err
	}
	bytes, err := f.Size()
	if err != nil {
		return v, errors.Join(err, f.Close())
	}
	v.Bytes = &bytes
	sidecar, err := e.judgeContainer(ctx, f, v, m)
	if err != nil {
		return v, errors.Join(err, f.Close())
	}
	r, err := rfile.Open(f, rfile.ReaderOptions{Sidecar: sidecar})
	if err != nil {
		return v, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	v.RFileVersion, v.BCFileVersion, v.Codec = r.Version(), containerVersion(r), r.Container().Codec()
	if err := v.judgeIndexes(ctx, r); err != nil {
		return v, err
	}
	if v.Deep {
		err = v.judgeEntries(ctx, r, depth == hashed, m)
	}
	v.OK = err == nil
	return v, err
}

// judgeContainer compares the file's checksums, those beside it if it carries none. It reads the whole file, unless all
// entries are going to be read: a block is then compared when it is.
func (e *env) judgeContainer(ctx context.Context, f vfs.File, v *verdict, m meter) (*bcfile.Sums, error) {
	sidecar, err := e.sidecar(v.File, *v.Bytes)
	if err != nil {
		return nil, err
	}
	o := bcfile.ReaderOptions{Sidecar: sidecar}
	var report bcfile.Report
	if v.Deep {
		report, err = bcfile.VerifyFrame(ctx, f, o)
	} else {
		report, err = bcfile.VerifyWith(ctx, f, o, m.read)
	}
	if err != nil {
		return nil, err
	}
	v.Sums = &report.HasSums
	if sidecar != nil && report.FileID == sidecar.FileID() {
		v.Sidecar = sidecarOf(v.File)
	}
	return sidecar, nil
}

// judgeIndexes walks the indexes of all groups.
func (v *verdict) judgeIndexes(ctx context.Context, r *rfile.Reader) error {
	infos, err := inspectGroups(ctx, r, r.Groups())
	if err != nil {
		return err
	}
	entries := int64(0)
	v.Groups = []groupVerdict{}
	for _, i := range infos {
		entries += i.Entries
		v.Groups = append(v.Groups, groupVerdict{Name: i.Name, Default: i.Default, Entries: i.Entries, IndexLevels: i.IndexLevels,
			DataBlocks: i.DataBlocks})
	}
	v.Entries = &entries
	_, err = inspectGroups(ctx, r, r.Samples())
	return err
}

// judgeEntries decodes everything: block by block on all processors, or entry by entry for the hashes, and for these
// twice if there are several groups. Blocks that no index leads to have their checksum compared and no more.
func (v *verdict) judgeEntries(ctx context.Context, r *rfile.Reader, hash bool, m meter) error {
	total := *v.Entries
	if hash && len(r.Groups()) > 1 {
		total *= 2
	}
	reports, err := r.Verify(ctx, rfile.VerifyOptions{Hash: hash, Ahead: parallel.Ahead, Spread: parallel.Spread,
		Progress: func(n int64) { m.decoded(n, total) }})
	if err != nil {
		return err
	}
	for i, g := range reports {
		v.Groups[i].Deletes, v.Groups[i].SHA256 = &reports[i].Deletes, g.SHA256
	}
	rest := r.Container().Coverage()
	if err := eachRegion(ctx, r, rest.Note); err != nil {
		return err
	}
	if err := rest.CheckRest(ctx, nil); err != nil || !hash {
		return err
	}
	if len(reports) == 1 {
		v.SHA256 = reports[0].SHA256
		return nil
	}
	v.SHA256, err = mergedDigest(ctx, r, func(n int64) { m.decoded(*v.Entries+n, total) })
	return err
}

// mergedDigest is the digest of a file's entries in key order over all groups.
func mergedDigest(ctx context.Context, r *rfile.Reader, progress func(entries int64)) (sum string, err error) {
	digest, seen := rfile.NewDigest(), int64(0)
	var sources []iter.Source
	for _, g := range r.Groups() {
		sources = append(sources, r.Cursor(g, rfile.CursorOptions{Ahead: parallel.Ahead}))
	}
	s, err := newScan(ctx, sources, tablet.Range{}, tablet.Families{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	err = s.each(ctx, func(b *tablet.Batch, run iter.Run) error {
		digest.AddRun(b, int(run.Lo), int(run.Hi))
		seen += int64(run.Len())
		progress(seen)
		return nil
	})
	return digest.Hex(), err
}

// printVerdict prints a verdict as a line of text, and the hash as another.
func (e *env) printVerdict(v *verdict) error {
	var b bytes.Buffer
	switch {
	case v.Error == nil:
		fmt.Fprintf(&b, "%s: ok, %s in %s, %s\n", printable(v.File), counted(*v.Entries, "entry", "entries"),
			counted(int64(len(v.Groups)), "group", "groups"), v.assurance())
		if v.SHA256 != "" {
			fmt.Fprintf(&b, "  sha256 %s\n", v.SHA256)
		}
	case v.Error.Offset != nil && v.Error.File == sidecarOf(printable(v.File)):
		fmt.Fprintf(&b, "%s: DAMAGED beside it, %s at offset %d: %s\n", printable(v.File), v.Error.File, *v.Error.Offset, v.Error.What)
	case v.Error.Offset != nil:
		fmt.Fprintf(&b, "%s: DAMAGED at offset %d: %s\n", printable(v.File), *v.Error.Offset, v.Error.What)
	default:
		fmt.Fprintf(&b, "%s: not verified: %s\n", printable(v.File), v.Error.What)
	}
	_, err := e.out.Write(b.Bytes())
	return err
}

// printTally sums the verdicts on several files up.
func (e *env) printTally(verdicts []*verdict) error {
	if len(verdicts) < 2 {
		return nil
	}
	var ok, damaged, other, entries, size int64
	for _, v := range verdicts {
		switch {
		case v.Error == nil:
			ok++
		case v.Error.Offset != nil:
			damaged++
		default:
			other++
		}
		if v.Entries != nil {
			entries += *v.Entries
		}
		if v.Bytes != nil {
			size += *v.Bytes
		}
	}
	_, err := fmt.Fprintf(e.out, "%s files: %s ok, %s damaged, %s not verified; %s in %s bytes\n", humanize.Comma(int64(len(verdicts))),
		humanize.Comma(ok), humanize.Comma(damaged), humanize.Comma(other), counted(entries, "entry", "entries"), humanize.Comma(size))
	return err
}

// assurance says what an ok is worth.
func (v *verdict) assurance() string {
	matches := "every byte matches its checksum"
	if v.Sidecar != "" {
		matches += " in " + printable(v.Sidecar)
	}
	switch {
	case *v.Sums && v.Deep:
		return matches + ", every entry decoded"
	case *v.Sums:
		return matches
	case v.Deep:
		return "no checksums, every entry decoded"
	}
	return "no checksums: only container and index were checked, --deep decodes the data"
}

// cells is a verdict as a row of a table. What is not known is empty.
func (v *verdict) cells() []any {
	var rfile, bcfile, groups, blocks, entries, size, offset, what any = "", "", "", "", "", "", "", ""
	if v.RFileVersion != 0 {
		rfile, bcfile = v.RFileVersion, fmt.Sprintf("%d.%d", v.BCFileVersion[0], v.BCFileVersion[1])
	}
	if v.Entries != nil {
		n := int64(0)
		for _, g := range v.Groups {
			n += g.DataBlocks
		}
		groups, blocks, entries = len(v.Groups), n, *v.Entries
	}
	if v.Bytes != nil {
		size = *v.Bytes
	}
	if v.Error != nil {
		what = v.Error.What
		if v.Error.Offset != nil {
			offset = *v.Error.Offset
		}
	}
	return []any{printable(v.File), v.OK, rfile, bcfile, v.Codec, groups, blocks, entries, size, v.SHA256, offset, what}
}
