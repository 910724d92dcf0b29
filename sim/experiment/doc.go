// Package experiment holds the named experiments: settings in, a result document out. Each runs the real engine on real
// files, its variants side by side in one run, and checks exact things only: counts, hashes, orders. Times are reported
// with their spread and never fail a run.
//
//   - Document: what an experiment found: its settings, the machine, rows, checks. Scripts rely on its fields.
//   - Spread: several measurements of one thing.
//   - Heap: merges in memory, by runs of keys, sources and kind of merge (ACCUMULO-2827, its first experiment).
//   - Pool: merges got and closed, new and from pools (CASSANDRA-15392).
//   - Writer: mutations from many threads through one batch writer, by kind of writer (ACCUMULO-1755).
//   - Ingest: continuous ingest into a table of several tablets, then full compactions of identical files by each merge,
//     then a verification of every entry (ACCUMULO-2827, its second).
//
// The package prints nothing; progress goes to a callback.
package experiment
