// Package plot draws line charts as SVG, to be read on screen or in print, with colours or without: lines of one kind share
// a dash pattern, lines of one number share a marker, and each line has its name at one of its ends.
//
//   - Chart: what is drawn. SVG is its text, the same for the same chart.
//   - Axis: the name, with its unit, and whether steps are doublings.
//   - Line, Style, Marker: a line, what it has in common with others of its kind, and its marks.
//
// The package knows nothing of what is drawn, opens no file, and imports nothing of the module.
package plot
