package main

import (
	"context"
	"fmt"
)

// power judges versions with a true gain.
func power(ctx context.Context, l *lab) (*section, error) {
	want := l.trialCount(gainTrials, quickGainTrials)
	j, err := l.rates(ctx, 0, want)
	if err != nil {
		return nil, err
	}
	s := new(section)
	five, two := j.Rates.FoundFive, j.Rates.FoundTwo
	if float64(five.Hits) < fiveGoal*float64(five.Trials) {
		s.miss("true gains of 5 %% found: %d of %d, the goal is %.0f %%", five.Hits, five.Trials, 100*fiveGoal)
	}
	if float64(two.Hits) < twoGoal*float64(two.Trials) {
		s.miss("true gains of 2 %% found: %d of %d, the goal is %.0f %%", two.Hits, two.Trials, 100*twoGoal)
	}
	s.text = "A true gain of 5 %:\n\n" + j.byFunction("5 %") + "\nA true gain of 2 %:\n\n" + j.byFunction("2 %")
	s.text += fmt.Sprintf("\n%s. %s.\n", rateText("True gains of 5 % found", five),
		rateText("True gains of 2 % found", two))
	s.warnOfFew(five, want)
	s.warnOfFew(two, want)
	return s, nil
}
