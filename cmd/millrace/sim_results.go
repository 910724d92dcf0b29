package main

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"

	"millrace/sim/experiment"
	"millrace/tablet/iter"
)

// results are the files that an experiment's results go to. They are begun before it runs, so that what is wrong with them
// is said first, and appear when it is over.
type results struct {
	json, csv *output    // nil where none was asked for
	plots     *outputDir // the same
}

// results begins the files of --json and, if they have names, of --csv and --plots.
func (e *env) results(f *resultFlags, csv, plots string, plotNames []string) (r results, err error) {
	defer func() {
		if err != nil {
			err = r.end(err)
		}
	}()
	if f.json != "" {
		if r.json, err = e.create(f.json, f.force); err != nil {
			return r, err
		}
	}
	if csv != "" {
		if r.csv, err = e.create(csv, f.force, f.json); err != nil {
			return r, err
		}
	}
	if plots != "" {
		r.plots, err = e.createPlots(plots, plotNames, f.force)
	}
	return r, err
}

// createPlots begins files in a directory, which is made unless it is there.
func (e *env) createPlots(path string, names []string, force bool) (*outputDir, error) {
	d := &outputDir{path: path}
	err := d.open(e)
	if errors.Is(err, fs.ErrNotExist) {
		err = d.make(e)
	}
	if err != nil {
		return nil, d.end(err)
	}
	for _, name := range names {
		err := e.checkKind(filepath.Join(path, name))
		var o *output
		if err == nil {
			o, err = d.create(name)
		}
		if err == nil {
			o.force, o.path = force, printable(filepath.Join(path, name))
			err = o.checkFree()
		}
		if err != nil {
			return nil, d.end(err)
		}
	}
	return d, nil
}

// save writes what was found. grid is what --csv takes.
func (r *results) save(document any, grid *grid, plots []experiment.Plot) error {
	if r.json != nil {
		text, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return err
		}
		if err := r.json.write(append(text, '\n')); err != nil {
			return err
		}
	}
	if r.csv != nil {
		if err := r.csv.write([]byte(grid.table().RenderCSV() + "\n")); err != nil {
			return err
		}
	}
	if r.plots == nil {
		return nil
	}
	for _, o := range r.plots.files {
		i := slices.IndexFunc(plots, func(p experiment.Plot) bool { return p.Name == o.name })
		if _, err := o.file.Write(plots[i].SVG); err != nil {
			return err
		}
		if err := o.complete(); err != nil {
			return err
		}
	}
	return r.plots.commit()
}

// write writes a whole file and gives it its name.
func (o *output) write(content []byte) error {
	if _, err := o.file.Write(content); err != nil {
		return err
	}
	return o.commit()
}

// end closes what is open, and removes what was not finished.
func (r *results) end(err error) error {
	for _, o := range []*output{r.json, r.csv} {
		if o != nil {
			err = o.end(err)
		}
	}
	if r.plots != nil {
		err = r.plots.end(err)
	}
	return err
}

// parseModes reads the flag --variants.
func parseModes(names []string) (modes []iter.Mode, err error) {
	for _, name := range names {
		mode, err := iter.ParseMode(name)
		if err != nil {
			return nil, usagef("--variants: %v", err)
		}
		if !slices.Contains(modes, mode) {
			modes = append(modes, mode)
		}
	}
	return modes, nil
}

// modeNames are the names that parseModes reads.
func modeNames() (names []string) {
	for _, mode := range iter.Modes() {
		names = append(names, mode.String())
	}
	return names
}
