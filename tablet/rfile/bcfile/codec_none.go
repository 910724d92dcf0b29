package bcfile

// noneCompressor stores blocks as they are.
type noneCompressor struct{}

func newNoneCompressor(level int) (Compressor, error) {
	if level != 0 {
		return nil, badLevel(None, level)
	}
	return noneCompressor{}, nil
}

func (noneCompressor) Compress(dst, raw []byte) ([]byte, error) { return append(dst, raw...), nil }

func (noneCompressor) Close() error { return nil }

type noneDecompressor struct{}

func (noneDecompressor) Decompress(dst, stored []byte, rawBytes int) ([]byte, error) {
	switch {
	case len(stored) > rawBytes:
		return dst, errTooLong
	case len(stored) < rawBytes:
		return dst, errTooShort
	}
	return append(dst, stored...), nil
}

func (noneDecompressor) Close() {}
