package rfile

import (
	"context"

	"millrace/tablet"
)

// VerifyOptions says how to verify a file. The zero value is fit for use.
type VerifyOptions struct {
	// Hash computes the digest of each group, which takes the entries one after another: Spread is then of no use.
	Hash bool
	// Ahead is for the cursors that Hash needs; see CursorOptions.
	Ahead func(*Reader, *Group) BlockAhead
	// Spread calls work on as many goroutines as it likes, its own among them, and returns when all calls have: they
	// share the blocks among them. What is found is the same. Default one call, on the caller's.
	Spread func(work func())
	// Progress, if not nil, is told the number of entries seen, now and then. It is called by one goroutine at a time.
	Progress func(entries int64)
}

// GroupReport is what Verify found in a group.
type GroupReport struct {
	Group   *Group
	Entries int64
	Deletes int64
	SHA256  string // of the group's entries in file order, see Digest; empty unless asked for
}

// Verify decodes every entry of every group, samples included, and holds it against the index, the counts and the Bloom
// filter. Damage is a tablet.CorruptError; of several places it is the first one, by group and key, but for an index,
// which is looked through as a whole before its blocks are. It returns the groups in file order, without the samples.
func (r *Reader) Verify(ctx context.Context, o VerifyOptions) ([]GroupReport, error) {
	var reports []GroupReport
	if o.Spread == nil {
		o.Spread = func(work func()) { work() }
	}
	if o.Progress == nil {
		o.Progress = func(int64) {}
	}
	seen := int64(0)
	for _, g := range append(append([]*Group(nil), r.groups...), r.samples...) {
		v := verifier{r: r, g: g, o: o, before: seen}
		if err := v.run(ctx); err != nil {
			return reports, err
		}
		seen += v.found.entries
		if !g.sample {
			reports = append(reports, GroupReport{g, v.found.entries, v.found.deletes, v.sha256})
		}
	}
	return reports, nil
}

// verifier checks one group.
type verifier struct {
	r      *Reader
	g      *Group
	o      VerifyOptions
	before int64 // entries of other groups
	bloom  *Bloom
	found  findings
	sha256 string
}

func (v *verifier) run(ctx context.Context) (err error) {
	if v.bloom, err = v.r.Bloom(); err != nil {
		return err
	}
	entries := int64(0)
	err = v.r.Walk(ctx, v.g, Visitor{Leaf: func(l LeafInfo) error {
		entries += int64(l.Entries)
		return nil
	}})
	if err != nil {
		return err
	}
	if v.o.Hash {
		err = v.decode(ctx)
	} else {
		err = v.checkBlocks(ctx)
	}
	if err != nil {
		return err
	}
	if entries != v.found.entries {
		return v.corrupt("index counts %d entries, the blocks hold %d", entries, v.found.entries)
	}
	return v.checkCounts()
}

// decode looks at all entries in their order.
func (v *verifier) decode(ctx context.Context) error {
	c := v.r.Cursor(v.g, CursorOptions{BatchEntries: 1024, Ahead: v.o.Ahead})
	defer c.Close()
	if err := c.Seek(ctx, tablet.Range{}, tablet.Families{}); err != nil {
		return err
	}
	digest := NewDigest()
	for {
		b, err := c.Next(ctx)
		if err != nil {
			return err
		}
		if b == nil {
			v.sha256 = digest.Hex()
			return nil
		}
		v.take(b)
		if err := v.checkBloom(b); err != nil {
			return err
		}
		digest.AddRun(b, 0, b.Len())
		v.o.Progress(v.before + v.found.entries)
	}
}

func (v *verifier) take(b *tablet.Batch) {
	f := &v.found
	if f.entries == 0 {
		f.first, f.hasFirst = b.Key(0).Clone(), true
	}
	f.entries += int64(b.Len())
	for i := range b.Refs {
		if b.Refs[i].Deleted {
			f.deletes++
		}
		if v.g.Tracked {
			f.count(b.Key(i).Family())
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
			return v.lacks(&k)
		}
	}
	return nil
}

// functorCodes are the bounds below which a code says that a functor's fields did not change.
var functorCodes = [...]uint64{1: tablet.CodeSameRow, 2: tablet.CodeSameFamily, 3: tablet.CodeSameQualifier}

func (v *verifier) lacks(k *tablet.Key) error {
	meta, _ := v.r.bc.Meta(bloomName)
	return tablet.Corruptf(v.r.Name(), meta.Region.Offset, "%s lacks %v, which is in %v", bloomName, *k, v.g)
}

func (v *verifier) checkCounts() error {
	f := &v.found
	if v.g.HasFirstKey && tablet.Compare(&v.g.FirstKey, &f.first) != 0 {
		return v.corrupt("first key recorded as %v is %v", v.g.FirstKey, f.first)
	}
	for _, c := range v.g.Families {
		n := int64(0)
		if counter := f.families[string(c.Family)]; counter != nil {
			n = *counter
		}
		if n != c.Count {
			return v.corrupt("family %q recorded with %d entries has %d", c.Family, c.Count, n)
		}
		delete(f.families, string(c.Family))
	}
	for family, n := range f.families {
		return v.corrupt("family %q with %d entries is not listed", family, *n)
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
