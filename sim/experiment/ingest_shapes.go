package experiment

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"millrace/tablet"
)

// Shapes of a tablet's files, made of the same entries.
const (
	// ShapeNatural is as flushes and compactions have left them.
	ShapeNatural = "natural"
	// ShapeEqual are files of one size, each entry in one of them at random: the next one is in the same file one time in
	// shapeFiles.
	ShapeEqual = "equal"
	// ShapeLongRun are files of one size whose keys interleave in a few long stretches.
	ShapeLongRun = "long-run"
)

const (
	// shapeFiles is how many files a tablet has in the shapes that are made.
	shapeFiles = 10
	// shapeStretches is how many stretches of keys a file of long runs has.
	shapeStretches = 4
)

// IngestShapes are the shapes that Ingest can compare merges on.
func IngestShapes() []string { return []string{ShapeEqual, ShapeNatural, ShapeLongRun} }

// fileSet is what merges are compared on: the files of all tablets, in one shape and codec. They stand still.
type fileSet struct {
	shape, codec string
	table        string
	files        [][]tablet.FileMeta // of each tablet, the newest first
}

// FileSetRow tells of the files that merges were compared on.
type FileSetRow struct {
	Shape     string `json:"shape"`
	Codec     string `json:"codec"`
	Files     int    `json:"files"`
	Entries   int64  `json:"entries"`
	Bytes     int64  `json:"bytes"`
	LeastFile int64  `json:"least_file_bytes"`
	MostFile  int64  `json:"most_file_bytes"`
	// SameFile is how likely the next entry is to come from the same file, if those of all files are in random order: the sum
	// of the squares of the files' shares, of all tablets together.
	SameFile float64 `json:"same_file_chance"`
}

// compareSets compares the merges on each set of files, which are made for it, unless ingest has left them so.
func (r *ingestRun) compareSets(ctx context.Context) error {
	if err := r.dropSets(ctx); err != nil { // of a run that was killed
		return err
	}
	for _, shape := range r.o.Shapes {
		if err := r.compareShape(ctx, shape); err != nil {
			return err
		}
	}
	r.checkSets()
	return nil
}

func (r *ingestRun) compareShape(ctx context.Context, shape string) (err error) {
	var s *stage
	defer func() {
		if s != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, codec := range r.o.Codecs {
		set := fileSet{shape: shape, codec: codec, table: ciTable, files: r.files}
		if made := shape != ShapeNatural || codec != r.codec; made {
			if s == nil {
				if s, err = r.stage(ctx, shape); err != nil {
					return fmt.Errorf("files of shape %s: %w", shape, err)
				}
			}
			if set, err = r.load(ctx, s, codec); err != nil {
				return fmt.Errorf("files of shape %s, codec %s: %w", shape, codec, err)
			}
		}
		if err := r.compareSet(ctx, &set); err != nil {
			return err
		}
		if set.table != ciTable {
			if err := r.store.DeleteTable(ctx, set.table); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *ingestRun) compareSet(ctx context.Context, set *fileSet) error {
	r.doc.FileSets = append(r.doc.FileSets, set.row())
	first := len(r.doc.Rows)
	if err := r.compareMerges(ctx, set); err != nil {
		return err
	}
	return r.measureShares(ctx, set, r.doc.Rows[first:])
}

func (s *fileSet) row() FileSetRow {
	row := FileSetRow{Shape: s.shape, Codec: s.codec}
	for _, files := range s.files {
		entries, squares := 0.0, 0.0
		for _, f := range files {
			entries += float64(f.Entries)
			squares += float64(f.Entries) * float64(f.Entries)
		}
		row.SameFile += squares / max(entries, 1)
		for _, f := range files {
			if row.Files++; row.Files == 1 {
				row.LeastFile = f.Bytes
			}
			row.Entries += f.Entries
			row.Bytes += f.Bytes
			row.LeastFile, row.MostFile = min(row.LeastFile, f.Bytes), max(row.MostFile, f.Bytes)
		}
	}
	row.SameFile /= float64(max(row.Entries, 1))
	return row
}

// setTable is the table that holds a set of files.
func setTable(shape, codec string) string { return ciTable + "_" + shape + "_" + codec }

// dropSets removes the tables of sets that a run has left which did not come to its end.
func (r *ingestRun) dropSets(ctx context.Context) error {
	tables, err := r.store.Tables(ctx)
	if err != nil {
		return err
	}
	for _, shape := range IngestShapes() {
		for _, codec := range IngestCodecs() {
			if name := setTable(shape, codec); slices.Contains(tables, name) {
				if err := r.store.DeleteTable(ctx, name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// IngestCodecs are the codecs that Ingest can compare merges with.
func IngestCodecs() []string { return []string{"none", "lz4", "snappy", "gz", "zstd"} }

// setProperties are those of a set's table: the codec, and nothing that would change the files.
func (r *ingestRun) setProperties(codec string) map[string]string {
	const never = 1_000_000
	properties := map[string]string{}
	for name, value := range r.tableProperties {
		properties[name] = value
	}
	properties["table.file.compress.type"] = codec
	properties["table.compaction.major.ratio"] = strconv.Itoa(never)
	properties["table.file.max"] = strconv.Itoa(never)
	properties["table.durability"] = "none"
	return properties
}

// checkSets holds the sets against each other: they are the same entries, so a compaction gives the same, and in one codec
// the same bytes, unless blocks are taken over as they are stored.
func (r *ingestRun) checkSets() {
	c := &r.doc.Checks
	*c = check(*c, "all compactions read the same files", r.held.sameFiles, true)
	*c = check(*c, "all outputs are the same bytes", r.held.sameBytes, true)
	*c = check(*c, "entries read are those written and dropped", r.held.balanced, true)
	if len(r.doc.FileSets) == 1 {
		return
	}
	same := true
	for _, s := range r.doc.FileSets {
		same = same && s.Entries == r.doc.FileSets[0].Entries
	}
	*c = check(*c, "all shapes and codecs hold the same number of entries", same, true)
	if len(r.o.Shapes) > 1 {
		*c = check(*c, "outputs of all shapes, all blocks compressed anew, are the same bytes, codec by codec", r.held.sameShapes, true)
	}
}
