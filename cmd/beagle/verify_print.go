package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/report"
	"github.com/beagle-go/beagle/internal/tail"
)

// printVerdict prints a verdict for people; name is its file if there are several. The reason shows
// the difference and the test shows the whole input, so neither repeats the other.
func printVerdict(w io.Writer, name string, v *beagle.Verdict) {
	// Print the status with its reason, then the checks.
	fmt.Fprintln(w)
	if name != "" {
		fmt.Fprintf(w, "%s: ", name)
	}
	fmt.Fprint(w, v.Status)
	if !v.OK() {
		fmt.Fprintf(w, " by %s", v.Stage)
	}
	if v.Reason != "" {
		fmt.Fprintf(w, ": %s", v.Reason)
	}
	fmt.Fprintln(w)
	for _, k := range v.Checks {
		mark := "ok"
		if !k.Passed {
			mark = "FAILED"
		}
		fmt.Fprintf(w, "  %-12s %-6s %8d inputs %8.0f ms  %s\n", k.Name, mark, k.Cases, k.Millis, k.Note)
	}
	// Print the counterexample, the figures, the contract and the assurance.
	printCounterexample(w, v.Counterexample)
	if m := v.Final; m != nil {
		printRatios(w, m.Corrected, m)
		fmt.Fprintf(w, "  %-22s %s -> %s a call, mean of a sample\n", "allocations", report.Count(m.Baseline.Allocs),
			report.Count(m.Best.Allocs))
	}
	printContract(w, v)
	printAssurance(w, v.Assurance)
	for _, warning := range v.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
}

// printAssurance prints the extent of the evidence, and its gaps.
func printAssurance(w io.Writer, a *beagle.Assurance) {
	if a == nil {
		return
	}
	fmt.Fprintf(w, "  %-22s %s\n", "assurance", a.Evidence())
	for _, what := range a.NotChecked {
		fmt.Fprintf(w, "  %-22s %s\n", "not checked", what)
	}
	if text := a.Unmet(); text != "" {
		fmt.Fprintf(w, "  %-22s %s\n", "not checked", text)
	}
}

// printCounterexample prints an input on which two versions differ, and both outcomes.
func printCounterexample(w io.Writer, x *beagle.Counterexample) {
	switch {
	case x == nil:
	case x.Test != "":
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(x.Test))
	case x.Go != "":
		fmt.Fprintf(w, "\n  %s\n    original:  %s\n    candidate: %s\n", x.Go, x.Want, x.Got)
	}
}

// printRatios prints the figures of a measurement, the one to quote first.
func printRatios(w io.Writer, quoted beagle.Ratio, m *beagle.Measurement) {
	for _, line := range []struct {
		label string
		ratio *beagle.Ratio
	}{{"by the score", m.Score}, {"faster by", &quoted}, {"on held-out inputs", m.Holdout},
		{"on fresh inputs", m.Fresh},
		{"processes apart", m.Apart}, {"on top of PGO", m.PGO}} {
		if line.ratio != nil {
			fmt.Fprintf(w, "  %-22s %s\n", line.label, report.Ratio(*line.ratio))
		}
	}
}

// reasonInTable bounds a reason in a table.
const reasonInTable = 100

// printSummary prints one line for each version.
func printSummary(w io.Writer, versions []local.SourceFile, told []*beagle.Verdict) {
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "version\tstatus\tlast check\tfaster by\twhy")
	for i, version := range versions {
		// The judge stopped before this version: an interrupt, or an error of its own.
		if i >= len(told) || told[i] == nil {
			fmt.Fprintf(t, "%s\tnot judged\t\t\t\n", version.Name)
			continue
		}
		v, ratio := told[i], ""
		if v.Final != nil {
			ratio = report.Digits(v.Final.Corrected.Point) + "x"
		}
		why := tail.Short(tail.First(v.Reason), reasonInTable)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", version.Name, v.Status, v.Stage, ratio, why)
	}
	t.Flush()
}
