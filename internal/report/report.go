// Package report writes a run's result for people: Markdown for a code
// review, one self-contained HTML page with a plot for reading. It knows
// nothing but [beagle.Result], so that any stored result can be shown again.
package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// Markdown writes the report that goes beside a pull request.
func Markdown(w io.Writer, r *beagle.Result) error {
	var m markdown
	tell(&m, r)
	_, err := io.WriteString(w, strings.TrimSuffix(m.String(), "\n"))
	return err
}

// HTML writes the same as one page without external resources.
func HTML(w io.Writer, r *beagle.Result) error {
	p := newPage(fmt.Sprintf("%s: %s", r.Target.Spec, r.Outcome))
	tell(p, r)
	p.WriteString("</html>\n")
	_, err := io.WriteString(w, p.String())
	return err
}

// tell writes the report's sections in order.
func tell(s sheet, r *beagle.Result) {
	outcome(s, r)
	measurement(s, r)
	attempts(s, r.Attempts)
	profile(s, r.Profile)
	lineage(s, r.Lineage)
	advice(s, r.Advice)
	change(s, r)
	verification(s, r)
	inputs(s, r)
	search(s, r)
	models(s, r.Models)
	judge(s, r.Judge)
	replay(s, r)
}

// outcome writes the target, the gain and its reason, and what the result rests on.
func outcome(s sheet, r *beagle.Result) {
	if r.Corpus.GeneratedOnly {
		s.warn(strong("Measured on generated inputs only: no test, benchmark or capture calls this function. " +
			"The figures say little about production."))
	}
	// Begin with the target, the gain, and the reason.
	s.heading(1, code(r.Target.Spec), say(": %s", r.Outcome))
	if r.Patch != "" {
		s.figure(fmt.Sprintf("%.3gx", r.Best.Ratio.Point))
	}
	s.para(say("%s", r.Why))
	if r.Score != nil {
		s.para(strong("Ranked by:"), say(" %s.", r.Score))
	}
	// Say where the target stands, and with which type arguments it was measured.
	where := []span{code(r.Target.Signature), say(" in "), code(fmt.Sprintf("%s:%d", r.Target.File, r.Target.Line))}
	for i, arg := range r.Target.TypeArgs {
		before := ", "
		if i == 0 {
			before = ", measured with type arguments "
		}
		where = append(where, say("%s", before), code(arg))
	}
	s.para(append(where, say("."))...)
	// State what the result rests on: a contract, a near miss, an earlier run.
	if !r.Target.Contract.IsZero() {
		s.para(strong("Under a contract:"),
			say(" %s. Nothing is claimed about inputs outside of it.", Contract(r.Target.Contract)))
	}
	if n := r.NearMiss; n != nil {
		s.para(strong("A near miss:"), say(" a faster version would be right under the contract %s, kept to by %s. ",
			Contract(n.Contract), Support(n)), code(n.Flag), say(" accepts it."))
	}
	if m := r.MeasuredIn; m != nil {
		s.warn(strong("Measured before:"), say(" the figures below are those of run %s, on %s UTC. This run took them "+
			"from the store; ", m.Run, m.At), code("--anew"), say(" measures again."))
	}
}

// measurement writes the costs of a call before and after, and all measured ratios.
func measurement(s sheet, r *beagle.Result) {
	m := r.Measurement
	if m == nil {
		return
	}
	// Show the cost of a call.
	s.table(columns("", ">before", ">after"), [][]cell{
		row("time a call, here", Nanos(r.Baseline.Nanos), Nanos(r.Best.Nanos)),
		row("allocations a call, mean of a sample", Count(r.Baseline.Allocs), Count(r.Best.Allocs)),
		row("bytes a call, of the same sample", Count(r.Baseline.Bytes), Count(r.Best.Bytes)),
		row("bounds checks in the code", fmt.Sprint(r.BaselineStatic.BoundsChecks),
			fmt.Sprint(r.Best.Static.BoundsChecks)),
		row("machine code", fmt.Sprintf("%d bytes", r.BaselineStatic.CodeBytes),
			fmt.Sprintf("%d bytes", r.Best.Static.CodeBytes)),
	})
	s.para(say("Allocations are counted over at most 4,096 calls, drawn by weight; another run may draw others."))

	// Show the ratio, with those of the other comparisons.
	quote := [][]cell{{
		{strong("the figure to quote"), say(": %s, corrected for %d versions tried", timed(r), m.Tried)},
		{strong(Ratio(r.Best.Ratio))},
	}}
	for _, other := range []struct {
		what  string
		ratio *beagle.Ratio
	}{
		{"the score, corrected alike", m.Score},
		{"inputs that the search never saw", m.Holdout},
		{"inputs drawn anew from the same distribution", m.Fresh},
		{"each in a process of its own", m.Apart},
		{"on top of profile-guided optimisation", m.PGO},
		{"timed once more afterwards, beside its steps", r.Again},
		{"control: the original against itself, in the same programs", m.Control},
	} {
		if other.ratio != nil {
			quote = append(quote, row(other.what, Ratio(*other.ratio)))
		}
	}
	s.table(columns("compared on", "times as fast"), quote)

	// Show the classes of inputs.
	var classes [][]cell
	for _, c := range m.InputClasses {
		ratio := cell{say("%s", Ratio(c.Ratio))}
		if c.Ratio.High < 1 {
			ratio = append(ratio, say(" "), strong("slower"))
		}
		classes = append(classes, append(row(c.Name, percent(c.Share)), ratio))
	}
	if len(classes) > 0 {
		s.table(columns("class of inputs", ">share of the calls", "times as fast"), classes)
	}
	layouts(s, m.Layouts)
}

// layouts writes the ratio in each link layout.
func layouts(s sheet, list []beagle.Layout) {
	var points strings.Builder
	var rows [][]cell
	for _, l := range list {
		fmt.Fprintf(&points, " %sx", Digits(l.Ratio.Point))
		rows = append(rows, row(fmt.Sprint(l.Seed), fmt.Sprintf("%d, %d", l.Align[0], l.Align[1]), Ratio(l.Ratio)))
	}
	s.para(say("%d link layouts:%s. A ratio is the original's time over the new version's, in pairs within one "+
		"process; absolute times hold for this machine and moment only.", len(list), &points))
	s.fold("Each link layout", columns(">seed", ">entry mod 64: original, new", "times as fast"), rows)
}

// attempts writes the plot of all attempts.
func attempts(s sheet, list []beagle.Attempt) {
	if len(list) > 0 {
		s.plot("Speed over candidates", plot(list))
	}
}

// profile writes the lines on which the original spends its time.
func profile(s sheet, lines []beagle.LineShare) {
	if len(lines) == 0 {
		return
	}
	var rows [][]cell
	for _, l := range lines {
		rows = append(rows, []cell{{say("%s", percent(l.Share))}, {code(l.Text)}})
	}
	s.heading(2, say("Where the original spends its time"))
	s.table(columns(">share", "line"), rows)
}

// lineage writes the gain of each of the winner's steps.
func lineage(s sheet, steps []beagle.LineageStep) {
	if len(steps) == 0 {
		return
	}
	var rows [][]cell
	var whys [][]span
	for i, l := range steps {
		name := l.Step.Mutator
		if l.Step.Param != "" {
			name += fmt.Sprintf(" (%s)", l.Step.Param)
		}
		if l.Step.Class != "" {
			name += fmt.Sprintf(", class %s", l.Step.Class)
		}
		rows = append(rows, row(fmt.Sprint(i+1), name, l.Step.Site, Ratio(l.Gain), Ratio(l.Ratio)))
		whys = append(whys, []span{say("%s", l.Why)})
	}
	s.heading(2, say("What each step bought"))
	s.para(say("Timed beside each other over several link layouts, briefly, after the full measurement: these ratios " +
		"are not part of the figure to quote, and the last step's may differ from it."))
	s.table(columns(">step", "rewrite", "where", "times as fast as the step before", "as the original"), rows)
	s.list(true, whys...)
}

// advice writes the changes that only a person can make.
func advice(s sheet, list []beagle.Advice) {
	if len(list) == 0 {
		return
	}
	var items [][]span
	for _, a := range list {
		items = append(items, []span{say("line %d, ", a.Line), code(a.Site), say(" (%s): %s", a.Name, a.Doc)})
	}
	s.heading(2, say("What a person could change"))
	s.para(say("No rewrite does this: each hangs on a promise that the source does not make."))
	s.list(false, items...)
}

// change writes the patch with its requirements and its tests.
func change(s sheet, r *beagle.Result) {
	if r.Patch == "" {
		return
	}
	s.heading(2, say("The change"))
	s.diff(ChangedOnly(r.Patch))
	for _, m := range r.Requires {
		s.para(say("It adds "), code(m.Path+" "+m.Version), say(" to go.mod."))
	}
	for _, name := range AddedTests(r.Patch) {
		s.para(say("With it comes "), code(name), say(": a regression test and a benchmark over recorded inputs."))
	}
}

// verification writes the checks, how far they reach, and what was not checked.
func verification(s sheet, r *beagle.Result) {
	s.heading(2, say("What was verified, and how hard"))
	if v := r.VerifiedIn; v != nil {
		s.warn(strong("Verified before:"), say(" by run %s, on %s UTC; this run took the verdict from the store.",
			v.Run, v.At))
	}
	// List the checks that ran, each with its inputs and its time.
	var rows [][]cell
	for _, c := range r.Verification.Checks {
		name := cell{say("%s", c.Name)}
		if !c.Passed {
			name = append(name, say(" "), strong("failed"))
		}
		rows = append(rows, append([]cell{name}, row(fmt.Sprint(c.Cases), fmt.Sprintf("%.0f ms", c.Millis), c.Note)...))
	}
	if len(rows) > 0 {
		s.table(columns("check", ">inputs", ">time", "note"), rows)
	} else {
		s.para(say("Nothing passed the measurement, so nothing was verified in full."))
	}
	// Say how far they reach, what fell, and what was not checked.
	if a := r.Verification.Assurance; a != nil {
		s.para(say("Assurance: %s.", a))
	}
	if fallen := items(r.Rejected); len(fallen) > 0 {
		s.para(say("Faster versions that fell here, or in the second measurement:"))
		s.list(false, fallen...)
	}
	not := items(r.Verification.NotDone)
	if len(not) == 0 {
		not = [][]span{{say("nothing that is known of")}}
	}
	s.para(say("Not verified:"))
	s.list(false, not...)
}

// items makes an item of each text.
func items(texts []string) [][]span {
	var out [][]span
	for _, t := range texts {
		out = append(out, []span{say("%s", t)})
	}
	return out
}

// inputs writes the origin of the inputs and their facets.
func inputs(s sheet, r *beagle.Result) {
	s.heading(2, say("The inputs"))
	if p := r.InPlace; p != nil {
		because := ""
		if p.Because != "" {
			because = fmt.Sprintf(" Because %s.", p.Because)
		}
		s.para(say("In place: %s.%s", p, because))
	}
	c := &r.Corpus
	text := fmt.Sprintf("%d distinct inputs for the search, %d held out, %d generated for verification.",
		c.Train, c.Holdout, c.Generated)
	for _, source := range c.Sources {
		text += fmt.Sprintf(" %s.", source)
	}
	if c.Dropped > 0 {
		text += fmt.Sprintf(" %d calls were left out: %s.", c.Dropped, c.DroppedWhy)
	}
	s.para(say("%s", text))
	if len(c.Facets.Params) > 0 {
		s.table(columns("parameter", ">distinct", "length: min, median, p95, max", ">ASCII", ">sorted",
			"most frequent"), facets(c.Facets.Params))
	}
	if notes := notes(r); len(notes) > 0 {
		s.list(false, notes...)
	}
}

// facets returns a table row for each parameter.
func facets(params []beagle.ParamFacet) [][]cell {
	var rows [][]cell
	for _, p := range params {
		var top cell
		for i, t := range p.Top[:min(len(p.Top), 2)] {
			if i > 0 {
				top = append(top, say(", "))
			}
			top = append(top, code(t.Value), say(" (%s)", percent(t.Share)))
		}
		lengths := fmt.Sprintf("%v, %v, %v, %v", p.Len[0], p.Len[1], p.Len[2], p.Len[4])
		texts := row(p.Name, fmt.Sprint(p.Distinct), lengths, percent(p.ASCII), percent(p.Sorted))
		rows = append(rows, append(texts, top))
	}
	return rows
}

// notes list the audit's findings about the inputs, and the limits of this machine or a rule.
func notes(r *beagle.Result) [][]span {
	var out [][]span
	for _, f := range r.Findings {
		kind := "warning"
		if f.Refuse {
			kind = "refused"
		}
		out = append(out, []span{say("%s, %s: %s. %s", kind, f.Code, f.Figure, f.Remedy)})
	}
	out = append(out, items(r.Warnings)...)
	for _, f := range r.RuleFaults {
		out = append(out, []span{say("the rule %s failed and was off for the rest of the run: %s %s",
			f.Rule, f.Function, f.Reason)})
	}
	return out
}

// search writes the search's totals and all its versions.
func search(s sheet, r *beagle.Result) {
	s.heading(2, say("The search"))
	// Sum up the search: how its versions ended, and what each cost.
	var ends []string
	for _, status := range inorder.Keys(r.Statuses) {
		ends = append(ends, fmt.Sprintf("%d %s", r.Statuses[status], status))
	}
	if len(ends) == 0 {
		ends = []string{"none"}
	}
	s.para(say("%d versions evaluated in %.0f s (%s, seed %d, %d islands, %d generations, stopped by %s): %s.",
		r.Candidates, r.WallSeconds, r.Search.Strategy, r.Search.Seed, r.Search.Islands, r.Search.Generations,
		r.Search.Stopped, strings.Join(ends, "; ")))
	if r.Candidates > 0 {
		s.para(say("%s", spent(&r.Split)))
	}
	// List all versions in the order of evaluation.
	var rows [][]cell
	for i, a := range r.Attempts {
		end, quick := string(a.Status), ""
		if a.Reason != "" {
			end += ": " + a.Reason
		}
		if a.Screen != nil {
			quick = Ratio(*a.Screen)
		}
		rows = append(rows, []cell{{say("%d", i+1)}, {code(Short(a.Candidate))}, {say("%s", path(a.Steps))},
			{say("%s", end)}, {say("%s", quick)}})
	}
	s.fold(fmt.Sprintf("All %d versions", len(rows)),
		columns(">", "version", "steps", "status", "times as fast, quick measurement"), rows)
}

// spent states the cost of a version.
func spent(c *beagle.Split) string {
	text := fmt.Sprintf("%.1f s to the first verdict", c.FirstCandidateSeconds)
	if c.Build > 0 {
		text += fmt.Sprintf("; a version cost %.1f ms of build, %.1f ms of verification, %.1f ms of screening and "+
			"%.2f ms of other work", c.Build, c.Verify, c.Screen, c.Orchestration)
	}
	text += "."
	if c.Cached > 0 {
		text += fmt.Sprintf(" %d verdicts were in the store already and cost nothing.", c.Cached)
	}
	return text
}

// models writes what the models cost, and each author's earnings.
func models(s sheet, m *beagle.ModelSummary) {
	if m == nil {
		return
	}
	// Sum up what the models cost, and what they were shown.
	price, quoted := fmt.Sprintf("$%.4f", m.Dollars), "Prompts quoted captured values."
	if m.Replayed {
		price = "replayed from a recording"
	}
	if m.Redacted {
		quoted = "Captured values were sent as shapes only."
	}
	text := fmt.Sprintf("%d answers, %d tokens, %s. %s", m.Calls, m.Tokens, price, quoted)
	if m.Closed {
		text += " They were given up before the end of the search."
	}
	if m.Lost > 0 {
		text += fmt.Sprintf(" %d calls were under way when a process of the run ended: their answers are lost, and "+
			"may have cost up to $%.4f besides.", m.Lost, m.AtMost)
	}
	// List the authors, each with its versions and earnings.
	var rows [][]cell
	for _, a := range m.Authors {
		rows = append(rows, row(a.Author, fmt.Sprint(a.Asked), fmt.Sprint(a.Unheard), fmt.Sprint(a.Useless),
			fmt.Sprint(a.Candidates), fmt.Sprint(a.Behaving), fmt.Sprintf("%.3f", a.Earned),
			fmt.Sprintf("$%.4f", a.Dollars), fmt.Sprintf("%.1f", a.Seconds)))
	}
	s.heading(2, say("Models"))
	s.para(say("%s", text))
	s.table(columns("author", ">asked", ">unheard", ">nothing new", ">versions", ">that behave", ">earned", ">cost",
		">seconds"), rows)
	s.para(say("Earned is verified gain: the logarithm that an author's versions added to the best speed, and a " +
		"tenth of what they added to their parents' speed."))
}

// judge writes how often the judge of speed errs.
func judge(s sheet, rates *beagle.ErrorRates) {
	s.heading(2, say("How often this judge errs"))
	if rates == nil {
		s.para(say("Not known: it was not measured for the rule by which this version of Beagle decides. "),
			code("beagle rates"), say(" measures it on this machine."))
		return
	}
	s.table(columns("let it judge", "called faster"), [][]cell{
		row("functions against themselves, in other words", Rate(rates.FalseWins)),
		row("versions that are truly 2 % faster", Rate(rates.FoundTwo)),
		row("versions that are truly 5 % faster", Rate(rates.FoundFive)),
	})
	s.para(say("%s", RatesWhere(rates)))
}

// replay writes the machine, and the command that makes the result again.
func replay(s sheet, r *beagle.Result) {
	m := r.Machine
	s.para(say("%s, %d cores, %s/%s, %s.", m.CPU, m.Cores, m.OS, m.Arch, m.Go))
	s.para(say("Make it again: "), code(r.Replay), say("%s", reusedResults(r.Replay)))
}
