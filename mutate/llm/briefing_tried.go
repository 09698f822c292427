package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// triedInWords returns the ledger of attempts: every idea of a model in a line, with its outcome;
// the rules by name; and each pattern of rejections once, with its counterexample.
func (e *Briefing) triedInWords(limit int) string {
	hide := e.redactor()
	var out []string
	add := func(title string, lines []string) {
		for i, line := range lines {
			if i == 0 {
				line = title + "\n" + line
			}
			out = append(out, line+"\n")
		}
	}
	add("Ideas of models, the latest first:", ideasInWords(e.Ideas, hide))
	add("Rewriting rules, by what a step of each brings:", rulesInWords(e.Rules))
	add("Rejected, each pattern once:", rejectedInWords(e.Tried, hide))
	return list(out, limit, "lines")
}

// ideasInWords gives each idea a line, the latest first.
func ideasInWords(ideas []Attempt, hide *redactor) (lines []string) {
	for _, a := range slices.Backward(ideas) {
		line := "- " + ideaOf(a.Note) + ": " + verdictInWords(a)
		if a.Counterexample != nil {
			line += "; " + counterexampleInWords(a.Counterexample, hide)
		} else if !behaves(a) && a.Reason != "" {
			line += ": " + OneLine(hide.sentence(a.Reason))
		}
		lines = append(lines, line)
	}
	return lines
}

// maxIdea bounds the words that an idea goes by, in bytes.
const maxIdea = 90

// ideaOf returns the idea that a note begins with.
func ideaOf(note string) string {
	idea := OneLine(note)
	if end := strings.Index(idea, ". "); end >= 0 {
		idea = idea[:end]
	}
	if len(idea) > maxIdea {
		idea = strings.ToValidUTF8(idea[:maxIdea], "") + "…"
	}
	if idea == "" {
		return "an idea without a word"
	}
	return strings.TrimSuffix(idea, ".")
}

func behaves(a Attempt) bool { return a.Status == beagle.Accepted || a.Status == beagle.Equal }

// verdictInWords states the result of an attempt, and whether it is more than noise.
func verdictInWords(a Attempt) string {
	switch {
	case !behaves(a):
		return fmt.Sprintf("%s by %s", a.Status, OneLine(a.Stage))
	case a.Ratio == nil:
		return "equal, not measured"
	}
	says := fmt.Sprintf("%.2fx of the original", a.Ratio.Point)
	if a.Gain != nil {
		says += fmt.Sprintf(", %.2fx of its parent (%s)", a.Gain.Point, evident(*a.Gain))
	}
	if len(a.Slower) > 0 {
		says += "; of no use, because some inputs pay for it: " + classesInWords(a.Slower)
	}
	return says
}

// evident puts an interval into words.
func evident(r beagle.Ratio) string {
	switch {
	case r.Low > 1:
		return "faster"
	case r.High < 1:
		return "slower"
	}
	return "within noise"
}

// rulesInWords returns one line for all rules.
func rulesInWords(rules []Rule) []string {
	var says []string
	for _, r := range rules {
		what := fmt.Sprintf("%s %.2fx", OneLine(r.Name), r.Gain)
		if r.Good == 0 {
			what = OneLine(r.Name) + " rejected"
		}
		says = append(says, what)
	}
	if len(says) == 0 {
		return nil
	}
	return []string{"- " + strings.Join(says, ", ")}
}

// rejectedInWords shows one attempt of each pattern of rejections: descendants of a wrong step fail
// as it does.
func rejectedInWords(tried []Attempt, hide *redactor) (lines []string) {
	seen := map[string]bool{}
	for _, a := range tried {
		if behaves(a) {
			continue
		}
		pattern := a.Stage + a.Reason
		if x := a.Counterexample; x != nil {
			pattern = x.Go + x.Got
		}
		if !seen[pattern] {
			seen[pattern] = true
			lines = append(lines, "- "+attemptInWords(a, hide))
		}
	}
	return lines
}

func attemptInWords(a Attempt, hide *redactor) string {
	says := stepInWords(a, hide) + ": " + verdictInWords(a)
	if behaves(a) {
		return says
	}
	if a.Reason != "" {
		says += ": " + OneLine(hide.sentence(a.Reason))
	}
	if a.Counterexample != nil {
		says += "; " + counterexampleInWords(a.Counterexample, hide)
	}
	return says
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

// counterexampleInWords describes the minimised input with both answers.
func counterexampleInWords(x *beagle.Counterexample, hide *redactor) string {
	show := func(s string) string { return OneLine(hide.value(s)) }
	want, got := withVerb("gives", show(x.Want)), withVerb("gave", show(x.Got))
	return fmt.Sprintf("(%s differs) %s: the original %s, this %s", OneLine(x.Kind), show(x.Go), want, got)
}

// withVerb puts a verb before an answer that has none.
func withVerb(verb, answer string) string {
	if value, ok := strings.CutPrefix(answer, thrown); ok {
		return "panics with " + value
	}
	for _, own := range []string{"returns ", "leaves "} {
		if strings.HasPrefix(answer, own) {
			return answer
		}
	}
	return verb + " " + answer
}
