package bcfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"millrace/tablet"
)

// openTailBytes is read first; it nearly always holds trailer, meta index and BCFile.index.
const openTailBytes = 4 << 10

// open decodes the frame from the back. It trusts the trailer; explain has the last word when that fails.
func open(src *source, opts ReaderOptions) (*Reader, error) {
	if src.size < minFileBytes {
		return nil, src.corrupt(0, "%d bytes are too few for a BCFile", src.size)
	}
	if err := src.loadTail(openTailBytes); err != nil {
		return nil, err
	}
	r := &Reader{src: src, opts: opts}
	steps := []func() error{r.readTrailer, r.readMetaIndex, r.readSums, r.readIndexBlock}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (r *Reader) readTrailer() error {
	tail, size := r.src.tail, r.src.size
	if string(tail[len(tail)-magicBytes:]) != magic {
		return r.src.corrupt(size-magicBytes, "not a BCFile, or cut: its last 16 bytes are not the magic")
	}
	var err error
	r.footer, err = parseTrailer(tail, size)
	if errors.Is(err, errVersion) {
		return fmt.Errorf("%s: %w: %w", r.src.name, err, tablet.ErrUnsupported)
	}
	if err != nil {
		return r.src.corrupt(size-r.footer.version.trailerBytes(), "trailer: %v", err)
	}
	return nil
}

// readMetaIndex also reads the crypto section, which follows directly.
func (r *Reader) readMetaIndex() error {
	indexEnd := r.src.size - r.footer.version.trailerBytes()
	if r.footer.version == V3 {
		if err := r.readCrypto(indexEnd); err != nil {
			return err
		}
		indexEnd = r.footer.crypto
	}
	length := indexEnd - r.footer.metaIndex
	if length > r.opts.MaxBlockBytes {
		return r.src.corrupt(r.footer.metaIndex, "meta index of %d bytes", length)
	}
	b := make([]byte, length)
	if err := r.src.read(b, r.footer.metaIndex); err != nil {
		return err
	}
	metas, at, err := parseMetaIndex(b, r.footer.metaIndex)
	if err != nil {
		return r.src.corrupt(r.footer.metaIndex+int64(at), "%v", err)
	}
	r.metas = metas
	for _, m := range metas {
		if _, err := findCodec(m.Codec); err != nil {
			return fmt.Errorf("%s: block %q: %w", r.src.name, m.Name, err)
		}
	}
	return nil
}

func (r *Reader) readCrypto(end int64) error {
	at := r.footer.crypto
	var head [4]byte
	if err := r.src.read(head[:], at); err != nil {
		return err
	}
	n := int64(int32(binary.BigEndian.Uint32(head[:])))
	if at+4+n != end {
		return r.src.corrupt(at, "crypto section of %d bytes, between meta index and trailer are %d", n, end-at-4)
	}
	if n > r.opts.MaxBlockBytes {
		return r.src.corrupt(at, "crypto parameters of %d bytes", n)
	}
	r.crypto = make([]byte, n)
	if err := r.src.read(r.crypto, at+4); err != nil {
		return err
	}
	if string(r.crypto) != plainCrypto {
		return fmt.Errorf("%s: encrypted, crypto parameters of %d bytes: %w", r.src.name, n, tablet.ErrUnsupported)
	}
	return nil
}

// readSums loads the file's own sums, or takes the sidecar, and checks the bytes outside blocks.
func (r *Reader) readSums() error {
	m, found := r.Meta(SumsName)
	if err := r.checkNoHiddenSums(found); err != nil {
		return err
	}
	switch {
	case r.opts.SkipSums:
		return nil
	case found:
		sums, err := r.loadOwnSums(m)
		if err != nil {
			return err
		}
		r.sums = sums
	case r.opts.Sidecar != nil:
		r.sums = r.opts.Sidecar
		if r.sums.end() != r.footer.metaIndex {
			return r.src.corrupt(r.footer.metaIndex, "blocks end here, by the sidecar of checksums at %d", r.sums.end())
		}
	default:
		return nil
	}
	if err := checkOutside(r.src, r.sums, r.footer.metaIndex); err != nil {
		return err
	}
	for _, m := range r.metas {
		if _, ok := r.sums.Find(m.Region.Offset, m.Region.Stored); !ok && m.Name != SumsName {
			return r.src.corrupt(m.Region.Offset, "%s does not list the block %q of %d bytes", SumsName, m.Name, m.Region.Stored)
		}
	}
	return nil
}

func (r *Reader) loadOwnSums(m MetaBlock) (*Sums, error) {
	reg := m.Region
	if m.Codec != None || reg.Raw != reg.Stored || reg.End() != r.footer.metaIndex {
		return nil, r.src.corrupt(reg.Offset, "%s: codec %s, %d bytes stored, %d raw, ends at %d; expected to be plain and to end at %d", SumsName, m.Codec, reg.Stored, reg.Raw, reg.End(), r.footer.metaIndex)
	}
	if reg.Stored > sumsBytes(maxSumsBlocks) {
		return nil, r.src.corrupt(reg.Offset, "%s of %d bytes", SumsName, reg.Stored)
	}
	b := make([]byte, reg.Stored)
	if err := r.src.read(b, reg.Offset); err != nil {
		return nil, err
	}
	sums, err := parseSums(b)
	if err != nil {
		return nil, sumsError(r.src.name, reg.Offset, err)
	}
	if sums.end() != reg.Offset {
		return nil, r.src.corrupt(reg.Offset, "%s stands here but lists blocks up to %d", SumsName, sums.end())
	}
	return sums, nil
}

// checkNoHiddenSums finds sums that the meta index does not name, by the end magic that would stand before it.
func (r *Reader) checkNoHiddenSums(named bool) error {
	at := r.footer.metaIndex - int64(len(sumsEndMagic))
	if named || at < firstBlock {
		return nil
	}
	var end [len(sumsEndMagic)]byte
	if err := r.src.read(end[:], at); err != nil {
		return err
	}
	if string(end[:]) == sumsEndMagic {
		return r.src.corrupt(r.footer.metaIndex, "meta index does not name %s, which stands before it", SumsName)
	}
	return nil
}

func (r *Reader) readIndexBlock() error {
	m, ok := r.Meta(indexName)
	if !ok {
		return r.src.corrupt(r.footer.metaIndex, "meta index names no %s", indexName)
	}
	raw, err := r.ReadMeta(m)
	if err != nil {
		return err
	}
	name, regions, err := parseIndexBlock(raw, r.footer.metaIndex)
	if err != nil {
		return r.src.corrupt(m.Region.Offset, "%s: %v", indexName, err)
	}
	r.regions = regions
	if r.codec, err = findCodec(name); err != nil {
		return fmt.Errorf("%s: %w", r.src.name, err)
	}
	return nil
}

// outsideChecksum is the checksum of the first magic and of all from blocksEnd on.
func outsideChecksum(src *source, blocksEnd int64) (uint32, error) {
	crc, err := src.checksum(0, 0, firstBlock)
	if err != nil {
		return 0, err
	}
	return src.checksum(crc, blocksEnd, src.size)
}

// checkOutside compares all bytes outside blocks with the sums and says which of them are wrong.
func checkOutside(src *source, sums *Sums, blocksEnd int64) error {
	crc, err := outsideChecksum(src, blocksEnd)
	if err != nil || crc == sums.outside() {
		return err
	}
	at, section, err := locateOutside(src, sums.outside(), blocksEnd)
	if err != nil {
		return err
	}
	return src.corrupt(at, "%s: bytes outside blocks have CRC32C %08x, %s says %08x", section, crc, SumsName, sums.outside())
}

// locateOutside finds which section made the checksum of the bytes outside blocks differ. First magic, crypto section
// and trailer are known by where they stand; if putting them right does not mend the checksum, it is the meta index.
func locateOutside(src *source, want uint32, blocksEnd int64) (at int64, section string, err error) {
	var head [magicBytes]byte
	if err := src.read(head[:], 0); err != nil {
		return 0, "", err
	}
	if i := firstDifference(head[:], []byte(magic)); i >= 0 {
		return int64(i), "first magic", nil
	}
	for _, v := range []Version{V1, V3} {
		length := int64(len(appendFooter(nil, v, 0, 0)))
		footerAt := src.size - length
		if footerAt < blocksEnd {
			continue
		}
		right := appendFooter(nil, v, blocksEnd, footerAt-blocksEnd)
		crc, err := src.checksum(crc32.Checksum(head[:], castagnoli), blocksEnd, footerAt)
		if err != nil {
			return 0, "", err
		}
		if crc32.Update(crc, castagnoli, right) != want {
			continue
		}
		found := make([]byte, length)
		if err := src.read(found, footerAt); err != nil {
			return 0, "", err
		}
		return footerAt + int64(max(0, firstDifference(found, right))), "crypto section or trailer", nil
	}
	return blocksEnd, "meta index", nil
}

// firstDifference returns the first place where a and b, of one length, differ; -1 when nowhere.
func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
