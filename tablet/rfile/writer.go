package rfile

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"millrace/tablet"
	"millrace/tablet/rfile/bcfile"
)

// WriterOptions says what kind of file to write. A zero field means its default.
type WriterOptions struct {
	// Codec compresses blocks: none, gz, snappy, lz4 or zstd. Default gz, as in Accumulo.
	Codec string
	// Level is the codec's effort. Default as in Accumulo.
	Level int
	// BlockBytes is the raw size at which a data block is cut; IndexBlockBytes that of an index node.
	BlockBytes, IndexBlockBytes int
	// BCFile is the container's major version: 1, which every Accumulo reads, or 3. Default 1.
	BCFile int
	// NoSums leaves out the file's own checksums. Without them damage to a file of codec none, snappy, lz4 or zstd may
	// go unnoticed.
	NoSums bool
	// FamilyOrder fixes the order in which a group lists its families; those not named follow in byte order.
	FamilyOrder [][]byte
	// Sampler, if not nil, makes a sample of each group beside it. It costs up to 10 MB of memory.
	Sampler *Sampler
	// Bloom, if not nil, adds a Bloom filter over the keys of all groups.
	Bloom *BloomOptions
	// FileID identifies the file in its sums. Default random.
	FileID [16]byte
	// Behind, if not nil, compresses the data blocks; see BlockCompressor. The file is the same.
	Behind BlockCompressor
}

func (o WriterOptions) withDefaults() WriterOptions {
	if o.Codec == "" {
		o.Codec = "gz"
	}
	if o.BlockBytes == 0 {
		o.BlockBytes = DefaultBlockBytes
	}
	if o.IndexBlockBytes == 0 {
		o.IndexBlockBytes = DefaultIndexBlockBytes
	}
	if o.BCFile == 0 {
		o.BCFile = 1
	}
	return o
}

// Validate names the first setting that is wrong, with its value.
func (o WriterOptions) Validate() error {
	o = o.withDefaults()
	switch {
	case o.BlockBytes < 1 || o.BlockBytes >= math.MaxInt32:
		return fmt.Errorf("block size is %d, not within 1 to %d: %w", o.BlockBytes, math.MaxInt32-1, tablet.ErrUsage)
	case o.IndexBlockBytes < 1 || o.IndexBlockBytes >= math.MaxInt32:
		return fmt.Errorf("index block size is %d, not within 1 to %d: %w", o.IndexBlockBytes, math.MaxInt32-1, tablet.ErrUsage)
	case o.BCFile != 1 && o.BCFile != 3:
		return fmt.Errorf("BCFile version is %d, not 1 or 3: %w", o.BCFile, tablet.ErrUsage)
	}
	if o.Bloom != nil {
		if err := o.Bloom.validate(); err != nil {
			return err
		}
	}
	if o.Sampler != nil {
		if _, err := o.Sampler.acceptor(); err != nil {
			return err
		}
	}
	return nil
}

// Writer writes one RFile in one pass and bounded memory: the open block, one open index node a level, and at most
// 10 MiB of index held back, with a sampler some 10 MB of sample, and what Behind holds. Groups follow one another, named ones first; keys of a group must not decrease.
//
// After an error the file is of no use. A Writer is not safe for concurrent use.
type Writer struct {
	bc     *bcfile.Writer
	o      WriterOptions
	groups []*groupWriter // all but the last are finished
	owner  map[string]string
	bloom  *bloomWriter // nil for none
	behind *blockQueue  // nil when blocks are compressed here
	meta   tablet.FileMeta
	index  []byte // descriptions of the finished groups
	sample []byte // descriptions of their samples
	err    error
}

// NewWriter starts a file on w. The caller syncs and closes what is below once Finish has returned.
func NewWriter(w io.Writer, o WriterOptions) (*Writer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	version := bcfile.V1
	if o.BCFile == 3 {
		version = bcfile.V3
	}
	bc, err := bcfile.NewWriter(w, bcfile.WriterOptions{
		Codec: o.Codec, Level: o.Level, Version: version, NoSums: o.NoSums, FileID: o.FileID,
	})
	if err != nil {
		return nil, err
	}
	rw := &Writer{bc: bc, o: o, owner: map[string]string{}, meta: tablet.FileMeta{
		MinTimestamp: math.MaxInt64, MaxTimestamp: math.MinInt64, TimestampsKnown: true,
	}}
	if o.Bloom != nil {
		rw.bloom = newBloomWriter(*o.Bloom)
	}
	if o.Behind != nil && o.Codec != bcfile.None { // none has nothing to do
		if err := o.Behind.Start(o.Codec, o.Level); err != nil {
			return nil, err
		}
		rw.behind = &blockQueue{press: o.Behind, bc: bc, codec: o.Codec}
	}
	return rw, nil
}

// StartGroup begins a named group that holds exactly the families given, none of which another group may hold.
func (w *Writer) StartGroup(name string, families [][]byte) error {
	for _, g := range w.groups {
		if g.g.Default {
			return w.fail(fmt.Errorf("group %q after the default group: %w", name, tablet.ErrUsage))
		}
		if g.g.Name == name {
			return w.fail(fmt.Errorf("group %q twice: %w", name, tablet.ErrUsage))
		}
	}
	for _, f := range families {
		if other, taken := w.owner[string(f)]; taken {
			return w.fail(fmt.Errorf("family %q in group %q and in group %q: %w", f, other, name, tablet.ErrUsage))
		}
		w.owner[string(f)] = name
	}
	return w.start(&Group{Name: name, Tracked: true}, families)
}

// StartDefaultGroup begins the last group: all families that no named group holds.
func (w *Writer) StartDefaultGroup() error {
	for _, g := range w.groups {
		if g.g.Default {
			return w.fail(fmt.Errorf("two default groups: %w", tablet.ErrUsage))
		}
	}
	return w.start(&Group{Default: true, Tracked: true}, nil)
}

func (w *Writer) start(g *Group, families [][]byte) error {
	if err := w.finishGroup(); err != nil {
		return err
	}
	gw := newGroupWriter(w, g, families)
	if w.o.Sampler != nil {
		var err error
		if gw.sample, err = newSampleWriter(gw, families); err != nil {
			return w.fail(err)
		}
	}
	w.groups = append(w.groups, gw)
	return nil
}

// fail makes an error the writer's last word, unless it has one. What went wrong with a block that is still on its way
// went wrong before.
func (w *Writer) fail(err error) error {
	if w.err != nil {
		return w.err
	}
	w.err = err
	if w.behind != nil {
		if earlier := w.behind.drain(); earlier != nil {
			w.err = earlier
		}
	}
	return w.err
}

// current is the open group; the first Append without one opens the default group.
func (w *Writer) current() (*groupWriter, error) {
	if w.err != nil {
		return nil, w.err
	}
	if len(w.groups) == 0 {
		if err := w.StartDefaultGroup(); err != nil {
			return nil, err
		}
	}
	return w.groups[len(w.groups)-1], nil
}

// Append adds one entry, which it copies. A key below the one before, or of a family that the group does not hold, is
// an error that wraps tablet.ErrUsage.
func (w *Writer) Append(k *tablet.Key, value []byte) error {
	g, err := w.current()
	if err != nil {
		return err
	}
	if err := g.append(k, value); err != nil {
		return w.fail(err)
	}
	return nil
}

// AppendRun adds entries lo to hi of a batch. code is that of entry lo against the entry appended before, whatever
// source that came from; the codes of the others are the batch's own. Codes stand in for comparisons, so they must be
// right; the first entry of all may have any.
func (w *Writer) AppendRun(b *tablet.Batch, code uint64, lo, hi int) error {
	g, err := w.current()
	if err != nil {
		return err
	}
	if err := g.appendRun(b, code, lo, hi); err != nil {
		return w.fail(err)
	}
	return nil
}

func (w *Writer) finishGroup() error {
	if w.err != nil {
		return w.err
	}
	if len(w.groups) == 0 {
		return nil
	}
	g := w.groups[len(w.groups)-1]
	description, err := g.finish(w.index)
	if err != nil {
		return w.fail(err)
	}
	w.index = description
	if g.sample == nil {
		return nil
	}
	if w.sample, err = g.sample.finish(w.sample); err != nil {
		return w.fail(err)
	}
	g.sample = nil
	return nil
}

// Entries is the number of entries appended so far.
func (w *Writer) Entries() int64 { return w.meta.Entries }

// Bytes is the number of bytes that the file has so far, without the open block and those that Behind still has.
func (w *Writer) Bytes() int64 { return w.bc.Offset() }

// appendSamples appends the samples' descriptions and configuration, or that there are none.
func (w *Writer) appendSamples(block []byte) ([]byte, error) {
	block = appendFlag(block, w.o.Sampler != nil)
	if w.o.Sampler == nil {
		return block, nil
	}
	return w.o.Sampler.append(append(block, w.sample...))
}

func (w *Writer) writeBloom() error {
	if w.bloom == nil {
		return nil
	}
	block, err := w.bloom.append(nil)
	if err != nil {
		return err
	}
	w.bloom = nil
	return w.bc.WriteMeta(bloomName, block)
}

// Finish writes the indexes and the container's end, and returns what is known of the file; number, name and ages are
// the caller's to fill in.
func (w *Writer) Finish() (tablet.FileMeta, error) {
	if err := w.finishGroup(); err != nil {
		return tablet.FileMeta{}, err
	}
	if err := w.writeBloom(); err != nil {
		return tablet.FileMeta{}, w.fail(err)
	}
	block := binary.BigEndian.AppendUint32(nil, indexMagic)
	block = binary.BigEndian.AppendUint32(block, version8)
	block = binary.BigEndian.AppendUint32(block, uint32(len(w.groups)))
	block = append(block, w.index...)
	block, err := w.appendSamples(block)
	if err != nil {
		return tablet.FileMeta{}, w.fail(err)
	}
	if err := w.bc.WriteMeta(indexName, block); err != nil {
		return tablet.FileMeta{}, w.fail(err)
	}
	sum, err := w.bc.Finish()
	if err != nil {
		return tablet.FileMeta{}, w.fail(err)
	}
	w.fail(fmt.Errorf("rfile writer: %w", tablet.ErrClosed))
	m := w.meta
	m.Bytes, m.ID, m.CRC = sum.Bytes, sum.FileID, sum.CRC
	if m.Entries == 0 {
		m.MinTimestamp, m.MaxTimestamp = 0, 0
	}
	return m, nil
}
