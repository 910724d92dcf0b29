package rfile

import (
	"bytes"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// passing is how a block goes from a file to another as it is stored, so that nothing compresses it again. Its entries are
// decoded, checked, counted and encoded like all others; but when the open block, at its end, has the very bytes that the
// cursor decoded, then what is stored of these is right for it, too.
type passing struct {
	from   *Cursor // at the block that is hoped for; nil for none
	raw    int     // its raw bytes
	stored []byte  // its stored form, once sealed
	sealed bool    // the open block is complete: it is written as stored, and the next entry begins another
	cut    bool    // the next entry begins another block
	blocks int64   // passed so far

	refused *Cursor // whose last blocks would have suited, but for the block before
	inARow  int     // how many they were
	then    int64   // entries of the file once all of the last of them have come
}

// mostRefused is how many blocks of one file in a row are refused because the block before would be closed too early. A file
// that has supplied so many is likely to go on, and its blocks begin where they do: the next one is taken.
const mostRefused = 3

// Pass says that the next entries appended are likely to be all those of the block that the cursor has just begun to hand
// out. If that block suits the file it is taken over as it is stored. If other entries come, nothing is lost but that a
// block was closed early.
//
// A block suits if it was written with this file's codec, whose level nobody has chosen, if it has between half and 1.1
// times the size at which this file's blocks are cut, and if the block before, closed early, has at least half of it. Of
// many blocks in a row only the first few are held to the last rule.
func (w *Writer) Pass(c *Cursor) {
	g, err := w.current()
	if err != nil {
		return // Append has it, too
	}
	size, raw := w.o.BlockBytes, len(c.dec.raw)
	switch {
	case w.o.Codec == bcfile.None || w.o.Codec != c.r.bc.Codec() || w.o.Level != 0:
	case c.r.version < 7 || raw < size/2 || raw > size+size/10:
	case g.entries > 0 && !g.pass.sealed && len(g.block) < size/2 && g.pass.refuses(c, g.meta.Entries):
	default:
		g.pass.from, g.pass.raw, g.pass.cut = c, raw, true
		g.pass.refused = nil
	}
}

// refuses counts blocks of a cursor that come in a row, with nothing else between them, and refuses the first few.
func (p *passing) refuses(c *Cursor, entries int64) bool {
	if p.refused != c || p.then != entries {
		p.refused, p.inARow = c, 0
	}
	p.inARow++
	p.then = entries + int64(c.open.entries)
	return p.inARow <= mostRefused
}

// Passed is the number of blocks that were taken over as they were stored.
func (w *Writer) Passed() (blocks int64) {
	for _, g := range w.groups {
		blocks += g.pass.blocks
	}
	return blocks
}

// limit is the size that the open block may reach before it is considered to close it: up to the end of the block that is
// hoped for. It must not depend on how entries are dealt out to calls of appendRun.
func (g *groupWriter) limit() int {
	if g.pass.from != nil {
		return max(g.w.o.BlockBytes, g.pass.raw-1)
	}
	return g.w.o.BlockBytes
}

// cutBefore closes the open block because the next entry begins another. A key that is too long to stand for it in the index
// keeps it open: then it goes on as any block does.
func (g *groupWriter) cutBefore(k tablet.Key) error {
	g.pass.cut = false
	if g.entries == 0 {
		return nil
	}
	prev := g.prev.key()
	short := shorten(&prev, &k)
	if g.sizes.giant(short.Size()) {
		g.pass.sealed, g.pass.from = false, nil
		return nil
	}
	hoped := g.pass.from // for the block that begins
	err := g.cut(&short, false)
	g.pass.from = hoped
	return err
}

// seal looks whether the open block has become the one that was hoped for.
func (g *groupWriter) seal() error {
	p := &g.pass
	if len(g.block) < p.raw {
		return nil
	}
	c := p.from
	p.from = nil
	if c.open.region.Stored == 0 || !bytes.Equal(g.block, c.dec.raw) {
		return nil
	}
	stored, err := c.data.blocks.ReadStored(c.open.region)
	if err != nil {
		return err
	}
	p.stored = append(p.stored[:0], stored...)
	p.sealed, p.cut = true, true
	return nil
}

// writeSealed writes the open block as it was stored. Those on their way go first.
func (g *groupWriter) writeSealed() (bcfile.Region, error) {
	g.pass.sealed = false
	if q := g.w.behind; q != nil {
		if err := q.drain(); err != nil {
			return bcfile.Region{}, err
		}
	}
	g.pass.blocks++
	return g.w.bc.WriteStored(g.pass.stored, int64(len(g.block)))
}

// BlockEnd is as in iter.BlockSource: the key by which the index knows the block of the last batch.
func (c *Cursor) BlockEnd() (key tablet.Key, ok bool) {
	switch {
	case c.err != nil || c.open.region.Stored == 0:
		return key, false
	case c.positioned:
		return c.open.key, true
	}
	return c.bound, c.hasBound // used up
}
