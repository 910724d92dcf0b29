// Package script runs scripts of operations with expected results (kv-ops/1) against the embedded store. A script is one
// JSON file that names no engine: a table, a list of operations, and what each read must give.
//
//   - Parse reads a script. It is exact: an operation or a field that it does not know is an error with the operation's
//     number, never passed over. Bad JSON is a SyntaxError with its line.
//   - Run carries a script out on a fresh store in memory and compares. A crash keeps what was synced, file calls fail as
//     the script says, and every operation has a time in which it must end.
//   - Mode says how: as the script stands, with the smallest blocks, or with flushes and partial compactions put in
//     between operations at random. The answers must be the same.
//   - Result is how a run ended: passed; failed, with what was found and what was expected; or skipped, with the ability
//     that is lacking. A panic, a goroutine or a file left behind by the store are failures of the script.
//
// Operations are counted from 0; 4.2 is the third part of the fifth.
//
// The package judges by what a script says alone: it holds no model of the store.
package script
