package main

import (
	"fmt"
	"io"

	"github.com/beagle-go/beagle"
)

// printCampaign prints the targets, the saving, and the reasons for targets without a result.
func printCampaign(w io.Writer, c *beagle.Campaign) {
	fmt.Fprintf(w, "\ncampaign %s of %s: %s\n", c.ID, c.Module, c.State)
	// Print the sum, and the part of the budget that is spent.
	s := &c.Saving
	fmt.Fprintf(w, "  %-10s %.2f %% of the service's processor time (95 %%: %.2f to %.2f)\n", "saves",
		100*s.Share, 100*s.Low,
		100*s.High)
	if s.Cores > 0 {
		fmt.Fprintf(w, "  %-10s %.3g cores\n", "", s.Cores)
	}
	if s.Currency != "" {
		fmt.Fprintf(w, "  %-10s %.0f %s a year (%.0f to %.0f)\n", "", s.Year, s.Currency, s.YearLow, s.YearHigh)
	}
	budget := ""
	if c.Budget.ProcessorSeconds > 0 {
		budget = fmt.Sprintf(" of %.0f", c.Budget.ProcessorSeconds)
	}
	fmt.Fprintf(w, "  %-10s %.0f%s s of processor time", "spent", c.Spent.ProcessorSeconds, budget)
	if c.Spent.Dollars > 0 || c.Budget.Dollars > 0 {
		fmt.Fprintf(w, ", $%.2f of $%.2f", c.Spent.Dollars, c.Budget.Dollars)
	}
	fmt.Fprintln(w)
	// Print each target, with the command that continues its work.
	for _, t := range c.Targets {
		fmt.Fprintf(w, "\n%s: %s\n", t.Target, t.State)
		line := func(name, format string, args ...any) {
			fmt.Fprintf(w, "  %-10s %s\n", name, fmt.Sprintf(format, args...))
		}
		// First the way here: why it was taken up, and what came of it.
		line("taken up", "%s", t.Why)
		if t.State != beagle.CampaignImproved && t.Reason != "" {
			line("why not", "%s", clean(t.Reason))
		}
		if t.Ratio != nil {
			line("faster by", "%.3gx (95 %%: %.3g to %.3g)", t.Ratio.Point, t.Ratio.Low, t.Ratio.High)
		}
		if t.Ratio != nil && t.Again != nil {
			line("again", "%.3gx (95 %%: %.3g to %.3g), beside its steps: the saving is of both, uncorrected",
				t.Again.Point, t.Again.Low, t.Again.High)
		}
		if t.Tests != "" && t.State == beagle.CampaignImproved {
			line("tests", "%s passes", t.Tests)
		}
		// Then what the figures rest on.
		if m := t.Similarity; m != nil {
			line("inputs", "%.1f %% alike to production (95 %%: %.1f to %.1f)", 100*m.Estimate, 100*m.Low, 100*m.High)
		}
		if p := t.Part; p != nil {
			line("benchmark", "%.1f %% of its loop is the function: the saving is that much larger", 100*p.Share)
		}
		// Then the gain for the service, and the commands that go on from here.
		if s := t.Saving; s != nil {
			line("saves", "%.2f %% of the service (%.2f to %.2f)", 100*s.Share, 100*s.Low, 100*s.High)
			line("prove", "beagle rollout start --predicted %.4g,%.4g,%.4g %s", s.Share, s.Low, s.High, t.Target)
		}
		if t.Run != "" {
			line("run", "beagle show %s", t.Run)
		}
		if t.Next != "" {
			line("next", "%s", t.Next)
		}
	}
	for _, n := range c.Notes {
		fmt.Fprintf(w, "\nnote: %s\n", n)
	}
	for _, n := range c.Warnings {
		fmt.Fprintf(w, "\nwarning: %s\n", n)
	}
}
