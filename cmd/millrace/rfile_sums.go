package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
	"millrace/tablet/rfile/parallel"
)

const sumsSchema = "millrace.rfile.sums/1"

func newSums(e *env) *cobra.Command {
	m := manual{
		use:   "sums [flags] FILE",
		short: "write the checksums of a file from elsewhere beside it",
		long: `
Writes the checksums of a file that carries none of its own into a sidecar: for FILE.rf that is FILE.sums, with a CRC32C
of each block and of all bytes outside blocks. "verify" finds it there, and then any later damage to the file.

The file is decoded first, as by "verify --deep", so that no damage that shows is taken for the file. A file that this
program wrote carries its checksums itself and is refused.`,
		memory: `40 bytes a block, the index root, one index block a level, and for each processor, at most 16, a data block and
256 KiB or the largest block as it is stored.`,
		exits: []int{3, 6},
		examples: `
$ millrace rfile sums v8_edge.rf
v8_edge.sums: checksums of 14 blocks of v8_edge.rf, 276 bytes

$ millrace rfile verify v8_edge.rf
v8_edge.rf: ok, 127 entries in 1 group, every byte matches its checksum in v8_edge.sums`[1:],
	}
	var f format
	force := false
	c := newCommand(m, args(1, 1, "one file"), func(cmd *cobra.Command, args []string) error {
		return e.sums(cmd.Context(), args[0], f, force)
	})
	f.register(c, formatText, formatJSON)
	completeRFiles(c)
	c.Flags().BoolVar(&force, "force", false, "replace the sidecar if it exists")
	return c
}

// sidecarOf is the name of the file in which a file's checksums are kept.
func sidecarOf(path string) string { return strings.TrimSuffix(path, ".rf") + ".sums" }

// sidecar reads the checksums beside a file of some length, nil if there are none.
func (e *env) sidecar(path string, bytes int64) (s *bcfile.Sums, err error) {
	f, err := e.open(sidecarOf(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	const fixed, block = 64, 16
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if most := min(bytes, math.MaxInt64/block-fixed)*block + fixed; size > most {
		return nil, tablet.Corruptf(f.Name(), most, "more checksums than the file of %d bytes can have blocks", bytes)
	}
	content, err := vfs.ReadAll(f, size)
	if err != nil {
		return nil, err
	}
	return bcfile.ParseSums(f.Name(), content)
}

// summed is sums' JSON document.
type summed struct {
	Schema  string `json:"schema"`
	File    string `json:"file"`
	Sidecar string `json:"sidecar"`
	Bytes   int64  `json:"size"` // of the sidecar
	Blocks  int    `json:"blocks"`
	FileID  string `json:"file_id"`
}

func (e *env) sums(ctx context.Context, path string, f format, force bool) (err error) {
	file, err := e.open(path)
	if err != nil {
		return err
	}
	r, err := rfile.Open(file, rfile.ReaderOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	if r.Container().Sums() != nil {
		return usagef("%s carries checksums of its own", printable(path))
	}
	s, err := e.writeSums(ctx, path, file, r, force)
	if err != nil {
		return err
	}
	id := s.FileID()
	doc := summed{sumsSchema, path, sidecarOf(path), int64(len(s.Bytes())), s.Len(), hex.EncodeToString(id[:])}
	if f.is(formatJSON) {
		return e.writeJSON(doc)
	}
	_, err = fmt.Fprintf(e.out, "%s: checksums of %s of %s, %s bytes\n", printable(doc.Sidecar), counted(int64(doc.Blocks), "block", "blocks"),
		printable(path), humanize.Comma(doc.Bytes))
	return err
}

// writeSums makes the sidecar, or leaves nothing behind.
func (e *env) writeSums(ctx context.Context, path string, file vfs.File, r *rfile.Reader, force bool) (s *bcfile.Sums, err error) {
	out, err := e.create(sidecarOf(path), force, path)
	if err != nil {
		return nil, err
	}
	defer func() { err = out.end(err) }()
	if s, err = e.sumsOf(ctx, file, r); err != nil {
		return nil, err
	}
	if _, err := out.file.Write(s.Bytes()); err != nil {
		return nil, err
	}
	return s, out.commit()
}

// sumsOf decodes a file and computes its checksums.
func (e *env) sumsOf(ctx context.Context, f vfs.File, r *rfile.Reader) (*bcfile.Sums, error) {
	p := e.progress("decode "+f.Name(), "entries", entriesOf([]*rfile.Reader{r}))
	defer p.end()
	if _, err := r.Verify(ctx, rfile.VerifyOptions{Spread: parallel.Spread, Progress: p.set}); err != nil {
		return nil, err
	}
	regions, err := regionsOf(ctx, r)
	if err != nil {
		return nil, err
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	return bcfile.Sidecar(ctx, f, id, regions)
}

// regionsOf are the blocks that the indexes of a file name.
func regionsOf(ctx context.Context, r *rfile.Reader) (regions []bcfile.Region, err error) {
	err = eachRegion(ctx, r, func(reg bcfile.Region) { regions = append(regions, reg) })
	return regions, err
}

// eachRegion visits the blocks that the indexes of a file name.
func eachRegion(ctx context.Context, r *rfile.Reader, visit func(bcfile.Region)) error {
	visitor := rfile.Visitor{
		Node: func(n rfile.NodeInfo) error { visit(n.Region); return nil },
		Leaf: func(l rfile.LeafInfo) error { visit(l.Region); return nil },
	}
	for _, groups := range [][]*rfile.Group{r.Groups(), r.Samples()} {
		for _, g := range groups {
			if err := r.Walk(ctx, g, visitor); err != nil {
				return err
			}
		}
	}
	return nil
}
