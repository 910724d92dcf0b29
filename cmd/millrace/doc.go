// Millrace's one binary: commands over RFiles, data directories and simulations. It holds no mechanism of its own but
// what a command line needs; what a command does is in the packages below.
//
// In the order one meets them:
//
//   - main, run: signals, arguments, exit code. run is the whole program as a function, which tests call.
//   - env: what a command may touch: standard streams, files, the clock. Every command is made for one env.
//   - manual: a command's help — what it does, its memory, its exit codes, its examples — from which newCommand makes
//     the command. The examples are run by a test.
//   - usageError, oneLine: what is wrong is said in one line on standard error, with the nearest known name.
//   - output: a file that appears under its name only when it is complete, or not at all.
//   - outputDir: a directory whose files appear together, or not at all.
//   - tiling, rowWalk: all rows cut into tablets, and which of them a file has rows of.
//   - progress: a line on standard error while something long runs, if that is a terminal.
//   - rfile_*.go: the commands on files, one each.
//
// A new group of commands is a function like newRfile, listed in newRoot.
package main
