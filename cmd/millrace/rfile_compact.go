package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"millrace/compactor/job"
	"millrace/internal/clock"
	"millrace/tablet/iter"
)

const compactSchema = "millrace.rfile.compact/1"

func newCompact(e *env) *cobra.Command {
	m := manual{
		use:   "compact [flags] OUT IN...",
		short: "merge files into one, as a major compaction does",
		long: `
Merges files into one. IN are given oldest first: of fully equal keys the one in the later file comes first, and counts
as the newer version. What a delete marker hides is dropped. The markers themselves stay, since older files may hold
more of what they hide; --full says that there are none, and drops the markers too. Then all but the newest versions of
each cell are dropped (--versions).

  --iter name=priority[,class=CLASS][,option=value]...

adds an iterator; smaller priorities are nearer to the data, and versions are dropped at priority 20, as in Accumulo's
tables. Without class, the name is that of the class. Classes:

` + wrapped(iter.Names()) + `

Without flags, codec and locality groups are those of the last file, the newest, and samples and Bloom filter are made
anew by the configuration that it has them by. What of any file is not carried over, the output says.`,
		memory: `of each input the index root, the checksums (16 bytes a block), and of each group three data blocks, one index
block a level twice and a batch of keys; of OUT three blocks, as they are and compressed, and at most 10 MiB of index,
with a sampler 10 MB, with a Bloom filter its bits; with --verify what "verify --deep" takes. Iterators come on top.`,
		exits: []int{3, 6},
		examples: `
$ millrace rfile compact out.rf v8_bloom.rf v8_multilevel.rf
out.rf: 8,981 entries, including 1,163 delete markers, in 200,959 bytes, codec gz, …
  read     9,003 entries from 2 files of 243,019 bytes
  dropped  3 hidden by delete markers, 0 delete markers, 19 beyond 1 version
  not carried over: acu_bloom

$ millrace rfile compact --full --versions 0 --codec lz4 out2.rf v8_edge.rf
out2.rf: 72 entries in 966 bytes, codec lz4, …
  read     127 entries from 1 file of 1,587 bytes
  dropped  45 hidden by delete markers, 10 delete markers`[1:],
	}
	o := compactOptions{versions: 1, merge: choice{value: iter.Tree.String(), from: mergeNames()}}
	c := newCommand(m, args(2, -1, "an output and at least one input"), func(cmd *cobra.Command, args []string) error {
		o.versionsGiven = cmd.Flags().Changed("versions")
		return e.compact(cmd.Context(), args[0], args[1:], o)
	})
	o.format.register(c, formatText, formatJSON)
	completeRFiles(c)
	flags := c.Flags()
	flags.BoolVar(&o.full, "full", false, "there is no older data: drop delete markers too")
	flags.IntVar(&o.versions, "versions", o.versions, "how many versions of a cell to keep; 0 keeps all")
	flags.StringArrayVar(&o.iterators, "iter", nil, "`SETTING` of an iterator, as above; may be given several times")
	flags.Var(&o.merge, "merge", "how the merge decides: a tree of losers, or a heap as before (old) and after (new, swap) ACCUMULO-2827; the output is the same")
	o.merge.complete(c, "merge")
	completeFlag(c, "iter", iteratorNames)
	o.writer.register(c, "", "the last IN")
	o.writer.registerForce(c)
	return c
}

// wrapped lists names in lines of a help text.
func wrapped(names []string) string {
	const width = 110
	lines := []string{" "}
	for _, n := range names {
		if len(lines[len(lines)-1])+len(n) > width {
			lines = append(lines, " ")
		}
		lines[len(lines)-1] += " " + n
	}
	return strings.Join(lines, "\n")
}

type compactOptions struct {
	format        format
	writer        writerFlags
	full          bool
	versions      int
	versionsGiven bool
	iterators     []string
	merge         choice
}

// compacted is compact's JSON document.
type compacted struct {
	*written
	Inputs     []string `json:"inputs"` // oldest first
	InputBytes int64    `json:"input_size"`
	Full       bool     `json:"full"`
	Versions   int      `json:"versions"`
	Iterators  []string `json:"iterators"`
	Books      books    `json:"books"`
	Merge      merged   `json:"merge"`
	CPUNS      int64    `json:"cpu_ns"`
	NotCarried []string `json:"not_carried"`
}

// books are what became of the entries read: read + added = written + dropped + reduced.
type books struct {
	Read     int64 `json:"read"`
	Written  int64 `json:"written"`
	Hidden   int64 `json:"dropped_hidden"`   // by a delete marker
	Markers  int64 `json:"dropped_markers"`  // delete markers of a full compaction
	Versions int64 `json:"dropped_versions"` // beyond those to keep
	Reduced  int64 `json:"iterators_reduced"`
	Added    int64 `json:"iterators_added"`
}

// merged are the counts of the merge.
type merged struct {
	Mode        string `json:"mode"`
	Comparisons int64  `json:"comparisons"`
	HeapOps     int64  `json:"heap_ops"`
	Switches    int64  `json:"switches"`
}

func (e *env) compact(ctx context.Context, path string, inputs []string, o compactOptions) (err error) {
	if err := o.writer.check(); err != nil {
		return err
	}
	spec, err := o.spec(e.clock.Now)
	if err != nil {
		return err
	}
	c := compaction{label: "compact", path: path, inputs: inputs, like: o.writer.groupsLike, force: o.writer.force, verify: o.writer.verify}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.openInputs(e); err != nil {
		return err
	}
	if err := c.adopt(&o.writer); err != nil {
		return err
	}
	layout, writerOptions, err := o.writer.layout(e, c.newest())
	if err != nil {
		return err
	}
	spec.Groups, spec.Writer = groupSpecs(layout), writerOptions
	started, cpu := e.clock.Now(), clock.ProcessCPU()
	done, err := c.run(ctx, e, spec)
	if err != nil {
		return err
	}
	doc := compacted{
		written: newWritten(compactSchema, path, done.meta, writerOptions, clock.Since(e.clock, started)),
		Inputs:  inputs, InputBytes: done.readBytes, Full: o.full, Versions: o.versions, Iterators: append([]string{}, o.iterators...),
		Books: books{Read: done.books.Read, Written: done.books.Written, Hidden: done.books.Hidden, Markers: done.books.Markers,
			Versions: done.books.Versions, Reduced: done.books.Reduced, Added: done.books.Added},
		Merge: merged{o.merge.value, done.stats.Comparisons, done.stats.HeapOps, done.stats.Switches},
		CPUNS: int64(clock.ProcessCPU() - cpu), NotCarried: done.notCarried,
	}
	if o.format.is(formatJSON) {
		return e.writeJSON(doc)
	}
	_, err = e.out.Write(doc.print())
	return err
}

// spec is what the flags say of the job.
func (o *compactOptions) spec(now func() time.Time) (job.Spec, error) {
	if o.versions < 0 {
		return job.Spec{}, usagef("--versions is %d, not at least 0", o.versions)
	}
	mode, err := iter.ParseMode(o.merge.value)
	if err != nil {
		return job.Spec{}, err
	}
	spec := job.Spec{Full: o.full, User: true, Mode: mode, Now: now}
	for _, text := range o.iterators {
		s, err := iter.ParseSetting(text)
		if err != nil {
			return job.Spec{}, usagef("--iter: %v", err)
		}
		if s.Class == versioningClass && !o.versionsGiven {
			o.versions = 0 // the iterator takes its place
		}
		spec.Iterators = append(spec.Iterators, s)
	}
	if o.versions > 0 { // as an iterator, so that a combiner below it sees all versions
		spec.Iterators = append(spec.Iterators, iter.Setting{Name: "versions", Class: versioningClass, Priority: versionsPriority,
			Options: map[string]string{"maxVersions": strconv.Itoa(o.versions)}})
	}
	return spec, nil
}

// Source: the iterator that Accumulo gives new tables by default.
const (
	versioningClass  = "VersioningIterator"
	versionsPriority = 20
)

// print is the document for the eye.
func (c *compacted) print() []byte {
	var b bytes.Buffer
	fmt.Fprintln(&b, c.text())
	fmt.Fprintf(&b, "  read     %s from %s of %s bytes\n", counted(c.Books.Read, "entry", "entries"),
		counted(int64(len(c.Inputs)), "file", "files"), humanize.Comma(c.InputBytes))
	fmt.Fprintf(&b, "  dropped  %s hidden by delete markers, %s", humanize.Comma(c.Books.Hidden),
		counted(c.Books.Markers, "delete marker", "delete markers"))
	if c.Versions > 0 {
		fmt.Fprintf(&b, ", %s beyond %s", humanize.Comma(c.Books.Versions), counted(int64(c.Versions), "version", "versions"))
	}
	b.WriteByte('\n')
	if len(c.Iterators) > 0 {
		fmt.Fprintf(&b, "  iterators took %s away and added %s\n", humanize.Comma(c.Books.Reduced), humanize.Comma(c.Books.Added))
	}
	b.WriteString(notCarriedText(c.NotCarried))
	return b.Bytes()
}

// notCarriedText is a line, or nothing.
func notCarriedText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "  not carried over: " + printable(strings.Join(names, ", ")) + "\n"
}

// mergeNames are the merges that may be asked for.
func mergeNames() (names []string) {
	for _, m := range iter.Modes() {
		names = append(names, m.String())
	}
	return names
}
