package report

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/beagle-go/beagle"
)

const (
	plotWidth, plotHeight = 760.0, 260.0
	plotLeft, plotBottom  = 46.0, 30.0
)

// plot draws the speed of every version in the order of evaluation on a
// logarithmic scale, with the best so far as a line. Rejected versions stand
// as crosses on the ground line.
func plot(attempts []beagle.Attempt) string {
	top := 1.25
	for _, t := range attempts {
		if t.Screen != nil {
			top = math.Max(top, t.Screen.Point)
		}
	}
	x := func(i int) float64 {
		return plotLeft + (plotWidth-plotLeft-10)*float64(i)/math.Max(1, float64(len(attempts)-1))
	}
	low := math.Log(0.5)
	y := func(ratio float64) float64 {
		share := (math.Log(math.Max(ratio, 0.5)) - low) / (math.Log(top*1.1) - low)
		return plotHeight - plotBottom - (plotHeight-plotBottom-10)*share
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img" aria-label="speed over candidates">`, plotWidth, plotHeight)
	gridlines(&b, top, y)
	drawAttempts(&b, attempts, x, y)
	fmt.Fprintf(&b, `<text x="%g" y="%g">candidate, in the order of evaluation</text></svg>`, plotLeft, plotHeight-6)
	return b.String()
}

// gridlines draws a labelled line for each round ratio up to top.
func gridlines(b *strings.Builder, top float64, y func(float64) float64) {
	for _, v := range []float64{0.5, 1, 2, 5, 10, 100, 1000, 10000, 100000} {
		if v > top*1.1 {
			break
		}
		class := "grid"
		if v == 1 {
			class = "one"
		}
		fmt.Fprintf(b, `<line class="%s" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/><text x="4" y="%.1f">%gx</text>`,
			class, plotLeft, plotWidth, y(v), y(v), y(v)+4, v)
	}
}

// drawAttempts draws each version, and a line along the best so far.
func drawAttempts(b *strings.Builder, trials []beagle.Attempt, x func(int) float64, y func(float64) float64) {
	best := 1.0
	line := fmt.Sprintf("M%.1f %.1f", x(0), y(1))
	for i, t := range trials {
		title := fmt.Sprintf("<title>%s %s: %s</title>", Short(t.Candidate), t.Status,
			html.EscapeString(path(t.Steps)))
		if t.Screen == nil {
			fmt.Fprintf(b, `<text class="bad" x="%.1f" y="%.1f">×%s</text>`, x(i)-4, y(0.5)+4, title)
			continue
		}
		fmt.Fprintf(b, `<circle class="island%d" cx="%.1f" cy="%.1f" r="4">%s</circle>`, t.Island%6, x(i),
			y(t.Screen.Point), title)
		if t.Screen.Point > best {
			line += fmt.Sprintf("H%.1fV%.1f", x(i), y(t.Screen.Point))
			best = t.Screen.Point
		}
	}
	fmt.Fprintf(b, `<path class="best" d="%sH%.1f"/>`, line, plotWidth-10)
}
