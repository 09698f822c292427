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
		if err := l.call(ctx, l.home("example"), r, "evolve", "--json", "--candidates", "60", "--seed", "1", "./examples/tags."+goals[len(l.examples)].function); err != nil {
			return nil, err
		}
		l.examples = append(l.examples, r)
	}
	return l.examples, nil
}

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
			s.miss("%s: the low end is %s, the goal %sx. %s", g.function, digits(r.Best.Ratio.Low), digits(g.low), r.Why)
		}
		rows = append(rows, []string{
			"`" + g.function + "`", fmt.Sprintf("%gx", g.low), interval(r.Best.Ratio), optional(r.Measurement, func(m *beagle.Measurement) *beagle.Ratio { return m.Holdout }),
			fmt.Sprintf("%.3g → %.3g", r.Baseline.Nanos, r.Best.Nanos), fmt.Sprintf("%.3g → %.3g", r.Baseline.Allocs, r.Best.Allocs),
			steps(r.Best.Steps), fmt.Sprint(r.Candidates), fmt.Sprint(r.Verification.Cases), fmt.Sprintf("%.0f", r.WallSeconds),
		})
	}
	s.text = table(strings.Split("function|goal|times as fast|on held-out inputs|ns a call|allocations a call|steps of the winner|versions|comparisons|seconds", "|"), rows)
	return s, nil
}

// optional shows a ratio that may not have been measured.
func optional(m *beagle.Measurement, of func(*beagle.Measurement) *beagle.Ratio) string {
	if m == nil || of(m) == nil {
		return "-"
	}
	return interval(*of(m))
}

const (
	firstGoal         = 3.0  // seconds from the start to the first verdict
	candidateGoal     = 60.0 // milliseconds of build, verification and screening
	orchestrationGoal = 2.0  // milliseconds
)

// cost reads what the runs of the examples say of themselves. The goals are
// for a small function, the first one.
func cost(ctx context.Context, l *lab) (*section, error) {
	results, err := l.evolveExamples(ctx)
	if err != nil {
		return nil, err
	}
	s := new(section)
	var rows [][]string
	for i, r := range results {
		p := r.Split
		sum := p.Build + p.Verify + p.Screen
		if i == 0 {
			s.limit("start to the first verdict, seconds", p.FirstCandidateSeconds, firstGoal)
			s.limit("build, verification and screening of a candidate, ms", sum, candidateGoal)
			s.limit("orchestration of a candidate, ms", p.Orchestration, orchestrationGoal)
		}
		row := []string{"`" + goals[i].function + "`"}
		for _, x := range []float64{p.PrepareSeconds, p.FirstCandidateSeconds, p.Build, p.Verify, p.Screen, sum, p.Orchestration, p.ConfirmSeconds, r.WallSeconds} {
			row = append(row, fmt.Sprintf("%.1f", x))
		}
		rows = append(rows, row)
	}
	s.text = table(strings.Split("function|inputs and audit, s|first verdict, s|build, ms|verify, ms|screen, ms|sum, ms|orchestration, ms|finalists, s|all, s", "|"), rows)
	return s, nil
}

// limit notes a figure that must not be exceeded.
func (s *section) limit(what string, got, most float64) {
	if got > most {
		s.miss("%s: %.1f, the goal is at most %g", what, got, most)
	}
}
