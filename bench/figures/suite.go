package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/beagle-go/beagle/suite"
)

const (
	suiteSeeds  = 5
	expertsGoal = 1.0 // geometric mean of the ratios to the experts'
)

// ofSuite runs the suite with every strategy, several seeds each, or one with
// --quick. Each strategy has a store of its own, so that its times are its own.
func ofSuite(ctx context.Context, l *lab) (*section, error) {
	n := suiteSeeds
	if l.quick {
		n = 1
	}
	var reports []*suite.Report
	for _, strategy := range []string{"islands", "best-of-n", "rules-only-greedy"} {
		r := new(suite.Report)
		if err := l.call(ctx, l.home("suite-"+strategy), r, "suite", "--json", "--strategy", strategy, "--seeds", fmt.Sprint(n)); err != nil {
			return nil, err
		}
		reports = append(reports, r)
	}
	s := &section{text: againstExperts(reports[0]) + "\n" + againstEachOther(reports)}
	s.judge(reports[0])
	return s, nil
}

// judge holds the first strategy, which is the default, to the goals.
func (s *section) judge(r *suite.Report) {
	if m := r.Means; m.OfExpert < expertsGoal {
		s.miss("the geometric mean over %d tasks is %.0f %% of the experts', the goal %.0f %%", m.Tasks, 100*m.OfExpert, 100*expertsGoal)
	}
	for _, row := range r.Tasks {
		switch {
		case row.Met == nil || *row.Met:
		case row.Advice != nil:
			s.miss("%s: advice %q named: %t, applied: %t", row.Task, row.Advice.Name, row.Advice.Named, row.Advice.Applied)
		default:
			s.miss("%s: the low end is %s, the goal %sx", row.Task, digits(row.Ratio.Low), digits(row.Goal))
		}
	}
}

// againstExperts is one strategy beside the experts.
func againstExperts(r *suite.Report) string {
	var rows [][]string
	for _, row := range r.Tasks {
		goal := "-"
		switch {
		case row.Advice != nil:
			goal = "advice: " + row.Advice.Name
		case row.Goal > 0:
			goal = digits(row.Goal) + "x"
		}
		rows = append(rows, []string{
			"`" + row.Function + "`", goal, interval(row.Ratio), digits(row.Lowest) + " to " + digits(row.Highest), interval(row.Expert),
			fmt.Sprintf("%.0f %%", 100*row.OfExpert.Point), medianSteps(&row), fmt.Sprint(row.Candidates), fmt.Sprintf("%.0f", row.Seconds), row.Published.Gain,
		})
	}
	text := fmt.Sprintf("%s, %d seeds, %d candidates:\n\n", r.Strategy, len(r.Seeds), r.Candidates)
	text += table(strings.Split("function|goal|times as fast, median seed|lowest to highest|the expert's|of the expert's|steps of the median seed|versions|seconds|where it comes from", "|"), rows)
	return text + fmt.Sprintf("\nGeometric means over the %d tasks where rewriting applies: %sx, the experts' %sx, %.0f %% of the experts'.\n",
		r.Means.Tasks, digits(r.Means.Ratio), digits(r.Means.Expert), 100*r.Means.OfExpert)
}

// medianSteps are the rewrites of the run that speaks for the row.
func medianSteps(row *suite.Row) string {
	for _, run := range row.Runs {
		if run.Ratio == row.Ratio {
			return steps(run.Steps)
		}
	}
	return ""
}

// againstEachOther compares the strategies: median ratio and spread.
func againstEachOther(reports []*suite.Report) string {
	head := []string{"function"}
	var rows [][]string
	for i, r := range reports {
		head = append(head, r.Strategy+", median", "lowest to highest")
		for j, row := range r.Tasks {
			if i == 0 {
				rows = append(rows, []string{"`" + row.Function + "`"})
			}
			rows[j] = append(rows[j], digits(row.Ratio.Point), digits(row.Lowest)+" to "+digits(row.Highest))
		}
	}
	last := []string{"**geometric mean**"}
	for _, r := range reports {
		last = append(last, digits(r.Means.Ratio), fmt.Sprintf("%.0f %% of the experts'", 100*r.Means.OfExpert))
	}
	return table(head, append(rows, last))
}
