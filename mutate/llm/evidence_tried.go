package llm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// triedInWords describes the attempts in three groups: those that paid, those that were wrong and
// why, and those without effect.
func triedInWords(tried []Attempt, hide *redactor, limit int) string {
	var paid, wrong, idle []Attempt
	for _, a := range tried {
		switch {
		case a.Status != beagle.Accepted && a.Status != beagle.Equal:
			wrong = append(wrong, a)
		case bought(a) > 1.01:
			paid = append(paid, a)
		default:
			idle = append(idle, a)
		}
	}
	slices.SortStableFunc(paid, func(a, b Attempt) int { return cmp.Compare(bought(b), bought(a)) })
	var out []string
	add := func(title string, group []Attempt) {
		for i, a := range group {
			line := "- " + attemptInWords(a, hide) + "\n"
			if i == 0 {
				line = title + "\n" + line
			}
			if !slices.Contains(out, line) {
				out = append(out, line)
			}
		}
	}
	add("Paid:", paid)
	add("Rejected:", wrong)
	add("Bought nothing:", idle)
	return list(out, limit, "attempts")
}

// bought returns the conservative end of an attempt's known gain.
func bought(a Attempt) float64 {
	switch {
	case len(a.Slower) > 0:
		return 0
	case a.Gain != nil:
		return a.Gain.Low
	case a.Ratio != nil:
		return a.Ratio.Low
	}
	return 0
}

func attemptInWords(a Attempt, hide *redactor) string {
	var b strings.Builder
	b.WriteString(stepInWords(a, hide))
	if a.Ratio != nil {
		fmt.Fprintf(&b, ": %s as fast as the original", ratioInWords(*a.Ratio))
	}
	if a.Gain != nil {
		fmt.Fprintf(&b, ", %s as fast as before the step", ratioInWords(*a.Gain))
	}
	if len(a.Slower) > 0 {
		b.WriteString("; of no use, because some inputs pay for it: " + classesInWords(a.Slower))
	}
	if a.Status != beagle.Accepted && a.Status != beagle.Equal {
		fmt.Fprintf(&b, ": %s by %s", a.Status, OneLine(a.Stage))
		if a.Reason != "" {
			b.WriteString(": " + OneLine(hide.sentence(a.Reason)))
		}
		if a.Counterexample != nil {
			b.WriteString("; " + counterexampleInWords(a.Counterexample, hide))
		}
	}
	return b.String()
}

// stepInWords names the last step, which is the new one, and the number of steps before it.
func stepInWords(a Attempt, hide *redactor) string {
	says := OneLine(a.By)
	if n := len(a.Steps); n > 0 {
		last := a.Steps[n-1]
		says = OneLine(last.Mutator)
		if last.Param != "" {
			says += " (" + OneLine(hide.sentence(last.Param)) + ")"
		}
		if last.Site != "" {
			says += " at " + OneLine(hide.sentence(last.Site))
		}
		if n > 1 {
			says += fmt.Sprintf(", after %d other steps", n-1)
		}
	}
	if a.Note != "" {
		says += " [" + OneLine(a.Note) + "]"
	}
	return says
}

func ratioInWords(r beagle.Ratio) string {
	return fmt.Sprintf("%.2fx (%.2f to %.2f)", r.Point, r.Low, r.High)
}

// counterexampleInWords describes the minimised input with both answers.
func counterexampleInWords(x *beagle.Counterexample, hide *redactor) string {
	show := func(s string) string { return OneLine(hide.value(s)) }
	return fmt.Sprintf("(%s differs) %s: the original gives %s, this gave %s", OneLine(x.Kind), show(x.Go),
		show(x.Want), show(x.Got))
}

// goodInWords shows other versions worth knowing. It shows a source only if it fits whole, because
// half a version teaches nothing.
func goodInWords(good []Version, limit int) string {
	var b strings.Builder
	for _, v := range good {
		head := versionInWords(&v) + "\n"
		whole := head + Block("go", v.Source) + "\n"
		switch {
		case b.Len()+len(whole) <= limit:
			b.WriteString(whole)
		case b.Len()+len(head)+1 <= limit:
			b.WriteString(head + "\n")
		}
	}
	return b.String()
}

// versionInWords describes a version in a line or two.
func versionInWords(v *Version) string {
	says := "The original"
	if len(v.Steps) > 0 {
		names := make([]string, len(v.Steps))
		for i, s := range v.Steps {
			names[i] = word(s.Mutator)
		}
		says = "Made by " + strings.Join(names, ", then ")
	}
	if v.Ratio != nil && len(v.Steps) > 0 {
		says += ": " + ratioInWords(*v.Ratio) + " as fast as the original"
	}
	says += "."
	if classes := classesInWords(v.Classes); classes != "" {
		says += " By kind of input: " + classes + "."
	}
	return says
}

// classesInWords says how fast a version is on each kind of input.
func classesInWords(list []InputClass) string {
	var out []string
	for _, c := range list {
		if c.Ratio != nil {
			out = append(out,
				fmt.Sprintf("%s (%s of the calls) %s", word(c.Name), percent(c.Share), ratioInWords(*c.Ratio)))
		}
	}
	return strings.Join(out, "; ")
}
