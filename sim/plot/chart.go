package plot

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Chart is a chart of lines over a common axis.
type Chart struct {
	Title string
	Note  string // below the title: where and how it was measured
	X, Y  Axis
	Lines []Line
}

// Axis is named with its unit. The vertical axis begins at 0.
type Axis struct {
	Name     string
	Doubling bool // each step is twice the one before; values are above 0
}

// Line is one line of a chart.
type Line struct {
	Name   string // at its end; empty for none
	First  bool   // the name stands at the first point, not at the last
	Style  Style
	Marker Marker
	Points []Point // by ascending X
}

// Point is one measured value, with the span that it was measured in if Low is less than High.
type Point struct{ X, Y, Low, High float64 }

// Style is what lines of one kind have in common. Styles with a name are explained above the chart.
type Style struct {
	Name   string
	Dash   string // lengths of dashes and gaps, as SVG has them; empty for none
	Colour string
	Filled bool // the markers
}

// Size and frame of a chart, in points.
const (
	width, height = 1080, 660
	right         = width - 140
	top, bottom   = 116, height - 64
	textHeight    = 13
	letter        = 6.6 // width of one, more or less
	markerRadius  = 3.6
)

// drawing is a chart as it is being written.
type drawing struct {
	*Chart
	out        bytes.Buffer
	xLow, xTop float64 // of the axis, in its own measure
	yTop       float64
	yStep      float64
	left       float64 // of the frame
	beside     float64 // room between frame and numbers, for names
}

// SVG is the chart as a document.
func (c *Chart) SVG() []byte {
	d := &drawing{Chart: c}
	d.scale()
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`+"\n",
		width, height, width, height)
	d.printf("<title>%s</title>\n<desc>%s</desc>\n", escape(c.Title), escape(c.Note))
	d.printf(`<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	d.text(d.left, 28, "start", "font-size=\"17\"", c.Title)
	d.text(d.left, 48, "start", `fill="#444"`, c.Note)
	d.legend()
	d.axes()
	for i := range c.Lines {
		d.line(&c.Lines[i])
	}
	d.names(false)
	d.names(true)
	d.printf("</svg>\n")
	return d.out.Bytes()
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.out, format, args...) }

func (d *drawing) text(x, y float64, anchor, attributes, text string) {
	d.printf(`<text x="%s" y="%s" text-anchor="%s" %s>%s</text>`+"\n", num(x), num(y), anchor, attributes, escape(text))
}

// measure is where a value lies on the horizontal axis, in the axis' own measure.
func (d *drawing) measure(x float64) float64 {
	if d.X.Doubling {
		return math.Log2(x)
	}
	return x
}

// scale finds the axes' ends.
func (d *drawing) scale() {
	d.xLow, d.xTop = math.Inf(1), math.Inf(-1)
	highest := 0.0
	d.left = 80
	for _, l := range d.Lines {
		if l.First {
			d.left, d.beside = 200, 120
		}
		for _, p := range l.Points {
			d.xLow, d.xTop = min(d.xLow, d.measure(p.X)), max(d.xTop, d.measure(p.X))
			highest = max(highest, p.Y, p.High)
		}
	}
	if !(d.xLow < d.xTop) { // one point, or none
		d.xLow, d.xTop = min(d.xLow, 0), max(d.xTop, 1)
	}
	d.yStep = niceStep(highest)
	d.yTop = max(math.Ceil(highest/d.yStep), 1) * d.yStep
}

// niceStep is 1, 2 or 5 times a power of ten, and leads to about eight steps.
func niceStep(highest float64) float64 {
	if highest <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(highest/8)))
	for _, times := range []float64{1, 2, 5} {
		if highest/(times*power) <= 8 {
			return times * power
		}
	}
	return 10 * power
}

func (d *drawing) at(p Point) (x, y float64) {
	return d.left + (d.measure(p.X)-d.xLow)/(d.xTop-d.xLow)*(right-d.left), d.height(p.Y)
}

func (d *drawing) height(y float64) float64 { return bottom - y/d.yTop*(bottom-top) }

func (d *drawing) axes() {
	for i := 0; float64(i)*d.yStep <= d.yTop*1.0001; i++ {
		v := float64(i) * d.yStep
		d.printf(`<path d="M%s %sH%d" stroke="#ddd"/>`+"\n", num(d.left), num(d.height(v)), right)
		d.text(d.left-d.beside-10, d.height(v)+4, "end", "", fmt.Sprintf("%g", v))
	}
	for _, x := range d.ticks() {
		at, _ := d.at(Point{X: x, Y: 0})
		d.printf(`<path d="M%s %dV%d" stroke="#eee"/>`+"\n", num(at), top, bottom)
		d.text(at, bottom+18, "middle", "", fmt.Sprintf("%g", x))
	}
	d.printf(`<path d="M%s %dV%dH%d" fill="none" stroke="black"/>`+"\n", num(d.left), top, bottom, right)
	d.text((d.left+right)/2, height-20, "middle", `font-size="14"`, d.X.Name)
	d.text(-(top+bottom)/2, 22, "middle", `font-size="14" transform="rotate(-90)"`, d.Y.Name)
}

// ticks are the values marked on the horizontal axis: powers of two where steps double.
func (d *drawing) ticks() []float64 {
	var out []float64
	if d.X.Doubling {
		for e := math.Ceil(d.xLow); e <= d.xTop; e++ {
			out = append(out, math.Exp2(e))
		}
		return out
	}
	step := niceStep(d.xTop - d.xLow)
	for v := math.Ceil(d.xLow/step) * step; v <= d.xTop*1.0001; v += step {
		out = append(out, v)
	}
	return out
}

// legend explains the styles, in the order in which lines have them.
func (d *drawing) legend() {
	var seen []Style
	x, y := d.left, 68.0
	for _, l := range d.Lines {
		if l.Style.Name == "" || slices.Contains(seen, l.Style) {
			continue
		}
		seen = append(seen, l.Style)
		long := 50 + letter*float64(len(l.Style.Name))
		if x > d.left && x+long > right {
			x, y = d.left, y+20
		}
		d.printf(`<path d="M%s %sh44" %s/>`+"\n", num(x), num(y), stroke(l.Style))
		d.text(x+50, y+4, "start", "", l.Style.Name)
		x += long + 30
	}
}

func (d *drawing) line(l *Line) {
	var path strings.Builder
	for i, p := range l.Points {
		x, y := d.at(p)
		path.WriteString(map[bool]string{true: "M", false: "L"}[i == 0] + num(x) + " " + num(y))
		if p.Low < p.High {
			d.printf(`<path d="M%s %sV%s" stroke="%s" stroke-opacity="0.5"/>`+"\n", num(x), num(d.height(p.Low)), num(d.height(p.High)), escape(l.Style.Colour))
		}
	}
	if path.Len() == 0 {
		return
	}
	d.printf(`<path class="line" d="%s" %s/>`+"\n", path.String(), stroke(l.Style))
	fill := "white"
	if l.Style.Filled {
		fill = l.Style.Colour
	}
	for _, p := range l.Points {
		x, y := d.at(p)
		d.printf(`<path d="%s" fill="%s" stroke="%s"/>`+"\n", l.Marker.path(x, y), escape(fill), escape(l.Style.Colour))
	}
}

func stroke(s Style) string {
	dash := ""
	if s.Dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, escape(s.Dash))
	}
	return fmt.Sprintf(`fill="none" stroke="%s" stroke-width="1.6"%s`, escape(s.Colour), dash)
}

// names writes the lines' names beside one side of the chart, as near to the lines' ends as they can stand without touching
// each other, and leads from one to the other.
func (d *drawing) names(first bool) {
	type label struct {
		line      *Line
		x, end, y float64
	}
	var all []label
	for i := range d.Lines {
		l := &d.Lines[i]
		if l.Name == "" || l.First != first || len(l.Points) == 0 {
			continue
		}
		p := l.Points[len(l.Points)-1]
		if first {
			p = l.Points[0]
		}
		x, y := d.at(p)
		all = append(all, label{l, x, y, y})
	}
	slices.SortStableFunc(all, func(a, b label) int { return cmp.Compare(a.end, b.end) })
	for i := 1; i < len(all); i++ { // downwards, then back up from the frame's edge
		all[i].y = max(all[i].y, all[i-1].y+textHeight)
	}
	edge := float64(bottom) + 3
	for i := len(all) - 1; i >= 0; i-- {
		all[i].y = min(all[i].y, edge)
		edge = all[i].y - textHeight
	}
	for _, l := range all {
		side, anchor := float64(18), "start"
		if first {
			side, anchor = -side, "end"
		}
		x := l.x + side
		d.printf(`<path d="M%s %sL%s %s" stroke="#999" stroke-width="0.7"/>`+"\n", num(l.x+side/4), num(l.end), num(x-side/8), num(l.y))
		d.text(x, l.y+4, anchor, fmt.Sprintf(`class="name" fill="%s"`, escape(l.line.Style.Colour)), l.line.Name)
	}
}

// num is a coordinate, to a tenth.
func num(v float64) string { return fmt.Sprintf("%.1f", v) }

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func escape(s string) string { return entities.Replace(s) }
