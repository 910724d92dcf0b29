package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// element is one of an SVG's, as a reader of XML sees it.
type element struct {
	name  string
	attrs map[string]string
	text  string
}

func (e *element) number(t *testing.T, attr string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(e.attrs[attr], 64)
	if err != nil {
		t.Fatalf("%s of %v: %v", attr, e, err)
	}
	return v
}

func parse(t *testing.T, svg []byte) (all []*element) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var open []*element
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, svg)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := &element{name: x.Name.Local, attrs: map[string]string{}}
			for _, a := range x.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			if len(open) > 0 {
				open[len(open)-1].text += string(x)
			}
		}
	}
}

// crowded is a chart whose lines end at nearly one height.
func crowded(at float64) *Chart {
	c := &Chart{Title: "a < b & c", Note: `"quoted"`, X: Axis{"x", true}, Y: Axis{Name: "y, ns"}}
	styles := []Style{{Name: "one", Dash: "6 4", Colour: "#a00"}, {Name: "two", Colour: "#00a", Filled: true}}
	for i := range 14 {
		l := Line{Name: fmt.Sprintf("line number %d", i), First: i%2 == 1, Style: styles[i%2], Marker: Marker(i / 2)}
		for x := 1.0; x <= 1024; x *= 4 {
			l.Points = append(l.Points, Point{X: x, Y: at + float64(i)/1000, Low: 4, High: 4.95})
		}
		c.Lines = append(c.Lines, l)
	}
	return c
}

// TestNames wants every line's name inside the drawing, none over another.
func TestNames(t *testing.T) {
	for _, at := range []float64{0, 2.5, 4.9} {
		namesApart(t, crowded(at))
	}
}

func namesApart(t *testing.T, c *Chart) {
	t.Helper()
	all := parse(t, c.SVG())
	var at [2][]float64
	names := 0
	for _, e := range all {
		if e.name != "text" {
			continue
		}
		x, y := e.number(t, "x"), e.number(t, "y")
		if !strings.Contains(e.attrs["transform"], "rotate") && (x < 0 || x > width || y < 0 || y > height) {
			t.Errorf("%q at %v, %v is outside", e.text, x, y)
		}
		if e.attrs["class"] == "name" {
			names++
			if y < top || y > bottom+textHeight {
				t.Errorf("%q at %v does not stand beside the frame", e.text, y)
			}
			if long := letter * float64(len(e.text)); x+long > width && x > width/2 || x-long < 72 && x < width/2 {
				t.Errorf("%q at %v stands on the numbers, or outside", e.text, x)
			}
			at[map[string]int{"start": 0, "end": 1}[e.attrs["text-anchor"]]] = append(at[map[string]int{"start": 0, "end": 1}[e.attrs["text-anchor"]]], y)
		}
	}
	if names != 14 {
		t.Errorf("%d names, want 14", names)
	}
	for _, ys := range at {
		slices.Sort(ys)
		for i := 1; i < len(ys); i++ {
			if ys[i]-ys[i-1] < textHeight-0.2 {
				t.Errorf("names at %v and %v touch", ys[i-1], ys[i])
			}
		}
	}
}

// TestWithoutColour tells kinds of lines apart by their dashes and numbers by their markers, and writes down what is what.
func TestWithoutColour(t *testing.T) {
	svg := crowded(4.9).SVG()
	dashes, texts := map[string]int{}, map[string]bool{}
	for _, e := range parse(t, svg) {
		if e.attrs["class"] == "line" {
			dashes[e.attrs["stroke-dasharray"]]++
		}
		texts[e.text] = true
	}
	if len(dashes) != 2 || dashes["6 4"] != 7 || dashes[""] != 7 {
		t.Errorf("dashes: %v", dashes)
	}
	for _, want := range []string{"a < b & c", `"quoted"`, "x", "y, ns", "one", "two", "line number 0", "line number 13", "1024", "1"} {
		if !texts[want] {
			t.Errorf("the chart does not say %q", want)
		}
	}
	seen := map[string]Marker{}
	for m := range Markers {
		path := m.path(10, 10)
		if other, ok := seen[path]; ok {
			t.Errorf("markers %v and %v look alike", m, other)
		}
		seen[path] = m
	}
	if !bytes.Equal(svg, crowded(4.9).SVG()) {
		t.Error("the same chart is drawn in two ways")
	}
}

// TestScale puts values where they belong.
func TestScale(t *testing.T) {
	f := func(doubling bool, xs []float64, x, y float64, wantX, wantY float64) {
		t.Helper()
		c := &Chart{X: Axis{Doubling: doubling}}
		var l Line
		for _, v := range xs {
			l.Points = append(l.Points, Point{X: v, Y: 80})
		}
		c.Lines = []Line{l}
		d := &drawing{Chart: c}
		d.scale()
		if gotX, gotY := d.at(Point{X: x, Y: y}); math.Abs(gotX-wantX) > 0.01 || math.Abs(gotY-wantY) > 0.01 {
			t.Errorf("%v, %v lies at %v, %v; want %v, %v", x, y, gotX, gotY, wantX, wantY)
		}
	}
	f(true, []float64{1, 65536}, 256, 40, (80+right)/2, (top+bottom)/2)
	f(false, []float64{0, 100}, 50, 80, (80+right)/2, top)
	f(true, []float64{1, 16}, 1, 0, 80, bottom)
	f(true, []float64{1}, 1, 0, 80, bottom)
	f(true, nil, 1, 0, 80, bottom)
	step := func(highest, want float64) {
		t.Helper()
		if got := niceStep(highest); math.Abs(got-want) > want/1e6 {
			t.Errorf("step up to %v is %v, want %v", highest, got, want)
		}
	}
	step(0, 1)
	step(8, 1)
	step(9, 2)
	step(350, 50)
	step(0.6, 0.1)
}
