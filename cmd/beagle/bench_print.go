package main

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/benchfile"
)

// printMade describes a benchmark and its use.
func printMade(w io.Writer, plan *benchfile.Plan, m *beagle.ProductionBenchmark) {
	fmt.Fprintf(w, "%s", strings.Join(m.Benchmarks, " and "))
	if m.File != "" {
		fmt.Fprintf(w, " in %s", m.File)
	}
	// Print the calls, the rule of selection and the groups.
	fmt.Fprintf(w, "\n  %-10s %.0f, which the records stand for", "calls", m.Calls)
	if len(m.Sources) > 0 {
		fmt.Fprintf(w, ": %s", strings.Join(m.Sources, "; "))
	}
	fmt.Fprintf(w, "\n  %-10s %s\n", "inputs", m.Rule)
	const most = 6
	for i, g := range m.Groups[:min(len(m.Groups), most)] {
		title := ""
		if i == 0 {
			title = "groups"
		}
		fmt.Fprintf(w, "  %-10s %6.2f %% of the calls, %d of %d inputs: %s\n", title, 100*g.Share, g.Inputs,
			g.Distinct, g.Name)
	}
	if n := len(m.Groups) - most; n > 0 {
		fmt.Fprintf(w, "  %-10s and %d smaller groups, down to %.2g %% of the calls\n", "", n,
			100*m.Groups[len(m.Groups)-1].Share)
	}
	// Extremes run alone. Some groups have another weight than the recording gave them.
	for _, x := range m.Extremes {
		fmt.Fprintf(w, "  %-10s %s\n", "alone", x)
	}
	title := "moved"
	for _, g := range m.Groups {
		if math.Abs(g.Weight-g.Share) < 0.005 {
			continue
		}
		if title != "" {
			fmt.Fprintf(w, "  %-10s weights of groups, and with them the inputs' facets:\n", title)
			title = ""
		}
		fmt.Fprintf(w, "  %-10s %6.2f %% of the calls, not the recorded %.2f %%: %s\n", "", 100*g.Weight,
			100*g.Share, g.Name)
	}
	for _, n := range m.Notes {
		fmt.Fprintf(w, "  %-10s %s\n", "note", n)
	}
	if m.Fit != nil {
		printFit(w, m.Fit)
		if m.Through == "" {
			printCallers(w, m.Fit)
		}
	}
	// Print how to run it.
	t := &plan.Unit.Target
	if m.File != "" {
		fmt.Fprintf(w, "  %-10s cd %s && go test -run '^$' -bench '%s'\n", "run", t.PkgDir,
			strings.Join(m.Benchmarks, "|"))
	}
	switch {
	case m.Through != "":
		fmt.Fprintf(w, "  %-10s beagle verify --bench %s.%s %s other.go\n", "in pairs", t.PkgPath, m.Benchmarks[0],
			m.Target.Spec)
	case m.Corpus != "":
		fmt.Fprintf(w, "  %-10s beagle verify --corpus %s %s other.go\n", "in pairs", m.Corpus, t.Spec())
	}
}

// printCallers says through which callers production calls a function whose benchmark is not alike.
func printCallers(w io.Writer, f *beagle.BenchmarkFit) {
	const most = 0.9 // of the time: a caller with less is not production's usual way
	through := ""
	var list []string
	for _, c := range f.Callers {
		list = append(list, fmt.Sprintf("%.0f %% below %s", 100*c.Share, c.Function))
		if through == "" && c.Share >= most {
			through = c.Function
		}
	}
	if f.Reached || through == "" {
		return
	}
	fmt.Fprintf(w, "  %-10s its time in production: %s\n", "callers", strings.Join(list, ", "))
	fmt.Fprintf(w, "  %-10s call it as production does: capture calls of %s, and give --through %[2]s with them\n",
		"next", through)
}

// printFit prints how alike a benchmark is to production.
func printFit(w io.Writer, f *beagle.BenchmarkFit) {
	// The verdict is about the lower ends of both intervals.
	verdict := fmt.Sprintf("less than the %.4g %% that are needed", 100*f.Needed)
	switch {
	case f.Shown:
		verdict = fmt.Sprintf("at least %.4g %%, as needed", 100*f.Needed)
	case !f.Reached && min(f.Callees.High, f.Lines.High) >= f.Needed:
		verdict += "; the samples do not exclude that it is reached"
	case f.Reached:
		verdict = fmt.Sprintf("the estimate reaches %.4g %%; the samples do not exclude less", 100*f.Needed)
	}
	fmt.Fprintf(w, "  %-10s %s\n", "similarity", verdict)
	// Both similarities stand beside what two profiles of one program would have by chance.
	for _, s := range []struct {
		by string
		beagle.Similarity
	}{{"by callee", f.Callees}, {"by line", f.Lines}} {
		same := ""
		if s.Estimate >= s.Chance {
			same = ": the same, as far as they tell"
		}
		fmt.Fprintf(w, "  %-10s %-9s %.1f %% (95 %%: %.1f to %.1f), of %.0f and %.0f samples, %.1f %% as they are; "+
			"the same program twice: %.1f %% or more%s\n", "", s.by,
			100*s.Estimate, 100*s.Low, 100*s.High, s.Samples, s.BenchSamples, 100*s.Plain, 100*s.Chance, same)
	}
	if f.Held {
		fmt.Fprintf(w, "  %-10s the form was chosen with the other half of production's samples\n", "")
	}
	// No benchmark can be more alike to production than production is to itself.
	if i := f.Itself; i != nil {
		halves := "one half of its samples against the other"
		if i.ByTime {
			halves = "its earlier profiles against its later ones"
		}
		fmt.Fprintf(w, "  %-10s %s: "+
			"%.1f %% by callee (95 %%: %.1f to %.1f), %.1f %% by line (%.1f to %.1f)\n", "production", halves,
			100*i.Callees.Estimate, 100*i.Callees.Low, 100*i.Callees.High,
			100*i.Lines.Estimate, 100*i.Lines.Low, 100*i.Lines.High)
	}
	fmt.Fprintf(w, "  %-10s %.2f %% of production's time is below the function\n", "share", 100*f.Share)
	// Last come the forms, with a star at those that were taken, and what stays unlike.
	for _, t := range f.Tried {
		mark := " "
		if t.Accepted {
			mark = "*"
		}
		moved := ""
		if t.Moved > 0 {
			moved = fmt.Sprintf("; %.1f %% of the calls moved", 100*t.Moved)
		}
		fmt.Fprintf(w, "  %-10s %s %.1f %% by callee, %.1f %% by line, %.4g ns a call: %s%s\n", "tried", mark,
			100*t.Callees, 100*t.Lines, t.Nanos, t.What, moved)
	}
	for _, l := range f.Lost {
		fmt.Fprintf(w, "  %-10s %.1f points by %s: %s\n", "lost", 100*l.Share, l.By, l.Why)
	}
	for _, why := range f.Why {
		fmt.Fprintf(w, "  %-10s %s\n", "not alike", why)
	}
	for _, text := range f.Warnings {
		fmt.Fprintf(w, "  %-10s %s\n", "warning", text)
	}
}
