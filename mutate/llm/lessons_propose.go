package llm

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// Teaches reports whether a run learned something that [Propose] can write down.
func Teaches(r *beagle.Result) bool { return r.Outcome == beagle.Improved && len(r.Lineage) > 0 }

// Propose writes the lesson of a run, which a user may keep. The lesson lists the winner's steps
// and the gain of each, the compiler's account before and after, and the change. original is the
// target before the change, or nil if the caller no longer has it. The lesson describes inputs by
// their shapes only, since lessons travel further than the run.
func Propose(r *beagle.Result, original *beagle.Target) (*Lesson, error) {
	if !Teaches(r) {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("run %s found no improvement to learn from", r.Run),
			Remedy: "'beagle runs' lists the runs with their outcomes",
		}
	}
	e := learnedFrom(r, original)
	l := &Lesson{
		Name: lessonName(r), Go: goVersion(r.Machine.Go), Matches: mainFacts(e.Facts()),
		Title: fmt.Sprintf("What made %s %.1f times as fast", shortName(r.Target.Spec), r.Best.Ratio.Low),
	}
	if len(l.Matches) == 0 {
		l.Matches = []string{"loop"}
	}
	l.Body = learned(r, e)
	return l, nil
}

// learnedFrom returns a briefing on the original, as far as it is known.
func learnedFrom(r *beagle.Result, original *beagle.Target) *Briefing {
	e := &Briefing{
		Redact: true,
		Target: original,
		Facets: &r.Corpus.Facets,
		Parent: Version{Source: r.Best.Source, Static: r.BaselineStatic, Profile: map[int]float64{}},
	}
	if original != nil {
		e.Parent.Source = original.Source
	}
	for _, l := range r.Profile {
		e.Parent.Profile[l.Line] = l.Share
	}
	return e
}

// mainFacts returns the heaviest facts, which the lesson will match.
func mainFacts(f map[string]float64) []string {
	const most, least = 5, 0.5
	var out []string
	for _, name := range facts(f).names() {
		if f[name] >= least && len(out) < most {
			out = append(out, name)
		}
	}
	return out
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// lessonName returns a file name that identifies the function and the run.
func lessonName(r *beagle.Result) string {
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(shortName(r.Target.Spec)), "-"), "-")
	return name[:min(len(name), 60)] + "-" + r.Run[:min(len(r.Run), 6)]
}

func shortName(spec string) string { return spec[strings.LastIndex(spec, "/")+1:] }

var goRelease = regexp.MustCompile(`1\.[0-9]+`)

func goVersion(toolchain string) string { return goRelease.FindString(toolchain) }

// learned returns the body of a lesson: the gain, its steps, and the change unless it leaks a
// captured value.
func learned(r *beagle.Result, e *Briefing) string {
	const maxDiff = 3 << 10
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s with %s: %s as fast as the original, %d inputs compared.\n", OneLine(r.Machine.CPU),
		OneLine(r.Machine.Go), r.Best.Ratio.Spelled(), r.Verification.Cases)
	if words := FacetsInWords(e.Target, e.Facets, true); words != "" {
		b.WriteString("\nInputs:\n" + Block("text", words))
	}
	b.WriteString("\nSteps, with what each bought over the version before it:\n")
	for _, s := range r.Lineage {
		b.WriteString("- " + stepLearned(s, e.redactor()) + "\n")
	}
	b.WriteString("\nThe compiler, before and after: " + staticChange(r.BaselineStatic, r.Best.Static) + ".\n")
	if idle := uselessSteps(r); idle != "" {
		b.WriteString("\nWrong or without effect here: " + idle + ".\n")
	}
	diff := codeBlockWithin("diff", SourceDiff(r), maxDiff)
	switch {
	case e.Leaks(r.Best.Source):
		b.WriteString("\nThe change is not shown: it holds a value that was captured.\n")
	case diff != "":
		b.WriteString("\nThe change:\n" + diff)
	}
	return strings.TrimSpace(b.String())
}

func stepLearned(s beagle.LineageStep, hide *redactor) string {
	says := OneLine(s.Step.Mutator)
	if s.Step.Param != "" {
		says += " (" + OneLine(hide.sentence(s.Step.Param)) + ")"
	}
	says += fmt.Sprintf(": %s", s.Gain.Spelled())
	if s.Why != "" {
		says += ". " + OneLine(s.Why)
	}
	return says
}

// staticChange describes the change in the compiler's counts.
func staticChange(before, after beagle.StaticFacts) string {
	var out []string
	for _, c := range []struct {
		name          string
		before, after int
	}{
		{"bounds checks", before.BoundsChecks, after.BoundsChecks}, {"escapes", before.Escapes, after.Escapes},
		{"inlining cost", before.InlineCost, after.InlineCost}, {"bytes of code", before.CodeBytes, after.CodeBytes},
	} {
		if c.before != c.after {
			out = append(out, fmt.Sprintf("%s %d -> %d", c.name, c.before, c.after))
		}
	}
	if len(out) == 0 {
		return "no count changed"
	}
	return strings.Join(out, ", ")
}

// uselessSteps returns the last steps of rejected or useless attempts, the most frequent first. It
// leaves out steps that the winner has.
func uselessSteps(r *beagle.Result) string {
	const most = 8
	won := map[string]bool{}
	for _, s := range r.Lineage {
		won[s.Step.Mutator] = true
	}
	bad := map[string]int{}
	for _, t := range r.Attempts {
		if len(t.Steps) == 0 {
			continue
		}
		last := t.Steps[len(t.Steps)-1].Mutator
		fell := t.Status != beagle.Equal && t.Status != beagle.Accepted
		if !won[last] && (fell || t.Screen != nil && t.Screen.High < 1.02) {
			bad[last]++
		}
	}
	names := make([]string, 0, len(bad))
	for name := range bad {
		names = append(names, name)
	}
	inorder.By(names, func(a, b string) int {
		if bad[a] != bad[b] {
			return bad[b] - bad[a]
		}
		return strings.Compare(a, b)
	})
	return OneLine(strings.Join(names[:min(len(names), most)], ", "))
}

// SourceDiff returns the part of a result's patch that concerns the function. It drops the tests,
// because they hold recorded inputs.
func SourceDiff(r *beagle.Result) string {
	var kept strings.Builder
	keep := true
	lines := strings.SplitAfter(r.Patch, "\n")
	for i, line := range lines {
		if i+1 < len(lines) && strings.HasPrefix(line, "--- ") {
			name, head := strings.CutPrefix(strings.TrimSpace(lines[i+1]), "+++ b/")
			if head && slices.ContainsFunc(r.Files, func(f beagle.PatchFile) bool { return f.Path == name }) {
				keep = !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "testdata/")
			}
		}
		if keep {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
