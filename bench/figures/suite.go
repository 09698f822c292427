package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/suite"
)

const (
	suiteSeeds  = 5
	expertsGoal = 1.0 // geometric mean of the ratios to the experts'
)

var searches = []string{"islands", "best-of-n", "rules-only-greedy"}

// A search is a strategy with a set of rules.
type search struct{ strategy, rules string }

// suiteSearches begin with the default strategy and all rules, whose figure stands beside the
// experts'. The default set leaves out the rules that find places in the suite alone.
var suiteSearches = []search{
	{"islands", "all"}, {"islands", "default"}, {"best-of-n", "all"}, {"rules-only-greedy", "all"},
}

func (s search) String() string {
	if s.rules == "default" {
		return s.strategy + ", only rules that public code needs"
	}
	return s.strategy
}

// ofSuite runs the suite with every strategy and several seeds, or with one seed under --quick. It
// keeps the result of each task, so that the hours may be spread over several runs. The strategies
// other than the default may have fewer seeds.
func ofSuite(ctx context.Context, l *lab) (*section, error) {
	n := l.trialCount(suiteSeeds, 1)
	tasks, err := suite.Load(filepath.Join(l.root, "suite", "tasks"))
	if err != nil {
		return nil, err
	}
	var reports []*suite.Report
	start, missing := time.Now(), 0
	// Search each task with each strategy, until the time is over.
	for i, search := range suiteSearches {
		seeds := n
		if i > 0 && l.rivals > 0 {
			seeds = l.rivals
		}
		// Join the tasks' results into one report a strategy.
		whole := &suite.Report{Strategy: search.String()}
		for _, task := range tasks {
			r, err := l.ofTask(ctx, search, task, seeds, l.until > 0 && time.Since(start) > l.until)
			if err != nil {
				return nil, err
			}
			if r == nil {
				missing++
				continue
			}
			whole.Seeds, whole.Candidates = r.Seeds, r.Candidates
			whole.Tasks = append(whole.Tasks, r.Tasks...)
		}
		if whole.Means = suite.Average(whole.Tasks); len(whole.Tasks) > 0 {
			reports = append(reports, whole)
		}
	}
	if len(reports) == 0 {
		return nil, errors.New("no task was run: give it more time with --for")
	}
	// Report, and hold the default strategy to the goals.
	s := &section{text: againstExperts(reports[0]) + "\n" + againstEachOther(reports)}
	s.judge(reports[0])
	if missing > 0 {
		all := len(suiteSearches) * len(tasks)
		s.miss("%d of %d searches of a task were made", all-missing, all)
	}
	return s, nil
}

// ofTask searches for a task in a store of its own, or returns the result of an earlier run of the
// same code. It returns nil if the time is over.
func (l *lab) ofTask(
	ctx context.Context, search search, task suite.Task, seeds int, late bool,
) (*suite.Report, error) {
	return keep(l, "suite", late, func(r *suite.Report) error {
		return l.call(ctx, l.home("suite-"+search.strategy+"-"+search.rules), r, "suite", "--json", "--strategy",
			search.strategy, "--rules", search.rules, "--seeds", fmt.Sprint(seeds), task.Name)
	}, search.strategy, search.rules, textOf(task.Dir), seeds)
}

// keep fills a result by make, or from an earlier run of the same code on the same input. It
// returns nil if there is none and no time is left.
func keep[T any](l *lab, figure string, late bool, fill func(*T) error, of ...any) (*T, error) {
	code, err := os.ReadFile(l.beagle)
	if err != nil {
		return nil, err
	}
	cache, err := keptFigures()
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(cache, figure,
		beagle.HashOf(figure, append([]any{sha256.Sum256(code)}, of...)...)[:16]+".json")
	r := new(T)
	if text, err := os.ReadFile(kept); err == nil && json.Unmarshal(text, r) == nil {
		return r, nil
	}
	if late {
		return nil, nil
	}
	if err := fill(r); err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return r, errors.Join(os.MkdirAll(filepath.Dir(kept), 0o755), os.WriteFile(kept, text, 0o644))
}

// textOf returns the text of all files of a task's folder.
func textOf(dir string) []string {
	var out []string
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			text, _ := os.ReadFile(path)
			out = append(out, path, string(text))
		}
		return nil
	})
	return out
}

// judge compares the first strategy, which is the default, with the goals.
func (s *section) judge(r *suite.Report) {
	if m := r.Means; m.OfExpert < expertsGoal {
		s.miss("the geometric mean over %d tasks is %.0f %% of the experts', the goal %.0f %%", m.Tasks, 100*m.OfExpert,
			100*expertsGoal)
	}
	for _, row := range r.Tasks {
		switch {
		case row.Met == nil || *row.Met:
		case row.Advice != nil:
			s.miss("%s: advice %q named: %t, applied: %t", row.Task, row.Advice.Name, row.Advice.Named,
				row.Advice.Applied)
		default:
			s.miss("%s: the low end is %s, the goal %sx", row.Task, digits(row.Ratio.Low), digits(row.Goal))
		}
	}
}

// againstExperts returns one strategy's row beside the experts'.
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
			"`" + row.Function + "`", goal, interval(row.Ratio), digits(row.Lowest) + " to " + digits(row.Highest),
			interval(row.Expert),
			fmt.Sprintf("%.0f %%", 100*row.OfExpert.Point), medianSteps(&row), fmt.Sprint(row.Candidates),
			fmt.Sprintf("%.0f", row.Seconds), row.Published.Gain,
		})
	}
	text := fmt.Sprintf("%s, %d seeds, %d candidates:\n\n", r.Strategy, len(r.Seeds), r.Candidates)
	text += table(
		strings.Split("function|goal|times as fast, median seed|lowest to highest|the expert's|of the expert's|steps "+
			"of the median seed|versions|seconds|where it comes from", "|"), rows)
	return text +
		fmt.Sprintf("\nGeometric means over the %d tasks where rewriting applies: %sx, the experts' %sx, %.0f %% of "+
			"the experts'.\n",
			r.Means.Tasks, digits(r.Means.Ratio), digits(r.Means.Expert), 100*r.Means.OfExpert)
}

// medianSteps returns the rewrites of the run whose ratio is the row's median.
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
	last := []string{"**geometric mean**"}
	var rows [][]string
	for _, row := range reports[0].Tasks {
		rows = append(rows, []string{"`" + row.Function + "`"})
	}
	for _, r := range reports {
		head = append(head, fmt.Sprintf("%s, seeds: %d, median", r.Strategy, len(r.Seeds)), "lowest to highest")
		last = append(last, digits(r.Means.Ratio),
			fmt.Sprintf("%.0f %% of the experts', %d tasks", 100*r.Means.OfExpert, r.Means.Tasks))
		for j, first := range reports[0].Tasks {
			i := slices.IndexFunc(r.Tasks, func(row suite.Row) bool { return row.Task == first.Task })
			if i < 0 {
				rows[j] = append(rows[j], "-", "-")
				continue
			}
			row := r.Tasks[i]
			rows[j] = append(rows[j], digits(row.Ratio.Point), digits(row.Lowest)+" to "+digits(row.Highest))
		}
	}
	return table(head, append(rows, last))
}
