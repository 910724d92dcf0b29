package bcfile

import (
	"context"
	"fmt"
	"hash/crc32"

	"millrace/internal/vfs"
)

// Report says what Verify looked at.
type Report struct {
	Bytes   int64
	CRC     uint32 // CRC32C of the whole file
	Version Version
	Codec   string
	HasSums bool
	FileID  [16]byte // all zero without sums
	Blocks  int      // blocks whose checksum was compared, millrace.sums included
	Decoded int      // blocks that were decompressed: the named ones and those that BCFile.index lists
}

// verifyBufferBytes is how much of the file Verify holds at a time.
const verifyBufferBytes = 256 << 10

// Verify checks a whole file at the level of the container, with bounded memory. A file with sums is first held against
// them, every byte of it, before anything in it is believed: any damage to a file that we wrote is tablet.ErrCorrupt.
// Then, as in a file without sums, the frame is opened and the blocks that it names are decompressed. progress, if not
// nil, is told how many of the file's bytes have been read.
func Verify(ctx context.Context, f vfs.File, progress func(bytes int64)) (Report, error) {
	return VerifyWith(ctx, f, ReaderOptions{}, progress)
}

// VerifyWith is Verify with a sidecar or other limits.
func VerifyWith(ctx context.Context, f vfs.File, opts ReaderOptions, progress func(bytes int64)) (Report, error) {
	return verify(ctx, f, opts, progress, true)
}

// VerifyFrame is VerifyWith without the pass over the file: it checks all that lies outside blocks, and the blocks that
// the container itself knows of. The caller sees to the others, each of which a BlockReader holds against its checksum;
// see Coverage for those that nothing leads to. Report.CRC stays 0, and Blocks counts no block but the sums.
func VerifyFrame(ctx context.Context, f vfs.File, opts ReaderOptions) (Report, error) {
	return verify(ctx, f, opts, nil, false)
}

func verify(ctx context.Context, f vfs.File, opts ReaderOptions, progress func(bytes int64), whole bool) (Report, error) {
	src, err := newSource(f)
	if err != nil {
		return Report{}, err
	}
	if progress == nil {
		progress = func(int64) {}
	}
	v := &verifier{src: src, progress: progress, report: Report{Bytes: src.size}}
	opts = opts.withDefaults()
	opts.SkipSums = false
	if err := v.findSums(opts); err != nil {
		return v.report, err
	}
	if whole {
		if err := v.stream(ctx); err != nil {
			return v.report, err
		}
	}
	return v.report, v.decode(ctx, opts)
}

type verifier struct {
	src      *source
	progress func(int64)
	report   Report
	sums     *Sums

	// state of the pass over the file
	row   int    // of sums, the block that the pass is in
	crc   uint32 // of that block so far
	whole uint32
}

// findSums takes the sums from the end of the file, else from where the frame says, else the sidecar.
func (v *verifier) findSums(opts ReaderOptions) error {
	sums, blocksEnd, err := scanForSums(v.src)
	if err != nil {
		return err
	}
	if sums != nil {
		v.setSums(sums, true)
		return checkOutside(v.src, sums, blocksEnd)
	}
	r, err := open(v.src, opts)
	if err != nil {
		return err
	}
	if r.sums != nil {
		_, own := r.Meta(SumsName)
		v.setSums(r.sums, own)
	}
	return nil
}

func (v *verifier) setSums(sums *Sums, own bool) {
	v.sums = sums
	v.report.HasSums = true
	v.report.FileID = sums.FileID()
	if own {
		v.report.Blocks++
	}
}

// stream reads the file once and compares each block that the sums list.
func (v *verifier) stream(ctx context.Context) error {
	v.src.tail = nil // compare what the file holds
	buf := make([]byte, min(v.src.size, verifyBufferBytes))
	for at := int64(0); at < v.src.size; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("verify %s: %w", v.src.name, err)
		}
		part := buf[:min(int64(len(buf)), v.src.size-at)]
		if err := v.src.read(part, at); err != nil {
			return err
		}
		v.whole = crc32.Update(v.whole, castagnoli, part)
		if err := v.compare(part, at); err != nil {
			return err
		}
		at += int64(len(part))
		v.progress(at)
	}
	v.report.CRC = v.whole
	return nil
}

// compare continues the blocks' checksums over a part of the file.
func (v *verifier) compare(part []byte, at int64) error {
	for v.sums != nil && v.row < v.sums.Len() {
		sum := v.sums.At(v.row)
		end := sum.Offset + sum.Stored
		from, to := max(sum.Offset, at), min(end, at+int64(len(part)))
		if from < to {
			v.crc = crc32.Update(v.crc, castagnoli, part[from-at:to-at])
		}
		if end > at+int64(len(part)) {
			return nil
		}
		if v.crc != sum.CRC {
			return v.src.corrupt(sum.Offset, "block of %d bytes has CRC32C %08x, %s says %08x", sum.Stored, v.crc, SumsName, sum.CRC)
		}
		v.report.Blocks++
		v.row++
		v.crc = 0
	}
	return nil
}

// decode opens the frame and decompresses all blocks that the container knows of.
func (v *verifier) decode(ctx context.Context, opts ReaderOptions) error {
	r, err := open(v.src, opts)
	if err != nil {
		return err
	}
	v.src.tail = nil
	v.report.Version, v.report.Codec = r.Version(), r.Codec()
	for _, m := range r.metas {
		if _, err := r.ReadMeta(m); err != nil {
			return err
		}
		v.report.Decoded++
	}
	b := r.NewBlockReader()
	defer b.Close()
	for _, reg := range r.regions {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("verify %s: %w", v.src.name, err)
		}
		if _, err := b.Read(reg); err != nil {
			return err
		}
		v.report.Decoded++
	}
	return nil
}
