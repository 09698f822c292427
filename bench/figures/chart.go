package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// A chart is a line chart with a logarithmic axis of candidates. It is legible on light and on dark
// paper.
type chart struct {
	title, unit string
	series      []series
}

// A series is one line of a chart.
type series struct {
	name string
	x, y []float64
}

const (
	chartWidth, chartHeight = 640.0, 300.0
	left, right, top, base  = 64.0, 150.0, 36.0, 44.0
)

var colours = []string{"#2f6fb3", "#c2652a", "#3d8f5a", "#8a55a8", "#9a7d1e"}

// svg draws the chart.
func (c *chart) svg() string {
	// Find the ranges of both axes.
	lowX, highX, highY := math.Inf(1), 0.0, 0.0
	for _, s := range c.series {
		for i := range s.x {
			lowX, highX, highY = min(lowX, s.x[i]), max(highX, s.x[i]), max(highY, s.y[i])
		}
	}
	// Let the vertical axis end at a full step.
	step := tick(highY)
	highY = step * math.Ceil(highY/step)
	x := func(v float64) float64 {
		return left + (chartWidth-left-right)*(math.Log(v)-math.Log(lowX))/max(math.Log(highX)-math.Log(lowX), 1e-9)
	}
	y := func(v float64) float64 { return chartHeight - base - (chartHeight-base-top)*v/max(highY, 1e-9) }
	// Draw the title.
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="sans-serif" font-size="12" fill="#666">`+
			"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<text x="%g" y="20" font-size="14" font-weight="bold">%s</text>`+"\n", left,
		html.EscapeString(c.title))
	// Draw the vertical axis.
	for v := 0.0; v <= highY*1.001; v += step {
		fmt.Fprintf(&b,
			`<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="#8886"/><text x="%g" y="%.1f" text-anchor="end">%g</text>`+
				"\n", left, chartWidth-right, y(v), y(v), left-8, y(v)+4, round(v))
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" transform="rotate(-90 14 %g)" text-anchor="middle">%s</text>`+"\n", 14.0,
		(top+chartHeight-base)/2, (top+chartHeight-base)/2, html.EscapeString(c.unit))
	// Draw the horizontal axis.
	for _, v := range c.series[0].x {
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle">%g</text>`+"\n", x(v), chartHeight-base+18, v)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="middle">candidates</text>`+"\n", (left+chartWidth-right)/2,
		chartHeight-8)
	// Draw the series.
	c.lines(&b, x, y)
	return b.String() + "</svg>\n"
}

// lines draws the series, each with its name at its end; names that would
// overlap are moved apart.
func (c *chart) lines(b *strings.Builder, x, y func(float64) float64) {
	var taken []float64
	for i, s := range c.series {
		colour := colours[i%len(colours)]
		var points []string
		for k := range s.x {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(s.x[k]), y(s.y[k])))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x(s.x[k]), y(s.y[k]), colour)
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`,
			strings.Join(points, " "), colour)
		at := freePlace(taken, y(s.y[len(s.y)-1])+4)
		taken = append(taken, at)
		fmt.Fprintf(b, `<text x="%g" y="%.1f" fill="%s">%s</text>`+"\n", chartWidth-right+10, at, colour,
			html.EscapeString(s.name))
	}
}

// freePlace returns the nearest free place for a line of text, up or down.
func freePlace(taken []float64, want float64) float64 {
	const height = 14
	for d := 0.0; ; d++ {
		for _, at := range []float64{want - d, want + d} {
			free := at >= top && at <= chartHeight-base+4
			for _, t := range taken {
				free = free && math.Abs(t-at) >= height
			}
			if free || d > chartHeight {
				return at
			}
		}
	}
}

// tick returns a round distance that makes three to eight lines.
func tick(high float64) float64 {
	if high <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(high)))
	for _, m := range []float64{0.2, 0.5, 1, 2} {
		if high/(m*p) <= 8 {
			return m * p
		}
	}
	return 5 * p
}

// round removes the error of adding up fractions.
func round(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// draw writes a chart into docs/plots and returns the Markdown that shows it.
func (l *lab) draw(name string, c *chart) (string, error) {
	dir := filepath.Join(l.root, "docs", "plots")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if l.intoDocs {
		if err := os.WriteFile(filepath.Join(dir, name+".svg"), []byte(c.svg()), 0o644); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("![%s](plots/%s.svg)\n", c.title, name), nil
}
