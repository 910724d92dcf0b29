package main

import (
	"context"

	"github.com/spf13/cobra"

	"millrace/actors"
	"millrace/actors/protocol"
)

func newStoreCompact(e *env) *cobra.Command {
	m := manual{
		use:   "compact [flags] DIR TABLE",
		short: "compact each tablet's files into one",
		long: `
Flushes a table and compacts all files of each tablet into one. Delete markers, what they hide and surplus versions are
gone then: what is written afterwards with an old timestamp is seen again.`,
		memory: storeMemory,
		exits:  []int{3, 5, 6},
		examples: `
$ millrace store insert --create db notes row1 text title hello
notes: 1 entry inserted
$ millrace store insert db notes row1 text title 'hello_again'
notes: 1 entry inserted
$ millrace store compact db notes
tablet       inputs  read  written  bytes
(-inf,+inf]       …        1  …

$ millrace store compact --format csv db notes
tablet,inputs,read,written,bytes
"(-inf,+inf]",1,1,1,…`[1:],
	}
	var f format
	var codec string
	c := newCommand(m, args(2, 2, tableArgs), func(cmd *cobra.Command, args []string) error {
		return e.withStore(cmd.Context(), args[0], func(s *openStore) error {
			return e.compactTable(cmd.Context(), s, args[1], codec, f)
		})
	})
	f.register(c, formatText, formatJSON, formatCSV, formatMarkdown)
	c.Flags().StringVar(&codec, "codec", "", "of the new files; default the table's")
	completeStore(c)
	return c
}

// compactedDocument is what "store compact --format json" prints.
type compactedDocument struct {
	Schema  string              `json:"schema"`
	Table   string              `json:"table"`
	Tablets []compactedDetailed `json:"tablets"`
}

type compactedDetailed struct {
	Tablet   extentDocument `json:"tablet"`
	Inputs   int            `json:"inputs"`
	Read     int64          `json:"read"`
	Written  int64          `json:"written"`
	Hidden   int64          `json:"hidden"`
	Markers  int64          `json:"markers"`
	Versions int64          `json:"versions"`
	Bytes    int64          `json:"bytes"`
	TookNS   int64          `json:"took_ns"`
}

func (e *env) compactTable(ctx context.Context, s *openStore, table, codec string, f format) error {
	p := e.progress("compact "+table, "entries", 0)
	defer p.end()
	done, err := s.Compact(ctx, table, actors.CompactOptions{Codec: codec, Progress: p.set})
	p.end()
	if err != nil {
		return err
	}
	if f.is(formatJSON) {
		d := compactedDocument{Schema: "millrace.store.compact/1", Table: table, Tablets: []compactedDetailed{}}
		for i := range done {
			d.Tablets = append(d.Tablets, newCompacted(&done[i]))
		}
		return e.writeJSON(d)
	}
	g := &grid{names: []string{"tablet", "inputs", "read", "written", "bytes"}, left: []int{0}}
	for i := range done {
		t := &done[i]
		g.add(showExtent(t.Extent), len(t.Inputs), t.Books.Read, t.Books.Written, t.Output.Bytes)
	}
	return e.writeGrid(g, f)
}

func newCompacted(t *protocol.TabletCompaction) compactedDetailed {
	return compactedDetailed{
		Tablet: newExtentDocument(t.Extent), Inputs: len(t.Inputs), Read: t.Books.Read, Written: t.Books.Written,
		Hidden: t.Books.Hidden, Markers: t.Books.Markers, Versions: t.Books.Versions, Bytes: t.Output.Bytes, TookNS: int64(t.Took),
	}
}
