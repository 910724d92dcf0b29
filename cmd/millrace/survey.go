package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"

	"millrace/tablet"
)

// survey is how files lie over tablets.
type survey struct {
	o       extentsOptions
	tiles   tiling
	files   []*placement
	perTile map[int]int // files that have rows of an extent
	plan    *loadPlan   // nil if none is wanted
	out     *output     // for it
	names   map[string]bool
	broken  string // the first expectation that was not met
}

// placement is one file's place, and its JSON.
type placement struct {
	File     string       `json:"file"`
	Entries  int64        `json:"entries"`
	FirstRow *string      `json:"first_row"` // hex, null in an empty file
	LastRow  *string      `json:"last_row"`
	Extents  []*placeInfo `json:"extents"`
	Outside  []*placeInfo `json:"outside"` // gaps between the extents given

	failed *errorDocument // then nothing else is known
}

// placeInfo is what a file has of an extent or a gap.
type placeInfo struct {
	PrevRow  *string `json:"prev_end_row"` // hex, null where there is none
	EndRow   *string `json:"end_row"`
	FirstRow string  `json:"first_row"`
	Least    int64   `json:"entries_min"`
	Most     int64   `json:"entries_max"`
	Stored   int64   `json:"stored_bytes"` // about

	extent, first string // for the eye
}

// add looks at a file.
func (s *survey) add(ctx context.Context, e *env, path string) error {
	name := ""
	if s.plan != nil {
		var err error
		if name, err = planName(path, s.names); err != nil {
			return err
		}
	}
	found, err := e.openPlaced(ctx, path, s.tiles)
	if err != nil {
		return err
	}
	p := &placement{File: path, Entries: found.entries, Extents: []*placeInfo{}, Outside: []*placeInfo{}}
	s.files = append(s.files, p)
	if len(found.pieces) == 0 {
		s.expect(!s.o.entries, "%s is empty", printable(path))
		return nil
	}
	p.FirstRow, p.LastRow = hexRow(found.firstRow), hexRow(found.lastRow)
	for i := range found.pieces {
		s.place(p, &found.pieces[i], name)
	}
	if s.plan != nil && s.o.planType.value == planFile {
		s.plan.addRows(name, found.firstRow, found.lastRow)
	}
	s.expect(s.o.tablets == 0 || len(p.Extents) <= s.o.tablets, "%s has rows of %d tablets, more than %d", printable(path), len(p.Extents), s.o.tablets)
	return nil
}

// place puts a share of a file where it belongs.
func (s *survey) place(p *placement, sh *share, name string) {
	t := s.tiles[sh.at]
	info := newPlaceInfo(t.Extent, sh)
	if t.gap {
		p.Outside = append(p.Outside, info)
		s.expect(!s.o.within && (s.plan == nil || s.o.planType.value == planFile), "%s has rows outside of all extents, the first %s", printable(p.File), info.first)
		return
	}
	p.Extents = append(p.Extents, info)
	s.perTile[sh.at]++
	s.expect(s.o.files == 0 || s.perTile[sh.at] <= s.o.files, "tablet %s gets more than %s", info.extent, counted(int64(s.o.files), "file", "files"))
	if s.plan != nil && s.o.planType.value == planTable {
		s.plan.addExtent(name, t.Extent)
	}
}

func newPlaceInfo(e tablet.Extent, sh *share) *placeInfo {
	return &placeInfo{PrevRow: hexRow(e.PrevEndRow), EndRow: hexRow(e.EndRow), FirstRow: hex.EncodeToString(sh.firstRow), Least: sh.least,
		Most: sh.most, Stored: sh.stored, extent: showExtent(e), first: shortRow(sh.firstRow)}
}

// expect remembers the first expectation that is not met.
func (s *survey) expect(met bool, format string, args ...any) {
	if !met && s.broken == "" {
		s.broken = fmt.Sprintf(format, args...)
	}
}

func (s *survey) expectation() error {
	if s.broken == "" {
		return nil
	}
	return &unmetError{s.broken}
}

// unmetError says which expectation of the user's was not met. It is tablet.ErrExpectation.
type unmetError struct{ what string }

func (e *unmetError) Error() string        { return e.what }
func (e *unmetError) Is(target error) bool { return target == tablet.ErrExpectation }

// document is what is printed of a file as JSON.
func (p *placement) document() any {
	if p.failed != nil {
		return failedFile{p.File, p.failed}
	}
	return p
}

func (e *env) printSurvey(s *survey) error {
	switch {
	case s.o.format.is(formatJSON):
		var docs []any
		for _, f := range s.files {
			docs = append(docs, f.document())
		}
		return e.writeFiles(extentsSchema, docs)
	case s.o.format.is(formatNDJSON):
		for _, f := range s.files {
			if err := e.writeLine(f.document()); err != nil {
				return err
			}
		}
		return nil
	case s.o.format.is(formatText):
		return e.printPlaces(s)
	}
	g := grid{names: []string{"file", "prev_end_row", "end_row", "outside", "first_row", "entries_min", "entries_max", "stored_bytes"}, left: []int{0, 1, 2, 4}}
	for _, f := range s.files {
		for _, p := range f.Extents {
			g.add(p.cells(f.File, false)...)
		}
		for _, p := range f.Outside {
			g.add(p.cells(f.File, true)...)
		}
	}
	return e.writeGrid(&g, s.o.format)
}

// cells are a row of a table; rows are hex.
func (p *placeInfo) cells(file string, outside bool) []any {
	bound := func(row *string) string {
		if row == nil {
			return ""
		}
		return *row
	}
	return []any{printable(file), bound(p.PrevRow), bound(p.EndRow), outside, p.FirstRow, p.Least, p.Most, p.Stored}
}

// printPlaces prints all files as one table for the eye, and below it those that could not be read.
func (e *env) printPlaces(s *survey) error {
	g := grid{names: []string{"file", "extent", "first_row", "entries", "bytes"}, left: []int{0, 1, 2}}
	var b bytes.Buffer
	for _, f := range s.files {
		switch {
		case f.failed != nil:
			fmt.Fprintf(&b, "%s cannot be read: %s\n", printable(f.File), f.failed.What)
			continue
		case f.Entries == 0:
			g.add(printable(f.File), "none", "", "0", "0")
		}
		for _, p := range slices.Concat(f.Extents, f.Outside) {
			extent := p.extent
			if slices.Contains(f.Outside, p) {
				extent = "OUTSIDE " + extent
			}
			g.add(printable(f.File), extent, p.first, p.entriesText(), humanize.Comma(p.Stored))
		}
	}
	if len(g.rows) > 0 {
		if err := e.writeGrid(&g, s.o.format); err != nil {
			return err
		}
	}
	_, err := e.out.Write(b.Bytes())
	return err
}

func (p *placeInfo) entriesText() string {
	if p.Least == p.Most {
		return humanize.Comma(p.Most)
	}
	return humanize.Comma(p.Least) + "-" + humanize.Comma(p.Most)
}
