package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/beagle-go/beagle"
)

// Ratio prints a ratio with its interval, with the digits that mean something. Too few layouts give
// an interval without end.
func Ratio(r beagle.Ratio) string {
	if r.High >= math.MaxFloat64 {
		return fmt.Sprintf("%sx (95 %%: from %s up, without end)", Digits(r.Point), Digits(r.Low))
	}
	return fmt.Sprintf("%sx (95 %%: %s to %s)", Digits(r.Point), Digits(r.Low), Digits(r.High))
}

// Digits prints a ratio: two decimals up to 10, one up to 100, then whole.
func Digits(f float64) string {
	switch {
	case f < 10:
		return fmt.Sprintf("%.2f", f)
	case f < 100:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.0f", f)
}

// Nanos prints a duration given in nanoseconds.
func Nanos(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.3g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	}
	return fmt.Sprintf("%.3g ms", ns/1e6)
}

// percent prints a share.
func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// Count prints an average a call over a sample. It drops digits that depend on the drawn calls.
func Count(f float64) string {
	s := fmt.Sprintf("%.2f", f)
	switch {
	case f > 0 && f < 0.005:
		return "<0.01"
	case f >= 100:
		s = fmt.Sprintf("%.0f", f)
	case f >= 10:
		s = fmt.Sprintf("%.1f", f)
	}
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// reusedResults lists the results that the command takes from the store.
func reusedResults(command string) string {
	if strings.Contains(command, " --anew") {
		return ""
	}
	return " (what this machine's store knows is not measured again, unless --anew is given too)"
}

// timed names the inputs of the figure to quote.
func timed(r *beagle.Result) string {
	if r.Score != nil && len(r.Score.Benchmarks) > 0 {
		return "the time of " + r.Score.Where()
	}
	return "training inputs"
}

// Short returns the beginning of an ID, enough to name it in a run.
func Short(id string) string { return id[:min(len(id), 8)] }

// path names how a candidate came about, step by step.
func path(steps []beagle.Step) string {
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.Mutator
		if s.Mutator == "model" { // whose parameter is a candidate's ID
			names[i] += " " + s.Site
			continue
		}
		if s.Param != "" {
			names[i] += "(" + s.Param + ")"
		}
	}
	return strings.Join(names, " → ")
}
