package main

import (
	"encoding/hex"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

// written describes a file that a command has made, and is its JSON document.
type written struct {
	Schema       string  `json:"schema"`
	File         string  `json:"file"`
	Bytes        int64   `json:"size"`
	Codec        string  `json:"codec"`
	Entries      int64   `json:"entries"`
	Deletes      int64   `json:"deletes"`
	FirstRow     *string `json:"first_row,omitempty"` // hex
	LastRow      *string `json:"last_row,omitempty"`  // hex
	MinTimestamp *string `json:"min_ts,omitempty"`
	MaxTimestamp *string `json:"max_ts,omitempty"`
	CRC32C       uint32  `json:"crc32c"`            // of the whole file
	FileID       string  `json:"file_id,omitempty"` // absent without checksums
	TookNS       int64   `json:"took_ns"`
}

func newWritten(schema, path string, m tablet.FileMeta, o rfile.WriterOptions, took time.Duration) *written {
	w := &written{Schema: schema, File: path, Bytes: m.Bytes, Codec: o.Codec, Entries: m.Entries, Deletes: m.Deletes, CRC32C: m.CRC,
		TookNS: int64(took)}
	if m.Entries > 0 {
		first, last := hex.EncodeToString(m.FirstRow), hex.EncodeToString(m.LastRow)
		low, high := fmt.Sprint(m.MinTimestamp), fmt.Sprint(m.MaxTimestamp)
		w.FirstRow, w.LastRow, w.MinTimestamp, w.MaxTimestamp = &first, &last, &low, &high
	}
	if m.ID != ([16]byte{}) {
		w.FileID = hex.EncodeToString(m.ID[:])
	}
	return w
}

// printWritten prints it as JSON, or as a line of text.
func (e *env) printWritten(w *written, f format) error {
	if f.is(formatJSON) {
		return e.writeJSON(w)
	}
	_, err := fmt.Fprintln(e.out, w.text())
	return err
}

func (w *written) text() string {
	deletes := ""
	if w.Deletes > 0 {
		deletes = ", including " + counted(w.Deletes, "delete marker", "delete markers") + ","
	}
	took := time.Duration(w.TookNS)
	return fmt.Sprintf("%s: %s%s in %s bytes, codec %s, %v, %s entries/s", printable(w.File), counted(w.Entries, "entry", "entries"), deletes,
		humanize.Comma(w.Bytes), w.Codec, took.Round(time.Millisecond), humanize.Comma(perSecond(w.Entries, took)))
}

// perSecond is a rate; that of no time is that of a millisecond.
func perSecond(n int64, took time.Duration) int64 {
	return int64(float64(n) / max(took, time.Millisecond).Seconds())
}
