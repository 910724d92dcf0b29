package rfile

import (
	"bytes"
	"context"

	"millrace/tablet"
)

// GroupReport is what Verify found in a group.
type GroupReport struct {
	Group   *Group
	Entries int64
	Deletes int64
	SHA256  string // of the group's entries in file order, see Digest
}

// Verify decodes every entry of every group, samples included, and holds it against the index, the counts and the Bloom filter. Damage is
// a tablet.CorruptError. It returns the groups in file order, without the samples. progress, if not nil, is told the
// number of entries seen, now and then.
func (r *Reader) Verify(ctx context.Context, progress func(entries int64)) ([]GroupReport, error) {
	var reports []GroupReport
	seen := int64(0)
	for _, g := range append(append([]*Group(nil), r.groups...), r.samples...) {
		v := verifier{r: r, g: g, progress: progress, seen: seen}
		report, err := v.run(ctx)
		if err != nil {
			return reports, err
		}
		seen = v.seen
		if !g.sample {
			reports = append(reports, report)
		}
	}
	return reports, nil
}

// verifier checks one group.
type verifier struct {
	r        *Reader
	g        *Group
	progress func(int64)
	seen     int64
	families map[string]*int64
	family   []byte // counted last, and its counter
	counter  *int64
	first    tablet.Key
	bloom    *Bloom
	report   GroupReport
}

func (v *verifier) run(ctx context.Context) (GroupReport, error) {
	v.report.Group = v.g
	var err error
	if v.bloom, err = v.r.Bloom(); err != nil {
		return v.report, err
	}
	blocks := int64(0)
	err = v.r.Walk(ctx, v.g, Visitor{Leaf: func(l LeafInfo) error {
		blocks += int64(l.Entries)
		return nil
	}})
	if err != nil {
		return v.report, err
	}
	if err := v.decode(ctx); err != nil {
		return v.report, err
	}
	if blocks != v.report.Entries {
		return v.report, v.corrupt("index counts %d entries, the blocks hold %d", blocks, v.report.Entries)
	}
	return v.report, v.checkCounts()
}

func (v *verifier) decode(ctx context.Context) error {
	c := v.r.Cursor(v.g, CursorOptions{BatchEntries: 1024})
	defer c.Close()
	if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return err
	}
	v.families = map[string]*int64{}
	digest := NewDigest()
	for {
		b, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			v.report.SHA256 = digest.Hex()
			return nil
		}
		v.take(b)
		if err := v.checkBloom(b); err != nil {
			return err
		}
		digest.AddRun(b, 0, b.Len())
		if v.progress != nil {
			v.progress(v.seen)
		}
	}
}

func (v *verifier) take(b *tablet.Batch) {
	if v.report.Entries == 0 {
		v.first = b.Key(0).Clone()
	}
	n := int64(b.Len())
	v.report.Entries += n
	v.seen += n
	for i := range b.Refs {
		if b.Refs[i].Deleted {
			v.report.Deletes++
		}
		if v.g.Tracked {
			v.count(b.Key(i).Family())
		}
	}
}

// checkBloom looks for entries that the file's Bloom filter would hide.
func (v *verifier) checkBloom(b *tablet.Batch) error {
	if v.bloom == nil {
		return nil
	}
	for i := range b.Refs {
		if i > 0 && b.Codes[i] < functorCodes[v.bloom.functor] {
			continue // the prefix is that of the entry before
		}
		if k := b.Key(i); !v.bloom.mayContain(v.bloom.functor.of(&k)) {
			meta, _ := v.r.bc.Meta(bloomName)
			return tablet.Corruptf(v.r.Name(), meta.Region.Offset, "%s lacks %v, which is in %v", bloomName, k, v.g)
		}
	}
	return nil
}

// functorCodes are the bounds below which a code says that a functor's fields did not change.
var functorCodes = [...]uint64{1: tablet.CodeSameRow, 2: tablet.CodeSameFamily, 3: tablet.CodeSameQualifier}

func (v *verifier) count(family []byte) {
	if v.counter == nil || !bytes.Equal(v.family, family) {
		if v.counter = v.families[string(family)]; v.counter == nil {
			v.counter = new(int64)
			v.families[string(family)] = v.counter
		}
		v.family = append(v.family[:0], family...)
	}
	*v.counter++
}

func (v *verifier) checkCounts() error {
	if v.g.HasFirstKey && tablet.Compare(&v.g.FirstKey, &v.first) != 0 {
		return v.corrupt("first key recorded as %v is %v", v.g.FirstKey, v.first)
	}
	for _, c := range v.g.Families {
		n := int64(0)
		if counter := v.families[string(c.Family)]; counter != nil {
			n = *counter
		}
		if n != c.Count {
			return v.corrupt("family %q recorded with %d entries has %d", c.Family, c.Count, n)
		}
		delete(v.families, string(c.Family))
	}
	for f, n := range v.families {
		return v.corrupt("family %q with %d entries is not listed", f, *n)
	}
	return nil
}

func (v *verifier) corrupt(format string, args ...any) error {
	offset := int64(0)
	if meta, ok := v.r.bc.Meta(indexName); ok {
		offset = meta.Region.Offset
	}
	return tablet.Corruptf(v.r.Name(), offset, v.g.String()+": "+format, args...)
}
