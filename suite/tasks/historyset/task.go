// Package historyset keeps an intake from writing to its indexes what it has
// just written: of a message's points only the first of each series goes there.
package historyset

import "strconv"

// A Point is a sample of a series, whose metric and host have numbers.
type Point struct {
	Metric, Host int32
	Value        float64
}

// First returns the positions of the points whose series did not occur before
// them in the message.
func First(points []Point) []int {
	var first []int
	history := make(map[string]struct{})
	for i, p := range points {
		series := strconv.Itoa(int(p.Metric)) + ":" + strconv.Itoa(int(p.Host))
		if _, ok := history[series]; ok {
			continue
		}
		history[series] = struct{}{}
		first = append(first, i)
	}
	return first
}
