package workload

import (
	"hash/crc32"
	"math/rand/v2"

	"millrace/tablet"
)

// Write is one entry to write; the tablet gives the timestamp. Its slices are views of the generator.
type Write struct {
	Row, Family, Qualifier, Visibility []byte
	Value                              []byte
	// Update says that the cell was written before, without a reference, in the first step of this cycle.
	Update bool
}

// Generator makes the stream. One cycle of F linked lists:
//
//	step 0      F entries that refer to nothing                          flush
//	step 1…D−1  F entries each, entry i refers to entry i of the step before    flush
//	closing     entries 0…F−2 of step 0 again, now referring to entry i+1 of the last step    flush
//
// so that the lists of a cycle become one long list. It keeps 20 bytes for each of the F lists.
type Generator struct {
	opts Options
	rng  *rand.Rand
	span uint64

	previous []uint64 // the newest row of each list
	first    []cell   // the cells of step 0
	step, at int      // where in the cycle the next entry lies

	needsFlush bool
	done       bool
	counts     Counts

	key   []byte // row ‖ family ‖ qualifier ‖ visibility of the newest write
	value [longestValue]byte
	write Write
}

type cell struct {
	row               uint64
	family, qualifier uint16
}

// NewGenerator starts a stream.
func NewGenerator(o Options) (*Generator, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	g := &Generator{
		opts:     o,
		rng:      rand.New(rand.NewPCG(o.Seed, 0x6d696c6c72616365)), // any fixed second half will do
		span:     uint64(o.MaxRow) - uint64(o.MinRow),
		previous: make([]uint64, o.FlushEntries),
		first:    make([]cell, o.FlushEntries),
		key:      make([]byte, rowBytes+2*columnBytes),
	}
	g.putInstance()
	return g, nil
}

// putInstance draws the stream's id, a random UUID (version 4, RFC 9562), into the head of every value.
func (g *Generator) putInstance() {
	hi, lo := g.rng.Uint64(), g.rng.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	v := g.value[:instanceBytes]
	putHex(v[0:8], hi>>32)
	putHex(v[9:13], hi>>16)
	putHex(v[14:18], hi)
	putHex(v[19:23], lo>>48)
	putHex(v[24:36], lo)
	v[8], v[13], v[18], v[23] = '-', '-', '-', '-'
}

// Instance is the stream's id.
func (g *Generator) Instance() string { return string(g.value[:instanceBytes]) }

// Counts says how much was made so far.
func (g *Generator) Counts() Counts { return g.counts }

// NeedsFlush says that everything made so far must be flushed before the next write is sent: later entries refer to it.
func (g *Generator) NeedsFlush() bool { return g.needsFlush }

// Next makes the next write, valid until the following call; ok is false when the limit is reached.
func (g *Generator) Next() (w *Write, ok bool) {
	if g.done {
		return nil, false
	}
	g.needsFlush = false
	if g.step < g.opts.Depth {
		g.extend()
	} else {
		g.closeLoop()
	}
	return &g.write, true
}

// extend writes the next entry of a list, in a random new cell.
func (g *Generator) extend() {
	if g.step == 0 && g.at == 0 {
		g.drawLabel()
	}
	c := g.draw()
	i := g.at
	g.set(c, g.previous[i], g.step > 0)
	g.write.Update = false
	g.previous[i] = c.row
	if g.step == 0 {
		g.first[i] = c
	}
	if g.at++; g.at == g.opts.FlushEntries {
		g.endStep()
	}
}

// closeLoop writes the first entry of list i again, now referring to the newest of list i+1.
func (g *Generator) closeLoop() {
	i := g.at
	g.set(g.first[i], g.previous[i+1], true)
	g.write.Update = true
	g.counts.Updates++
	if g.at++; g.at == g.opts.FlushEntries-1 {
		g.endStep()
	}
}

func (g *Generator) endStep() {
	g.at = 0
	g.step++
	g.needsFlush = true
	g.counts.Flushes++
	if g.step > g.opts.Depth || g.step == g.opts.Depth && g.opts.FlushEntries == 1 {
		g.step = 0
		g.counts.Cycles++
	}
	g.done = g.opts.Limit > 0 && g.counts.Writes >= g.opts.Limit
}

func (g *Generator) draw() cell {
	return cell{
		row:       g.rng.Uint64()>>1%g.span + uint64(g.opts.MinRow),
		family:    uint16(g.rng.IntN(g.opts.Families)),
		qualifier: uint16(g.rng.IntN(g.opts.Qualifiers)),
	}
}

// drawLabel sets the visibility of a whole cycle.
func (g *Generator) drawLabel() {
	if n := len(g.opts.Labels); n > 0 {
		g.key = append(g.key[:rowBytes+2*columnBytes], g.opts.Labels[g.rng.IntN(n)]...)
	}
}

// set lays out key and value of one write.
func (g *Generator) set(c cell, previous uint64, refers bool) {
	const family, qualifier, visibility = rowBytes, rowBytes + columnBytes, rowBytes + 2*columnBytes
	k := g.key
	putHex(k[:family], c.row)
	putHex(k[family:qualifier], uint64(c.family))
	putHex(k[qualifier:visibility], uint64(c.qualifier))

	v := g.value[:shortestValue]
	v[instanceBytes], v[previousAt-1], v[previousAt] = ':', ':', ':'
	putHex(v[countAt:previousAt-1], uint64(g.counts.Writes))
	if refers {
		v = g.value[:longestPrevious+1]
		putHex(v[previousAt:longestPrevious], previous)
		v[longestPrevious] = ':'
	}
	if !g.opts.NoChecksums {
		sum := crc32.Update(crc32.ChecksumIEEE(k), crc32.IEEETable, v)
		at := len(v)
		v = v[:at+checksumBytes]
		putHex(v[at:], uint64(sum))
	}
	g.counts.Writes++
	g.write.Row, g.write.Family, g.write.Qualifier, g.write.Visibility = k[:family], k[family:qualifier], k[qualifier:visibility], k[visibility:]
	g.write.Value = v
}

// Mutation is the write as a mutation of its own, which keeps nothing of the generator.
func (w *Write) Mutation() *tablet.Mutation {
	m := tablet.NewMutation(w.Row)
	m.Put(w.Family, w.Qualifier, w.Visibility, w.Value)
	return m
}

// Fill makes mutations until dst is full, a flush is due, or the stream ends, and returns how many it made: 0 only at
// the end, if dst has room.
func (g *Generator) Fill(dst []*tablet.Mutation) int {
	for i := range dst {
		w, ok := g.Next()
		if !ok {
			return i
		}
		dst[i] = w.Mutation()
		if g.needsFlush {
			return i + 1
		}
	}
	return len(dst)
}
