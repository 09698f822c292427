package main

import (
	"context"
	"fmt"
	"os"

	watching "github.com/beagle-go/beagle/internal/watch/simulate"
)

const (
	replays        = 6
	falseFindGoal  = 3.0 // false findings in 1,000 windows
	foundGoal      = 0.8 // share of the replays in which a change is found
	hoursToFindMax = 60
)

// replayWatch replays days of simulated profiles with planted changes.
func replayWatch(ctx context.Context, l *lab) (*section, error) {
	n := l.trialCount(replays, 1)
	s := new(section)
	var rows [][]string
	wrong, windows := 0, 0
	// Replay each event, and count true and false findings.
	for _, e := range watching.Events {
		fmt.Fprintf(os.Stderr, "figures: watch: %s, %d times\n", e.Event, n)
		found, wrongHere := 0, 0
		var after []float64
		for seed := range uint64(n) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			o, err := watching.Replay(e.Event, seed+1)
			if err != nil {
				return nil, err
			}
			if o.Found {
				found++
				after = append(after, float64(o.After))
			}
			wrongHere += o.False
		}
		// Hold the event to its goals.
		wrong, windows = wrong+wrongHere, windows+n*watching.Windows
		rows = append(rows, watchRow(e.Event, e.Found, n, found, wrongHere, after))
		if e.Found && float64(found) < foundGoal*float64(n) {
			s.miss("%s: found in %d of %d replays", e.Event, found, n)
		}
		if late := quantile(after, 0.5); late > hoursToFindMax {
			s.miss("%s: found after %.0f windows", e.Event, late)
		}
	}
	// Hold all false findings together to theirs.
	rate := 1000 * float64(wrong) / float64(windows)
	if rate > falseFindGoal {
		s.miss("%.1f false findings in 1,000 windows, the goal is %.0f", rate, falseFindGoal)
	}
	s.text = table([]string{"put in", "replays", "found", "after, windows", "false findings"}, rows) +
		fmt.Sprintf("\n%d false findings in %d windows: %.2f in 1,000.\n", wrong, windows, rate)
	return s, nil
}

func watchRow(e watching.Event, wanted bool, n, found, wrong int, after []float64) []string {
	row := []string{string(e), fmt.Sprint(n), "not wanted", "", fmt.Sprint(wrong)}
	if wanted {
		row[2], row[3] = fmt.Sprint(found), fmt.Sprintf("%.0f", quantile(after, 0.5))
	}
	return row
}
