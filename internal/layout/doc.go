// Package layout holds the map of the module: every package, what it is for, and what it may import.
//
// Rows is the map. The package's tests read the source of the module and fail when an import points up, when a package
// has no row, when something other than internal/vfs opens a file or something other than internal/clock asks the
// time. Nothing imports this package.
package layout
