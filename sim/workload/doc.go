// Package workload makes the data of the continuous-ingest test and checks it afterwards: seeded streams of entries
// whose rows form linked lists, so that a lost write shows as a reference to a row that is not there.
//
// In the order one meets them:
//
//   - Options: rows, families, labels, entries per flush, the seed. The same options give the same stream, byte for byte.
//   - Generator: the stream. Next gives one Write as views, Mutation the same as a mutation, Fill many of them. After each
//     step NeedsFlush is true: the flush is part of the protocol, since an entry refers only to what is already flushed.
//   - Counts, CountsAt: what was written, and by arithmetic what a run with a limit will write.
//   - Splits: split points that cut the range of rows into equal parts.
//   - Value, ParseValue: a value taken apart.
//   - Verifier, Report: every entry of a table goes in, in any order; out come the counters UNDEFINED, REFERENCED,
//     UNREFERENCED and CORRUPT. One verifier a tablet or one for all, as Merge joins them.
//   - KeySets, DealStretches, DealSkewed: sorted keys, divided among the sources of a merge that is to be measured. Merged and
//     Digest tell what must come out.
//
// The package writes nothing anywhere, and knows neither clock nor store.
//
// Source: Accumulo's continuous ingest test (ContinuousIngest, ContinuousVerify).
package workload
