package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"millrace/internal/vfs"
	"millrace/tablet"
)

func benchmarkEntries(n int) []tablet.Entry {
	var entries []tablet.Entry
	for i := range n {
		entries = append(entries, tablet.Entry{
			Key: tablet.NewKey(tablet.Fields{Row: fmt.Appendf(nil, "row_%08x", uint32(i)*2654435761), Family: []byte("fam"),
				Qualifier: fmt.Appendf(nil, "q%d", i%10), Timestamp: int64(i)}),
			Value: []byte("a value of some thirty-two bytes")})
	}
	return entries
}

// BenchmarkPrint is what cat costs per entry beside reading it.
func BenchmarkPrint(b *testing.B) {
	e := &benchmarkEntries(1)[0]
	for _, form := range []string{formatText, formatNDJSON} {
		b.Run(form, func(b *testing.B) {
			b.ReportAllocs()
			var line []byte
			for b.Loop() {
				if form == formatText {
					line = appendEntryText(line[:0], &e.Key, e.Value, false)
				} else {
					line = appendEntryJSON(line[:0], &e.Key, e.Value, 0, false)
				}
			}
			b.SetBytes(int64(len(line)))
		})
	}
}

// BenchmarkParse is what create costs per line before it sorts.
func BenchmarkParse(b *testing.B) {
	e := &benchmarkEntries(1)[0]
	line := bytes.TrimSpace(appendEntryJSON(nil, &e.Key, e.Value, 0, false))
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	var parsed jsonEntry
	for b.Loop() {
		if err := parsed.parse(line); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSort sorts 100,000 entries in memory.
func BenchmarkSort(b *testing.B) {
	entries := benchmarkEntries(100_000)
	b.ReportAllocs()
	for b.Loop() {
		s := newSorter(vfs.Mem(), "sort", grouping{}, 256<<20)
		for i := range entries {
			if err := s.add(context.Background(), &entries[i].Key, entries[i].Value); err != nil {
				b.Fatal(err)
			}
		}
		s.sort()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/entry")
}

// BenchmarkStart is what a run of the program costs beside its work: the tree of commands.
func BenchmarkStart(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if code := run(context.Background(), []string{"version"}, strings.NewReader(""), io.Discard, io.Discard); code != 0 {
			b.Fatal(code)
		}
	}
}
