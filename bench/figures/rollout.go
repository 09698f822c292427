package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/rollout/simulate"
)

const (
	nothingTrials, harmTrials, savingTrials, lossTrials = 1000, 100, 200, 200

	falseShipGoal   = 0.05    // upper end of the interval
	exposureGoal    = 50_000  // requests on a candidate that harms errors or p99, in 95 of 100 rollouts
	burstGoal       = 250_000 // the same, when the harm comes in one block of ten
	gainMinutesGoal = 10.0    // core-minutes within which a gain is found
	gainFoundGoal   = 0.8     // share of the rollouts
)

// rollouts simulates rollouts of versions whose truth is known.
func rollouts(ctx context.Context, l *lab) (*section, error) {
	s := new(section)
	for _, part := range []func(*lab, *section) error{nothingToShip, lossesToStop, harmsToStop, gainsToFind} {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := part(l, s); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func nothingToShip(l *lab, s *section) error {
	n := l.trialCount(nothingTrials, 20)
	var rows [][]string
	for _, scenario := range l.scenarios(append(simulate.NullScenarios(), simulate.Luck(), simulate.Users())) {
		all, err := tryScenario(scenario, n)
		if err != nil {
			return err
		}
		rate := bench.RateOf(simulate.Shipped(all), n)
		rows = append(rows, []string{scenario.Name, fmt.Sprint(n), fmt.Sprint(rate.Hits),
			fmt.Sprintf("%.1f %%", 100*rate.High), topCause(all)})
		lucky := scenario.Service.LinkLuck > 0 || scenario.Service.Users > 0
		if !lucky && rate.High > falseShipGoal && n >= nothingTrials {
			s.miss("%s: up to %.1f %% false ships, the goal is %.0f %%", scenario.Name, 100*rate.High,
				100*falseShipGoal)
		}
	}
	s.text += "The candidate is the original (A/A):\n\n" +
		table([]string{"noise", "rollouts", "shipped", "upper bound", "most frequent end"}, rows) + "\n"
	return nil
}

func lossesToStop(l *lab, s *section) error {
	if len(l.scenarios([]simulate.Scenario{simulate.Losses()})) == 0 {
		return nil
	}
	n := l.trialCount(lossTrials, 20)
	all, err := simulate.Losses().Try(n, simulate.Usual)
	if err != nil {
		return err
	}
	shipped := simulate.Shipped(all)
	s.text += fmt.Sprintf("%d of %d losses drawn by chance, 1.2 to 5.2 times a guardrail's margin, shipped.\n\n",
		shipped, n)
	if shipped > 0 {
		s.miss("%d of %d losses shipped", shipped, n)
	}
	return nil
}

// harmsToStop simulates candidates that are faster and do harm: none may ship.
func harmsToStop(l *lab, s *section) error {
	n := l.trialCount(harmTrials, 10)
	var rows [][]string
	// Simulate each harm.
	for _, scenario := range l.scenarios(simulate.Harms()) {
		all, err := tryScenario(scenario, n)
		if err != nil {
			return err
		}
		// Count the requests that the candidate answered.
		var exposed []float64
		for _, o := range all {
			exposed = append(exposed, o.Exposure.Requests)
		}
		late := quantile(exposed, 0.95)
		shipped := simulate.Shipped(all)
		rows = append(rows, []string{scenario.Name, fmt.Sprint(n), fmt.Sprint(shipped),
			fmt.Sprintf("%.0f", quantile(exposed, 0.5)), fmt.Sprintf("%.0f", late), topCause(all)})
		// Compare with the goals.
		goal := exposureGoal
		if scenario.Truth(0).Bursts {
			goal = burstGoal
		}
		seen := scenario.Truth(0).Errors > 0 || scenario.Truth(0).Slow > 0
		if shipped > 0 {
			s.miss("%s: %d shipped", scenario.Name, shipped)
		}
		if seen && late > float64(goal) {
			s.miss("%s: %.0f requests before it is rolled back, the goal is %d", scenario.Name, late, goal)
		}
	}
	// Report.
	s.text += "The candidate is faster and does harm; requests that it answered before it was rolled back:\n\n" +
		table([]string{"harm", "rollouts", "shipped", "median", "95th percentile", "most frequent end"}, rows) + "\n"
	return nil
}

// gainsToFind simulates candidates with a small gain: most must ship in time.
func gainsToFind(l *lab, s *section) error {
	n := l.trialCount(savingTrials, 10)
	var rows [][]string
	for _, scenario := range l.scenarios(simulate.Gains()) {
		all, err := tryScenario(scenario, n)
		if err != nil {
			return err
		}
		var minutes []float64
		within := 0
		for _, o := range all {
			if o.Shipped {
				minutes = append(minutes, o.CoreMinutes)
				if o.CoreMinutes <= gainMinutesGoal {
					within++
				}
			}
		}
		rows = append(rows, []string{scenario.Name, fmt.Sprint(n), fmt.Sprint(len(minutes)), fmt.Sprint(within),
			fmt.Sprintf("%.1f", quantile(minutes, 0.5)), fmt.Sprintf("%.1f", quantile(minutes, 0.9))})
		if float64(within) < gainFoundGoal*float64(n) {
			s.miss("%s: %d of %d gains found within %.0f core-minutes", scenario.Name, within, n, gainMinutesGoal)
		}
	}
	s.text += "The candidate saves 0.75 % of the service (a function of 3 %, 25 % faster):\n\n" +
		table([]string{"noise", "rollouts", "shipped", fmt.Sprintf("within %.0f core-minutes", gainMinutesGoal),
			"median core-minutes", "90th percentile"}, rows)
	return nil
}

// scenarios returns the scenarios that the user asked for.
func (l *lab) scenarios(all []simulate.Scenario) []simulate.Scenario {
	return slices.DeleteFunc(all, func(s simulate.Scenario) bool { return !strings.Contains(s.Name, l.scenario) })
}

// tryScenario logs the scenario on stderr and runs it.
func tryScenario(s simulate.Scenario, n int) ([]simulate.Outcome, error) {
	fmt.Fprintf(os.Stderr, "figures: rollout: %s, %d times\n", s.Name, n)
	return s.Try(n, simulate.Usual)
}

// quantile returns the smallest value that at least the given share of the values does not exceed.
// It never lies between two values as special.Quantile does, so the documents give exposures and
// times that did happen.
func quantile(values []float64, share float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// topCause returns the most frequent beginning of the causes.
func topCause(all []simulate.Outcome) string {
	count := map[string]int{}
	best := ""
	for _, o := range all {
		cause := strings.Join(strings.FieldsFunc(o.Cause, func(r rune) bool { return r == ':' })[:1], "")
		words := strings.Fields(cause)
		cause = strings.Join(words[:min(5, len(words))], " ")
		count[cause]++
		if count[cause] > count[best] || count[cause] == count[best] && cause < best {
			best = cause
		}
	}
	return fmt.Sprintf("%s (%d)", best, count[best])
}
