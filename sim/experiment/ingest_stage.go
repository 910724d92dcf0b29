package experiment

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"millrace/internal/vfs"
	"millrace/tablet"
	"millrace/tablet/iter"
	"millrace/tablet/rfile"
)

// stage are files of all tablets in a shape, from which tables of any codec are made.
type stage struct {
	shape string
	fs    vfs.FS
	files [][]tablet.FileMeta // of each tablet, the newest first
	clean func() error
}

func (s *stage) close() error { return s.clean() }

// stage makes a shape's files of those that ingest has left, in a temporary directory. The natural shape is there.
func (r *ingestRun) stage(ctx context.Context, shape string) (s *stage, err error) {
	s = &stage{shape: shape, fs: r.fs, files: r.files, clean: func() error { return nil }}
	if shape == ShapeNatural {
		return s, nil
	}
	_, s.fs, s.clean, err = vfs.TempDir("millrace-shape")
	if err != nil {
		return nil, err
	}
	s.files = make([][]tablet.FileMeta, len(r.files))
	for i, files := range r.files {
		r.progress(Phase{Name: "shape " + shape, Done: int64(i), Total: int64(len(r.files)), Unit: "tablets"})
		d := dealer{shape: shape, rng: rand.New(rand.NewPCG(r.o.Seed, uint64(i)))}
		if s.files[i], err = d.deal(ctx, r.fs, files, s.fs, fmt.Sprint("tablet", i)); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

// dealer deals a tablet's entries, in order, to files.
type dealer struct {
	shape   string
	rng     *rand.Rand
	entries int64
	left    []int64 // of each file, how many it still gets
	dealt   int64
	stretch int64
}

// begin says how many entries there are.
func (d *dealer) begin(entries int64) {
	d.entries, d.dealt = entries, 0
	files := min(shapeFiles, entries)
	d.left = make([]int64, files)
	for i := range d.left {
		d.left[i] = entries / files
		if int64(i) < entries%files {
			d.left[i]++
		}
	}
	d.stretch = max(1, (entries+files*shapeStretches-1)/max(files*shapeStretches, 1))
}

// next is the file of the next entry.
func (d *dealer) next() int {
	n := d.dealt
	d.dealt++
	if d.shape == ShapeLongRun {
		return int(n / d.stretch % int64(len(d.left)))
	}
	at := d.rng.Int64N(d.entries - n)
	for i := range d.left {
		if at < d.left[i] {
			d.left[i]--
			return i
		}
		at -= d.left[i]
	}
	panic("more entries than were announced")
}

// deal merges files and writes their entries to new ones.
func (d *dealer) deal(ctx context.Context, from vfs.FS, files []tablet.FileMeta, to vfs.FS, name string) (out []tablet.FileMeta, err error) {
	entries := int64(0)
	for _, f := range files {
		entries += f.Entries
	}
	if entries == 0 {
		return nil, nil
	}
	d.begin(entries)
	sources, closeAll, err := openSources(from, files)
	if err != nil {
		return nil, err
	}
	defer closeAll()
	m := iter.NewPool().Get(iter.Tree, sources)
	defer m.Close()
	w := &dealtFiles{fs: to}
	defer func() { err = errors.Join(err, w.close()) }()
	for i := range d.left {
		if err := w.create(fmt.Sprintf("%s-%d.rf", name, i)); err != nil {
			return nil, err
		}
	}
	err = eachEntry(ctx, m, func(k *tablet.Key, value []byte) error { return w.writers[d.next()].Append(k, value) })
	if err != nil {
		return nil, err
	}
	return w.finish()
}

// eachEntry reads a merge to its end.
func eachEntry(ctx context.Context, m *iter.Merge, f func(k *tablet.Key, value []byte) error) error {
	if err := m.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return err
	}
	runs := make([]iter.Run, 256)
	for {
		n, err := m.Fill(ctx, runs)
		if n == 0 || err != nil {
			return err
		}
		for _, r := range runs[:n] {
			b := m.Batch(r.Src)
			for i := int(r.Lo); i < int(r.Hi); i++ {
				k := b.Key(i)
				if err := f(&k, b.Value(i)); err != nil {
					return err
				}
			}
		}
	}
}

// dealtFiles are files being written side by side.
type dealtFiles struct {
	fs      vfs.FS
	files   []vfs.File // nil once closed
	names   []string
	writers []*rfile.Writer
}

func (d *dealtFiles) create(name string) error {
	f, err := d.fs.Create(name)
	if err != nil {
		return err
	}
	d.files, d.names = append(d.files, f), append(d.names, name)
	w, err := rfile.NewWriter(f, rfile.WriterOptions{Codec: "lz4"})
	if err != nil {
		return err
	}
	d.writers = append(d.writers, w)
	return w.StartDefaultGroup()
}

func (d *dealtFiles) finish() (out []tablet.FileMeta, err error) {
	for i, w := range d.writers {
		meta, err := w.Finish()
		if err != nil {
			return nil, err
		}
		meta.Name = d.names[i]
		f := d.files[i]
		d.files[i] = nil
		if err := f.Close(); err != nil {
			return nil, err
		}
		out = append(out, meta)
	}
	return out, nil
}

func (d *dealtFiles) close() error {
	var errs []error
	for _, f := range d.files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}
