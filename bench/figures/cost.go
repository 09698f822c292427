package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/suite"
)

const (
	firstGoal         = 3.0  // seconds from the start to the first verdict
	candidateGoal     = 60.0 // milliseconds of build, verification and screening
	orchestrationGoal = 2.0  // milliseconds, and of the last tenth of 10,000 candidates too
)

// cost reads the times that runs report: of the examples, which have goals, of the suite, and of
// runs of growing length.
func cost(ctx context.Context, l *lab) (*section, error) {
	s := new(section)
	for _, part := range []func(context.Context, *lab) error{s.exampleCost, s.suiteCost, s.budgetCost, s.growth} {
		if err := part(ctx, l); err != nil {
			return nil, err
		}
	}
	info, err := os.Stat(l.beagle)
	if err != nil {
		return nil, err
	}
	s.text += fmt.Sprintf("\nThe `beagle` binary takes %.1f MB.\n", float64(info.Size())/1e6)
	return s, nil
}

var splitHead = strings.Split("function|inputs and audit, s|first verdict, s|build, ms|verify, ms|screen, ms|sum, "+
	"ms|orchestration, ms|candidates a minute|finalists, s|all, s", "|")

// splitRow shows the division of a run's time.
func splitRow(name string, r *beagle.Result) []string {
	p := r.Split
	sum := p.Build + p.Verify + p.Screen
	row := []string{name}
	for _, x := range []float64{p.PrepareSeconds, p.FirstCandidateSeconds, p.Build, p.Verify, p.Screen, sum,
		p.Orchestration, perMinute(p), p.ConfirmSeconds, r.WallSeconds} {
		row = append(row, fmt.Sprintf("%.1f", x))
	}
	return row
}

// perMinute returns the candidates evaluated in a minute of searching.
func perMinute(p beagle.Split) float64 {
	each := p.Build + p.Verify + p.Screen + p.Orchestration
	if each <= 0 {
		return 0
	}
	return 60000 / each
}

// exampleCost compares the first example, a small function, with the goals.
func (s *section) exampleCost(ctx context.Context, l *lab) error {
	results, err := l.evolveExamples(ctx)
	if err != nil {
		return err
	}
	var rows [][]string
	for i, r := range results {
		p := r.Split
		if i == 0 {
			s.limit("start to the first verdict, seconds", p.FirstCandidateSeconds, firstGoal)
			s.limit("build, verification and screening of a candidate, ms", p.Build+p.Verify+p.Screen, candidateGoal)
			s.limit("orchestration of a candidate, ms", p.Orchestration, orchestrationGoal)
		}
		rows = append(rows, splitRow("`"+goals[i].function+"`", r))
	}
	again := new(beagle.Result)
	if err := l.call(ctx, l.home("example"), again, "evolve", "--json", "--anew", "--candidates", "60", "--seed", "1",
		"./examples/tags."+goals[0].function); err != nil {
		return err
	}
	s.text += table(splitHead, append(rows, splitRow("`"+goals[0].function+"`, once more", again)))
	return nil
}

// suiteCost runs the suite's tasks once each. It measures the finalists briefly, since they are not
// part of a candidate's cost.
func (s *section) suiteCost(ctx context.Context, l *lab) error {
	// Load the tasks, few of them if the run is quick.
	tasks, err := suite.Load(filepath.Join(l.root, "suite", "tasks"))
	if err != nil {
		return err
	}
	if l.quick {
		tasks = tasks[:2]
	}
	var rows [][]string
	candidates, seconds := 0, 0.0
	// Search each task that rewriting applies to.
	for _, t := range tasks {
		if !t.Rewrites() {
			continue
		}
		r := new(beagle.Result)
		err := l.call(ctx, l.home("cost"), r, "evolve", "--json", "-C", t.Dir, "--candidates", "60", "--seed", "1",
			"--measure", "2s", "--fuzz", "1s", t.Target)
		if err != nil {
			return err
		}
		p := r.Split
		candidates += r.Candidates
		seconds += float64(r.Candidates) * (p.Build + p.Verify + p.Screen + p.Orchestration) / 1000
		rows = append(rows, splitRow("`"+t.Name+"`", r))
	}
	// Report.
	s.text += "\nThe suite, 60 candidates a task at most, rules only:\n\n" + table(splitHead, rows)
	s.text += fmt.Sprintf("\nTogether %d candidates in %.0f s of searching: %.0f a minute.\n", candidates, seconds,
		60*float64(candidates)/max(seconds, 1e-9))
	return nil
}

// budgets are the numbers of candidates for the same search.
var budgets = []int{15, 30, 60, 120, 240}

// budgetCost runs one search with growing budgets.
func (s *section) budgetCost(ctx context.Context, l *lab) error {
	list := budgets
	if l.quick {
		list = budgets[:2]
	}
	// Prepare a series for each part of a candidate's cost.
	var rows [][]string
	names := []string{"build", "verify", "screen", "orchestration"}
	split, memory := make([]series, len(names)), series{name: "largest process"}
	for i, n := range names {
		split[i].name = n
	}
	// Search with each budget.
	for _, n := range list {
		r := new(beagle.Result)
		home := l.home(fmt.Sprint("budget", n))
		err := l.call(ctx, home, r, "evolve", "--json", "--candidates", fmt.Sprint(n), "--seed", "1", "--measure", "2s",
			"--fuzz", "1s", "./examples/tags.NormalizeTagArbTagValue")
		if err != nil {
			return err
		}
		p, peak := r.Split, float64(l.peak)/1e6
		row := []string{fmt.Sprint(r.Candidates)}
		for i, x := range []float64{p.Build, p.Verify, p.Screen, p.Orchestration} {
			split[i].x, split[i].y = append(split[i].x, float64(r.Candidates)), append(split[i].y, x)
			row = append(row, fmt.Sprintf("%.1f", x))
		}
		memory.x, memory.y = append(memory.x, float64(r.Candidates)), append(memory.y, peak)
		rows = append(rows, append(row, fmt.Sprintf("%.0f", perMinute(p)), fmt.Sprintf("%.0f", peak)))
	}
	// Report, with charts.
	s.text += "\nOne search (`NormalizeTagArbTagValue`) with growing budgets:\n\n"
	s.text += table(
		strings.Split("candidates|build, ms|verify, ms|screen, ms|orchestration, ms|candidates a minute|memory of "+
			"the largest process, MB", "|"), rows) + "\n"
	return s.draw(l, "cost-split", &chart{"What a candidate costs", "ms a candidate", split}, "cost-memory",
		&chart{"Memory of a search", "MB", []series{memory}})
}

// draw adds charts. Its arguments alternate between a name and a chart.
func (s *section) draw(l *lab, pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		text, err := l.draw(pairs[i].(string), pairs[i+1].(*chart))
		if err != nil {
			return err
		}
		s.text += text
	}
	return nil
}

// limit notes a figure that must not be exceeded.
func (s *section) limit(what string, got, most float64) {
	if got > most {
		s.miss("%s: %.1f, the goal is at most %g", what, got, most)
	}
}
