package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
)

// A goal is the least that the low end of the interval must show.
type goal struct {
	function string
	low      float64
}

var goals = []goal{
	{"isNormalizedASCIITag", 2},
	{"NormalizeTagArbTagValue", 4},
	{"MergeTags", 1.6},
	{"Fibonacci", 1000},
}

// evolveExamples runs the search on every example once.
func (l *lab) evolveExamples(ctx context.Context) ([]*beagle.Result, error) {
	for len(l.examples) < len(goals) {
		r := new(beagle.Result)
		if err := l.call(ctx, l.home("example"), r, "evolve", "--json", "--candidates", "60", "--seed", "1",
			"./examples/tags."+goals[len(l.examples)].function); err != nil {
			return nil, err
		}
		l.examples = append(l.examples, r)
	}
	return l.examples, nil
}

// example evolves the functions of the examples and compares their gains with the goals.
func example(ctx context.Context, l *lab) (*section, error) {
	results, err := l.evolveExamples(ctx)
	if err != nil {
		return nil, err
	}
	s := new(section)
	var rows [][]string
	for i, r := range results {
		g := goals[i]
		if r.Best.Ratio.Low < g.low {
			s.miss("%s: the low end is %s, the goal %sx. %s", g.function, digits(r.Best.Ratio.Low),
				digits(g.low), r.Why)
		}
		rows = append(rows, []string{
			"`" + g.function + "`", fmt.Sprintf("%gx", g.low), interval(r.Best.Ratio),
			optional(r.Measurement, func(m *beagle.Measurement) *beagle.Ratio { return m.Holdout }),
			fmt.Sprintf("%.3g → %.3g", r.Baseline.Nanos, r.Best.Nanos),
			fmt.Sprintf("%.3g → %.3g", r.Baseline.Allocs, r.Best.Allocs),
			steps(r.Best.Steps), fmt.Sprint(r.Candidates), fmt.Sprint(r.Verification.Cases),
			fmt.Sprintf("%.0f", r.WallSeconds),
		})
	}
	s.text = table(
		strings.Split("function|goal|times as fast|on held-out inputs|ns a call|allocations a call|steps of the "+
			"winner|versions|comparisons|seconds", "|"), rows)
	return s, nil
}

// optional formats a ratio that may not have been measured.
func optional(m *beagle.Measurement, of func(*beagle.Measurement) *beagle.Ratio) string {
	if m == nil || of(m) == nil {
		return "-"
	}
	return interval(*of(m))
}
