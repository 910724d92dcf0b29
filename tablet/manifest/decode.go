package manifest

import (
	"encoding/binary"
	"fmt"
)

// leastFile is the bytes that the shortest encoding of a file takes.
const leastFile = 12 + 16 + 4 + 2

func (in *input) file() FileRef {
	var f FileRef
	f.Number = in.uint("file number")
	f.Name = in.text("file name")
	f.Bytes = in.int("file size")
	f.Entries = in.int("entries")
	f.Deletes = in.int("deletes")
	f.FirstRow = in.row("first row")
	f.LastRow = in.row("last row")
	f.TimestampsKnown = in.bool("timestamps known")
	f.MinTimestamp = in.int("least timestamp")
	f.MaxTimestamp = in.int("greatest timestamp")
	f.Ages.Oldest = in.uint("oldest age")
	f.Ages.Newest = in.uint("newest age")
	copy(f.ID[:], in.take("file identity", len(f.ID)))
	if crc := in.take("file CRC", 4); crc != nil {
		f.CRC = binary.BigEndian.Uint32(crc)
	}
	f.Fence.After = in.row("fence start")
	f.Fence.Last = in.row("fence end")
	if why := checkFile(&f); in.err == nil && why != "" {
		in.fail("file", "%d: %s", f.Number, why)
	}
	return f
}

func (in *input) files() []FileRef {
	n := in.count("number of files", leastFile)
	var files []FileRef
	for i := 0; i < n && in.err == nil; i++ {
		files = append(files, in.file())
	}
	return files
}

func (in *input) optionalFile() *FileRef {
	switch files := in.files(); len(files) {
	case 0:
		return nil
	case 1:
		return &files[0]
	default:
		in.fail("number of files", "%d, where one at most is expected", len(files))
		return nil
	}
}

// edits decodes the rest of an edits record.
func (in *input) edits() ([]Edit, error) {
	n := in.count("number of edits", 2)
	var edits []Edit
	for i := 0; i < n && in.err == nil; i++ {
		code := editCode(in.byte("edit kind"))
		body := &input{b: in.bytes("edit")}
		if in.err != nil {
			break
		}
		e := body.edit(code)
		if err := body.end(); isUnsupported(err) {
			return nil, err
		} else if err != nil {
			in.fail("edit", "%v", err)
			break
		}
		edits = append(edits, e)
	}
	if err := in.end(); err != nil {
		return nil, err
	}
	return edits, nil
}

func (in *input) edit(code editCode) Edit {
	switch code {
	case codeCreateTable:
		return in.createTable()
	case codeDropTable:
		return DropTable{Table: in.text("table name")}
	case codeSetProperties:
		return SetProperties{Table: in.text("table name"), Properties: in.properties()}
	case codeInstall:
		return Install{Tablet: in.uint("tablet"), Session: in.uint("session"), Time: in.int("time"),
			Remove: in.numbers("removed file"), Add: in.optionalFile()}
	case codeSwap:
		return Swap{Tablet: in.uint("tablet"), Remove: in.numbers("removed file"), Add: in.optionalFile()}
	case codeImport:
		return Import{Tablet: in.uint("tablet"), Add: in.files()}
	case codeSplit:
		return in.split()
	case codeAdvance:
		return Advance{NextNumber: in.uint("next number"), NextLSN: in.uint("next sequence number")}
	case codeOpen:
		return Open{NextNumber: in.uint("next number"), NextLSN: in.uint("next sequence number")}
	}
	in.err = unsupported(fmt.Sprintf("edit of unknown kind %d", code))
	return nil
}

func (in *input) createTable() CreateTable {
	e := CreateTable{Table: in.text("table name"), ID: in.uint("table ID"), Properties: in.properties()}
	n := in.count("number of splits", 1)
	for i := 0; i < n && in.err == nil; i++ {
		e.Splits = append(e.Splits, append([]byte{}, in.bytes("split row")...))
	}
	e.Tablets = in.numbers("tablet")
	return e
}

func (in *input) split() Split {
	e := Split{Tablet: in.uint("tablet"), Row: append([]byte{}, in.bytes("split row")...)}
	for _, h := range []*Half{&e.Low, &e.High} {
		h.Number = in.uint("half")
		h.Files = in.numbers("file of a half")
	}
	return e
}
