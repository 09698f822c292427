package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

const (
	aaTrials, gainTrials           = 200, 54
	quickAATrials, quickGainTrials = 14, 9

	falseWinsGoal = 0.01 // share of the trials
	fiveGoal      = 0.9
	twoGoal       = 0.5
)

// ratesReport is the output of `beagle rates --json`.
type ratesReport struct {
	Rates  *beagle.ErrorRates `json:"rates"`
	Trials []judgedTrial      `json:"trials"`
}

type judgedTrial struct {
	Truth    string              `json:"truth"` // "itself", "2 %", "5 %"
	Function string              `json:"function"`
	Loaded   bool                `json:"loaded"`
	Wall     float64             `json:"wall"`
	Result   *beagle.Measurement `json:"result"`
}

// rates makes trials, or continues earlier ones from a journal that is kept. It writes all rates to
// the file that reports read.
func (l *lab) rates(ctx context.Context, itself, gains int) (*ratesReport, error) {
	home, err := keptFigures()
	if err != nil {
		return nil, err
	}
	c := l.command(ctx, home, "rates", "--json", "--trials", fmt.Sprint(itself), "--gains", fmt.Sprint(gains), "--for",
		fmt.Sprint(l.until))
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("beagle rates: %w", err)
	}
	j := new(ratesReport)
	if err := json.Unmarshal(out, j); err != nil {
		return nil, err
	}
	if !l.intoDocs {
		return j, nil
	}
	text, err := json.MarshalIndent(j.Rates, "", "\t")
	if err != nil {
		return nil, err
	}
	return j, os.WriteFile(filepath.Join(l.root, "internal", "bench", "rates.json"), append(text, '\n'), 0o644)
}

// keptFigures returns the directory of results that a later run continues.
func keptFigures() (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "beagle-figures"), err
}

// trialCount returns a number of trials.
func (l *lab) trialCount(full, quick int) int {
	switch {
	case l.trialsWanted > 0:
		return l.trialsWanted
	case l.quick:
		return quick
	}
	return full
}

// aa judges functions against themselves.
func aa(ctx context.Context, l *lab) (*section, error) {
	want := l.trialCount(aaTrials, quickAATrials)
	j, err := l.rates(ctx, want, 0)
	if err != nil {
		return nil, err
	}
	s := new(section)
	r := j.Rates.FalseWins
	if float64(r.Hits) > falseWinsGoal*float64(r.Trials) {
		s.miss("%d of %d functions are called faster than themselves, the goal is at most %.0f %%", r.Hits, r.Trials,
			100*falseWinsGoal)
	}
	s.text = j.byFunction("itself") +
		fmt.Sprintf("\n%s. %s.\n", rateText("Functions called faster than themselves", r), j.leaning())
	s.warnOfFew(r, want)
	return s, nil
}

// leaning measures whether the judge favours the version that it calls the candidate, where there
// is no difference.
func (j *ratesReport) leaning() string {
	var logs []float64
	faster := 0
	for _, t := range j.Trials {
		if t.Truth == "itself" {
			x := 0.0 // of the first layouts, which every trial has: those that begin low end there
			first := t.Result.Layouts[:min(len(t.Result.Layouts), 9)]
			for _, l := range first {
				x += math.Log(l.Ratio.Point) / float64(len(first))
			}
			logs = append(logs, x)
			if x > 0 {
				faster++
			}
		}
	}
	if len(logs) < 2 {
		return "Too few trials to see a lean"
	}
	return fmt.Sprintf("The first nine layouts of all trials together measure %s; %d of %d are above 1",
		meanRatio(logs), faster, len(logs))
}

// warnOfFew warns when a figure rests on fewer trials than it should.
func (s *section) warnOfFew(r beagle.Rate, full int) {
	if r.Trials < full {
		s.miss("%d of %d trials were made", r.Trials, full)
	}
}

func rateText(what string, r beagle.Rate) string {
	return fmt.Sprintf("%s: %d of %d (95 %%: %.1f to %.1f %%)", what, r.Hits, r.Trials, 100*r.Low, 100*r.High)
}

// byFunction returns a table of the trials of a truth.
func (j *ratesReport) byFunction(truth string) string {
	rows := map[string][]judgedTrial{}
	var order []string
	for _, t := range j.Trials {
		if t.Truth == truth {
			if rows[t.Function] == nil {
				order = append(order, t.Function)
			}
			rows[t.Function] = append(rows[t.Function], t)
		}
	}
	var out [][]string
	for _, f := range order {
		out = append(out, row(strings.TrimPrefix(f, "./"), rows[f]))
	}
	return table(
		strings.Split("function|ns a call|called faster: as it was|loaded|all trials together|layouts, "+
			"median|seconds of timing, median|longest", "|"), out)
}

// row sums up the trials of a function.
func row(name string, trials []judgedTrial) []string {
	var hits, all [2]int
	var logs, layouts, seconds, nanos []float64
	for _, t := range trials {
		side := 0
		if t.Loaded {
			side = 1
		}
		all[side]++
		if t.Result.Faster {
			hits[side]++
		}
		logs = append(logs, math.Log(t.Result.Train.Point))
		layouts = append(layouts, float64(len(t.Result.Layouts)))
		seconds = append(seconds, t.Result.Seconds)
		nanos = append(nanos, t.Result.Baseline.Nanos)
	}
	return []string{
		"`" + name + "`", fmt.Sprintf("%.3g", median(nanos)), fmt.Sprintf("%d of %d", hits[0], all[0]),
		fmt.Sprintf("%d of %d", hits[1], all[1]),
		meanRatio(logs), fmt.Sprintf("%.0f", median(layouts)), fmt.Sprintf("%.1f", median(seconds)),
		fmt.Sprintf("%.1f", slices.Max(seconds)),
	}
}

// meanRatio returns the mean ratio of all trials, with twice its standard error: a reference that
// is many times as long as a trial.
func meanRatio(logs []float64) string {
	mean, ss := 0.0, 0.0
	n := float64(len(logs))
	for _, x := range logs {
		mean += x / n
	}
	if len(logs) == 1 {
		return digits(math.Exp(mean))
	}
	for _, x := range logs {
		ss += (x - mean) * (x - mean)
	}
	half := 2 * math.Sqrt(ss/(n-1)/n)
	return interval(beagle.Ratio{Point: math.Exp(mean), Low: math.Exp(mean - half), High: math.Exp(mean + half)})
}
