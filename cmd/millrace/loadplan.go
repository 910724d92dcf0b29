package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"millrace/tablet"
)

// loadPlan says for Accumulo's bulk import which rows of a table each file of a directory holds. Its JSON is that of
// LoadPlan.toJson and LoadPlan.fromJson in Accumulo 2.1.4 and later, which refuses fields beside these; rows are base64 of
// the URL alphabet with padding, null where there is no bound.
//
// Source: Accumulo core.data.LoadPlan.
type loadPlan struct {
	Destinations []destination `json:"destinations"`
}

type destination struct {
	FileName string  `json:"fileName"`
	StartRow *string `json:"startRow"`
	EndRow   *string `json:"endRow"`
	Type     string  `json:"rangeType"`
}

// The types of a destination. The rows of a TABLE range are split rows of the table, the first exclusive; those of a FILE
// range are the first and the last row of the file.
const (
	planTable = "TABLE"
	planFile  = "FILE"
)

func newLoadPlan() *loadPlan { return &loadPlan{Destinations: []destination{}} }

// addExtent sends a file to a tablet.
func (p *loadPlan) addExtent(file string, e tablet.Extent) {
	p.Destinations = append(p.Destinations, destination{file, planRow(e.PrevEndRow), planRow(e.EndRow), planTable})
}

// addRows says what rows a file has.
func (p *loadPlan) addRows(file string, first, last []byte) {
	p.Destinations = append(p.Destinations, destination{file, planRow(first), planRow(last), planFile})
}

func planRow(row []byte) *string {
	if row == nil {
		return nil
	}
	text := base64.URLEncoding.EncodeToString(row)
	return &text
}

// encode is the plan as Accumulo writes it, as one line.
func (p *loadPlan) encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// planName is a file's name in a plan. Import takes all files from one directory, and no others than those of the plan.
func planName(path string, taken map[string]bool) (string, error) {
	name := filepath.Base(path)
	switch {
	case !strings.HasSuffix(name, ".rf"):
		return "", usagef("a load plan cannot name %s: bulk import takes files whose names end in .rf", printable(path))
	case !utf8.ValidString(name) || strings.Contains(name, `\`):
		return "", usagef("a load plan cannot name %s: JSON and Accumulo would read the name otherwise", printable(path))
	case taken[name]:
		return "", usagef("a load plan names files of one directory, but %s is given twice", printable(name))
	}
	taken[name] = true
	return name, nil
}

// checkPlanPath refuses names of a plan that would hinder the import beside the files.
func checkPlanPath(path string) error {
	switch name := filepath.Base(path); {
	case strings.HasSuffix(name, ".rf"):
		return usagef("--load-plan %s has the name of an RFile", printable(path))
	case name == "loadmap.json":
		return usagef("--load-plan %s has the name that Accumulo's import keeps for itself", printable(path))
	}
	return nil
}

// createPlan begins the output of a plan.
func (e *env) createPlan(path string, force bool, inputs ...string) (*output, error) {
	if path == "-" {
		return nil, usagef("--load-plan wants a file")
	}
	return e.create(path, force, inputs...)
}

// writePlan completes the output of a plan, but for its name.
func writePlan(o *output, p *loadPlan) error {
	text, err := p.encode()
	if err != nil {
		return err
	}
	if _, err := o.file.Write(text); err != nil {
		return fmt.Errorf("write %s: %w", o.path, err)
	}
	return o.complete()
}
