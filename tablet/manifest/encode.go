package manifest

import (
	"encoding/binary"
	"maps"
	"slices"
)

func appendUint(dst []byte, n uint64) []byte { return binary.AppendUvarint(dst, n) }
func appendCount(dst []byte, n int) []byte   { return binary.AppendUvarint(dst, uint64(n)) }
func appendInt(dst []byte, n int64) []byte   { return binary.AppendVarint(dst, n) }

func appendText(dst []byte, s string) []byte { return append(appendCount(dst, len(s)), s...) }

// appendRow appends a row that may be nil.
func appendRow(dst, row []byte) []byte {
	if row == nil {
		return appendCount(dst, 0)
	}
	return append(appendCount(dst, len(row)+1), row...)
}

func appendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func appendNumbers(dst []byte, numbers []uint64) []byte {
	dst = appendCount(dst, len(numbers))
	for _, n := range numbers {
		dst = appendUint(dst, n)
	}
	return dst
}

func appendProperties(dst []byte, p map[string]string) []byte {
	dst = appendCount(dst, len(p))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		dst = appendText(appendText(dst, name), p[name])
	}
	return dst
}

func appendFile(dst []byte, f *FileRef) []byte {
	dst = appendUint(dst, f.Number)
	dst = appendText(dst, f.Name)
	dst = appendInt(dst, f.Bytes)
	dst = appendInt(dst, f.Entries)
	dst = appendInt(dst, f.Deletes)
	dst = appendRow(dst, f.FirstRow)
	dst = appendRow(dst, f.LastRow)
	dst = appendBool(dst, f.TimestampsKnown)
	dst = appendInt(dst, f.MinTimestamp)
	dst = appendInt(dst, f.MaxTimestamp)
	dst = appendUint(dst, f.Ages.Oldest)
	dst = appendUint(dst, f.Ages.Newest)
	dst = append(dst, f.ID[:]...)
	dst = binary.BigEndian.AppendUint32(dst, f.CRC)
	dst = appendRow(dst, f.Fence.After)
	return appendRow(dst, f.Fence.Last)
}

func appendFiles(dst []byte, files []FileRef) []byte {
	dst = appendCount(dst, len(files))
	for i := range files {
		dst = appendFile(dst, &files[i])
	}
	return dst
}

// appendOptionalFile appends a list of at most one.
func appendOptionalFile(dst []byte, f *FileRef) []byte {
	if f == nil {
		return appendCount(dst, 0)
	}
	return appendFile(appendCount(dst, 1), f)
}

func appendTablet(dst []byte, t *Tablet) []byte {
	dst = appendUint(dst, t.Number)
	dst = appendRow(dst, t.Extent.EndRow)
	dst = appendInt(dst, t.Time)
	dst = appendUint(dst, t.Session)
	dst = appendUint(dst, t.NextAge)
	return appendFiles(dst, t.Files)
}

// appendEdits appends the payload of an edits record.
func appendEdits(dst []byte, edits []Edit) []byte {
	dst = append(dst, kindEdits, formatVersion)
	dst = appendCount(dst, len(edits))
	var body []byte
	for _, e := range edits {
		body = e.encode(body[:0])
		dst = append(dst, byte(e.code()))
		dst = append(appendCount(dst, len(body)), body...)
	}
	return dst
}

func (e CreateTable) code() editCode   { return codeCreateTable }
func (e DropTable) code() editCode     { return codeDropTable }
func (e SetProperties) code() editCode { return codeSetProperties }
func (e Install) code() editCode       { return codeInstall }
func (e Swap) code() editCode          { return codeSwap }
func (e Import) code() editCode        { return codeImport }
func (e Split) code() editCode         { return codeSplit }
func (e Advance) code() editCode       { return codeAdvance }
func (e Open) code() editCode          { return codeOpen }

func (e CreateTable) encode(dst []byte) []byte {
	dst = appendText(dst, e.Table)
	dst = appendUint(dst, e.ID)
	dst = appendProperties(dst, e.Properties)
	dst = appendCount(dst, len(e.Splits))
	for _, row := range e.Splits {
		dst = appendText(dst, string(row))
	}
	return appendNumbers(dst, e.Tablets)
}

func (e DropTable) encode(dst []byte) []byte { return appendText(dst, e.Table) }

func (e SetProperties) encode(dst []byte) []byte {
	return appendProperties(appendText(dst, e.Table), e.Properties)
}

func (e Install) encode(dst []byte) []byte {
	dst = appendUint(dst, e.Tablet)
	dst = appendUint(dst, e.Session)
	dst = appendInt(dst, e.Time)
	dst = appendNumbers(dst, e.Remove)
	return appendOptionalFile(dst, e.Add)
}

func (e Swap) encode(dst []byte) []byte {
	dst = appendUint(dst, e.Tablet)
	dst = appendNumbers(dst, e.Remove)
	return appendOptionalFile(dst, e.Add)
}

func (e Import) encode(dst []byte) []byte { return appendFiles(appendUint(dst, e.Tablet), e.Add) }

func (e Split) encode(dst []byte) []byte {
	dst = appendUint(dst, e.Tablet)
	dst = appendText(dst, string(e.Row))
	for _, h := range []Half{e.Low, e.High} {
		dst = appendNumbers(appendUint(dst, h.Number), h.Files)
	}
	return dst
}

func (e Advance) encode(dst []byte) []byte {
	return appendUint(appendUint(dst, e.NextNumber), e.NextLSN)
}
func (e Open) encode(dst []byte) []byte { return appendUint(appendUint(dst, e.NextNumber), e.NextLSN) }
