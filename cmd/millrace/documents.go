package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"millrace/tablet"
	"millrace/tablet/rfile"
)

// keyDocument is a key in JSON: fields in hex, the timestamp as a decimal string because not every reader of JSON has
// 64-bit integers.
type keyDocument struct {
	Row        string `json:"row"`
	Family     string `json:"cf"`
	Qualifier  string `json:"cq"`
	Visibility string `json:"cv"`
	Timestamp  string `json:"ts"`
	Deleted    bool   `json:"del"`
}

func newKeyDocument(k *tablet.Key) *keyDocument {
	return &keyDocument{
		Row: hex.EncodeToString(k.Row()), Family: hex.EncodeToString(k.Family()), Qualifier: hex.EncodeToString(k.Qualifier()),
		Visibility: hex.EncodeToString(k.Visibility()), Timestamp: strconv.FormatInt(k.Timestamp(), 10), Deleted: k.Deleted(),
	}
}

// familyDocument is a family that a group lists.
type familyDocument struct {
	Family string `json:"cf"`
	Count  int64  `json:"count"`
}

// familyDocuments is nil, null in JSON, when the group does not track its families.
func familyDocuments(g *rfile.Group) []familyDocument {
	if !g.Tracked {
		return nil
	}
	docs := []familyDocument{}
	for _, f := range g.Families {
		docs = append(docs, familyDocument{hex.EncodeToString(f.Family), f.Count})
	}
	return docs
}

// groupName is null in JSON for the default group.
func groupName(g *rfile.Group) *string {
	if g.Default {
		return nil
	}
	return &g.Name
}

// showGroup is a group's name for the eye.
func showGroup(name *string) string {
	if name == nil {
		return "default"
	}
	return `"` + printable(*name) + `"`
}

// errorDocument is what is wrong with a file.
type errorDocument struct {
	File   string `json:"file"`
	Offset *int64 `json:"offset,omitempty"` // of damage
	What   string `json:"what"`
}

func newErrorDocument(file string, err error) *errorDocument {
	var c *tablet.CorruptError
	if errors.As(err, &c) {
		return &errorDocument{File: c.File, Offset: &c.Offset, What: printable(c.What)}
	}
	return &errorDocument{File: file, What: oneLine(err.Error())}
}

// failedFile is a file of which nothing else is known.
type failedFile struct {
	File  string         `json:"file"`
	Error *errorDocument `json:"error"`
}

// filesDocument is what a command prints as JSON that was given several files.
type filesDocument struct {
	Schema string `json:"schema"`
	Files  []any  `json:"files"`
}

// writeFiles prints one object for each file: a list of them, or with a single file that object with the schema in it.
func (e *env) writeFiles(schema string, docs []any) error {
	if len(docs) != 1 {
		return e.writeJSON(filesDocument{schema, docs})
	}
	object, err := encodeJSON(docs[0])
	if err != nil {
		return err
	}
	flat := fmt.Appendf(nil, `{"schema":%q,`, schema)
	return e.writeIndented(append(flat, object[1:]...))
}

// containerVersion is a container's version as in JSON: major and minor.
func containerVersion(r *rfile.Reader) []int {
	v := r.Container().Version()
	return []int{int(v.Major), int(v.Minor)}
}
