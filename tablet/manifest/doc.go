// Package manifest keeps the durable list of a store's tables, tablets and files.
//
// State is the list at one moment: an immutable value that goroutines share. An Edit is one change: CreateTable, DropTable,
// SetProperties, Install, Swap, Import, Split, Advance. Apply makes the next State of both, or says which table, tablet,
// file and value broke which rule; it is pure and total. FileRef is a tablet's claim on a file, maybe fenced to some rows.
//
// On disk a manifest is a sequence of files manifest/<number>.manifest in the framing of internal/record. Each begins with
// a snapshot of a whole State and goes on with the edits made since. Read finds the current one and returns its State.
// Writer records edits, each call one frame and one sync; it begins a new file when it is opened, when the file has grown,
// and after every failed write or sync, since such a file is in doubt: nobody knows whether it holds the edit.
//
// The package never removes a data file, never looks into one, and never decides what an edit should say. A Writer belongs
// to one goroutine.
package manifest
