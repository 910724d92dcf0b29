// Package scan reads one tablet for one scan: it stacks merge, delete, column, visibility and version over the sources
// of a view, puts the table's own iterators above them, and fills pages that outlive the session.
//
//   - Spec: what is wanted.
//   - Session: one scan on one tablet. Open builds the stack, Fill copies the next entries into a Page, Rest is what
//     is left, from which another session goes on.
//   - Place: where a reader stands, exact among entries with equal keys.
//   - Page: a stretch of the answer that owns its bytes and may cross goroutines.
//   - Cursor: the same stack, entry by entry, to be sought anywhere.
//   - Limits: when a page is full.
//
// A session and a cursor belong to one goroutine. The package opens no file and holds no lease: whoever opens a session hands it
// its sources, and keeps alive what they read until Close.
package scan
