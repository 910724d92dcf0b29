package plot

import "fmt"

// Marker is the shape that stands at each point of a line.
type Marker int

// The markers, each to be told from the others without colour.
const (
	Circle Marker = iota
	Square
	Triangle
	Diamond
	Wedge // a triangle on its point
	Cross
	Plus

	Markers // how many there are
)

// path is the marker's outline around a point.
func (m Marker) path(x, y float64) string {
	const r = markerRadius
	switch m % Markers {
	case Square:
		return fmt.Sprintf("M%s %sh%sv%sh-%sz", num(x-r), num(y-r), num(2*r), num(2*r), num(2*r))
	case Triangle:
		return fmt.Sprintf("M%s %sL%s %sH%sz", num(x), num(y-r), num(x+r), num(y+r), num(x-r))
	case Diamond:
		return fmt.Sprintf("M%s %sL%s %sL%s %sL%s %sz", num(x), num(y-r-1), num(x+r+1), num(y), num(x), num(y+r+1), num(x-r-1), num(y))
	case Wedge:
		return fmt.Sprintf("M%s %sL%s %sH%sz", num(x), num(y+r), num(x+r), num(y-r), num(x-r))
	case Cross:
		return fmt.Sprintf("M%s %sL%s %sM%s %sL%s %s", num(x-r), num(y-r), num(x+r), num(y+r), num(x-r), num(y+r), num(x+r), num(y-r))
	case Plus:
		return fmt.Sprintf("M%s %sH%sM%s %sV%s", num(x-r), num(y), num(x+r), num(x), num(y-r), num(y+r))
	}
	return fmt.Sprintf("M%s %sa%s %s 0 1 0 %s 0a%s %s 0 1 0 -%s 0z", num(x-r), num(y), num(r), num(r), num(2*r), num(r), num(r), num(2*r))
}
