package main

import (
	"fmt"
	"hash/fnv"
	"html"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// A frame is a function in a flame graph, called by its parent.
type frame struct {
	name  string
	value int64
	calls map[string]*frame
}

func (f *frame) call(name string) *frame {
	c := f.calls[name]
	if c == nil {
		c = &frame{name: name, calls: map[string]*frame{}}
		f.calls[name] = c
	}
	return c
}

// flame draws a processor profile: the wider a function, the more of the time it and its callees
// take. Callers stand above. A browser shows a function's name and share under the pointer.
func flame(profilePath, to, title string) error {
	in, err := os.Open(profilePath)
	if err != nil {
		return err
	}
	defer in.Close()
	p, err := profile.Parse(in)
	if err != nil {
		return err
	}
	root := &frame{name: title, calls: map[string]*frame{}}
	for _, s := range p.Sample {
		value := s.Value[len(s.Value)-1]
		root.value += value
		at := root
		for _, location := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(location.Line) {
				at = at.call(line.Function.Name)
				at.value += value
			}
		}
	}
	if root.value == 0 {
		return fmt.Errorf("%s has no samples", profilePath)
	}
	return os.WriteFile(to, drawFlame(root), 0o644)
}

const (
	flameWidth, rowHeight = 1200.0, 16
	narrowest             = 3.0 // pixels; narrower frames are left out
)

func drawFlame(root *frame) []byte {
	var b strings.Builder
	deepest := 0
	drawFrame(&b, root, 0, 0, flameWidth/float64(root.value), root.value, &deepest)
	return fmt.Appendf(nil, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" `+
		`font-family="monospace" font-size="11">`+"\n%s</svg>\n", flameWidth, (deepest+1)*rowHeight, b.String())
}

// drawFrame draws a frame and, a row below, its callees, from left to right. A frame that is too
// narrow to be seen ends the branch: its callees are narrower still.
func drawFrame(b *strings.Builder, f *frame, x float64, depth int, scale float64, all int64, deepest *int) {
	width := float64(f.value) * scale
	if width < narrowest {
		return
	}
	*deepest = max(*deepest, depth)
	// The package's path is the same for most frames, so the label begins after it; a browser cuts
	// no text at the rectangle's end, so the label is cut by the width of a letter.
	label := f.name[strings.LastIndexByte(f.name, '/')+1:]
	if most := int(width / 6.7); len(label) > most {
		label = label[:max(0, most)]
	}
	fmt.Fprintf(b, `<g><title>%s %.1f %%</title><rect x="%.1f" y="%d" width="%.1f" height="15" fill="%s"/>`+
		`<text x="%.1f" y="%d">%s</text></g>`+"\n", html.EscapeString(f.name), 100*float64(f.value)/float64(all), x,
		depth*rowHeight, width-0.5, colour(f.name), x+2, depth*rowHeight+11, html.EscapeString(label))
	// Sort by name, so that two graphs have the same function in the same place.
	for _, name := range slices.Sorted(maps.Keys(f.calls)) {
		c := f.calls[name]
		drawFrame(b, c, x, depth+1, scale, all, deepest)
		x += float64(c.value) * scale
	}
}

// colour returns red for the functions that make the key, so that one sees at a glance where graphs
// differ.
func colour(name string) string {
	for _, part := range []string{"sortedKey", "slices.", "murmur3", "agentKeys", "contextkey"} {
		if strings.Contains(name, part) {
			return "#e2694f"
		}
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("#%02xd%x%02x", 0xe0+h.Sum32()%24, h.Sum32()>>8%8+8, 0x70+h.Sum32()>>16%48)
}
