package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"millrace/internal/nearest"
	"millrace/tablet"
	"millrace/tablet/rfile"
	"millrace/tablet/rfile/bcfile"
)

// writerFlags are the flags of commands that write an RFile.
type writerFlags struct {
	codec             string
	level             int
	block, indexBlock size
	bcfile            int
	noSums            bool
	groups            groupingFlag
	groupsLike        string
	families          familyList
	sampler           samplerFlag
	bloom             bloomFlag
	verify            bool
	force             bool
}

// register adds the flags to a command. codec is the default one; like names the input whose codec and groups are taken
// without flags, if there is one.
func (w *writerFlags) register(c *cobra.Command, codec, like string) {
	w.block, w.indexBlock, w.codec = rfile.DefaultBlockBytes, rfile.DefaultIndexBlockBytes, codec
	f := c.Flags()
	note, groups, extra := "", "", ""
	if like != "" {
		note = " (default that of " + like + ", gz where it cannot be written)"
		groups = " (default those of " + like + ")"
		extra = " (default as in " + like + ")"
	}
	f.StringVar(&w.codec, "codec", codec, strings.Join(bcfile.Codecs(), ", ")+note)
	f.IntVar(&w.level, "level", 0, "effort of the codec: gz 1 to 9, zstd 1 to 22, others 1 and up; 0 is the codec's default")
	f.Var(&w.block, "block-size", "raw bytes at which a data block is closed")
	f.Var(&w.indexBlock, "index-block-size", "raw bytes at which an index block is closed")
	f.IntVar(&w.bcfile, "bcfile", 1, "container version: 1, which every Accumulo reads, or 3, which 2.0 and later read")
	f.BoolVar(&w.noSums, "no-sums", false, "leave out the checksums; other readers pass over them anyway")
	f.Var(&w.groups, "groups", "locality groups; what they do not name goes into the default group"+groups)
	f.StringVar(&w.groupsLike, "groups-like", "", "take the locality groups of this `FILE`")
	f.Var(&w.families, "family-order", "order in which a group lists its families; others follow in byte order")
	f.Var(&w.sampler, "sampler", "make a sample of each group, `CLASS[,option=value...]`, as RowSampler,hasher=murmur3_32,modulus=101; none makes none"+extra)
	f.Var(&w.bloom, "bloom", "make a Bloom filter, `FUNCTOR[,keys=N][,error=RATE]`, as RowFunctor; none makes none"+extra)
	f.BoolVar(&w.verify, "verify", false, "read what was written back, and decode every entry, before it gets its name")
	completeFlag(c, "codec", cobra.FixedCompletions(bcfile.Codecs(), cobra.ShellCompDirectiveNoFileComp))
	completeFlag(c, "bcfile", cobra.FixedCompletions([]string{"1", "3"}, cobra.ShellCompDirectiveNoFileComp))
	completeFlag(c, "groups-like", rfilesOnly)
	completeFlag(c, "sampler", classes(append([]string{"none"}, samplerClasses...)))
	completeFlag(c, "bloom", classes(append([]string{"none"}, bloomFunctors...)))
}

// registerForce adds the flag of commands that write one file.
func (w *writerFlags) registerForce(c *cobra.Command) {
	c.Flags().BoolVar(&w.force, "force", false, "replace OUT if it exists")
}

// check looks at what can be known to be wrong before any file is opened.
func (w *writerFlags) check() error {
	if w.codec != "" && !slices.Contains(bcfile.Codecs(), w.codec) {
		if slices.Contains([]string{bcfile.Bzip2, "lzo"}, w.codec) {
			return fmt.Errorf("writing codec %s: %w", w.codec, tablet.ErrUnsupported)
		}
		return usagef("--codec %q is not known, nearest is %q", w.codec, nearest.Name(w.codec, bcfile.Codecs()))
	}
	for flag, bytes := range map[string]size{"block-size": w.block, "index-block-size": w.indexBlock} {
		if bytes < 1 || bytes >= math.MaxInt32 {
			return usagef("--%s is %d, not within 1 to %d", flag, int64(bytes), math.MaxInt32-1)
		}
	}
	if w.bcfile != 1 && w.bcfile != 3 {
		return usagef("--bcfile is %d, not 1 or 3", w.bcfile)
	}
	if len(w.groups.named) > 0 && w.groupsLike != "" {
		return usagef("--groups and --groups-like exclude each other")
	}
	if err := (rfile.WriterOptions{Sampler: w.sampler.value, Bloom: w.bloom.value}).Validate(); err != nil {
		return err
	}
	return w.checkLevel()
}

// checkLevel asks the codec, if it is known by now.
func (w *writerFlags) checkLevel() error {
	if w.codec == "" {
		return nil
	}
	c, err := bcfile.NewCompressor(w.codec, w.level)
	if err != nil {
		return usagef("--level is %d: %v", w.level, err)
	}
	return c.Close()
}

// options are the writer's.
func (w *writerFlags) options() rfile.WriterOptions {
	return rfile.WriterOptions{Codec: w.codec, Level: w.level, BlockBytes: int(w.block), IndexBlockBytes: int(w.indexBlock),
		BCFile: w.bcfile, NoSums: w.noSums, FamilyOrder: w.families, Sampler: w.sampler.value, Bloom: w.bloom.value}
}

// layout is the grouping asked for, with the options that belong to it. like is the file whose grouping is taken when
// no flag says otherwise; it may be nil.
func (w *writerFlags) layout(e *env, like *rfile.Reader) (g grouping, o rfile.WriterOptions, err error) {
	o = w.options()
	if len(w.groups.named) > 0 {
		return w.groups.grouping, o, nil
	}
	if w.groupsLike != "" {
		r, err := e.openRFile(w.groupsLike)
		if err != nil {
			return g, o, err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		like = r
	}
	if like == nil {
		return g, o, nil
	}
	g, order, err := groupingOf(like)
	if len(o.FamilyOrder) == 0 {
		o.FamilyOrder = order
	}
	return g, o, err
}
