package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/beagle-go/beagle/internal/mutants"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/suite"
)

// These bound the mutants of a text that are tried, spread evenly over all that the operators make.
// The expert's texts have fast paths beside slow ones that do the same: leaving out the fast path
// changes only the time. Many of their mutants are therefore equivalent, and they have no goal.
const (
	ofOriginal = 60
	ofExpert   = 12
)

// mustReject is the share of the versions that behave differently.
const mustReject = 0.99

// A mutation is a mutant's text with its origin and outcome.
type mutation struct {
	task, from, what, text string
	trial                  mutants.Result
}

// judgeMutants has the judge verify wrong versions of the suite's functions, made from the ordinary
// author's text and from the expert's.
func judgeMutants(ctx context.Context, l *lab) (*section, error) {
	// Load the tasks.
	tasks, err := suite.Load(filepath.Join(l.root, "suite", "tasks"))
	if err != nil {
		return nil, err
	}
	s := new(section)
	var rows [][]string
	var all []mutation
	// Make and judge the mutants of each task.
	for _, t := range tasks {
		list, err := l.mutate(ctx, &t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Name, err)
		}
		all = append(all, list...)
		rows = append(rows, append([]string{t.Name}, tallied(ordinary(list))...))
		fmt.Fprintf(os.Stderr, "figures: %v\n%s", rows[len(rows)-1], survivors(list))
	}
	// Report the sums and the survivors.
	rows = append(rows, append([]string{"**all**"}, tallied(ordinary(all))...))
	experts := slices.DeleteFunc(slices.Clone(all), func(m mutation) bool { return m.from != "expert" })
	rows = append(rows, append([]string{"experts' versions of all"}, tallied(experts)...))
	s.text = table([]string{"task", "texts", "no version of the function", "same machine code", "rejected",
		"let through", "of them equivalent", "rejected of those that differ"}, rows)
	s.text += "\n" + byStage(all) + "\n" + survivors(all)
	// Compare them with the goals.
	different, rejected := share(ordinary(all))
	if different < 300 && !l.quick {
		s.miss("%d versions that differ, 300 are wanted", different)
	}
	if float64(rejected) < mustReject*float64(different) {
		s.miss("%d of %d rejected", rejected, different)
	}
	return s, nil
}

// ordinary leaves out the mutants of the experts' versions.
func ordinary(list []mutation) []mutation {
	return slices.DeleteFunc(slices.Clone(list), func(m mutation) bool { return m.from == "expert" })
}

// mutate makes and tries the mutants of a task.
func (l *lab) mutate(ctx context.Context, t *suite.Task) ([]mutation, error) {
	// Read the original and the expert's version.
	f, err := mutants.Open(ctx, l.root, "./suite/tasks/"+t.Name+"."+t.Target,
		filepath.Join(l.dir, "mutants-"+t.Name), time.Minute)
	if err != nil {
		return nil, err
	}
	expert, err := os.ReadFile(t.ExpertFile())
	if err != nil {
		return nil, err
	}
	var out []mutation
	// Make the mutants of each, and have them judged.
	for _, base := range []struct{ from, text string }{{"original", f.Source()}, {"expert", string(expert)}} {
		list, err := l.chosenMutants(t.Name, base.from, base.text)
		if err != nil {
			return nil, err
		}
		texts := make([]string, len(list))
		for i := range list {
			texts[i] = list[i].text
		}
		budget := verify.Budget{Race: -1}
		if l.quick {
			budget.Fuzz = time.Second
		}
		trials, err := f.Try(ctx, base.text, texts, budget)
		if err != nil {
			return nil, err
		}
		for i := range list {
			list[i].trial = trials[i]
		}
		out = append(out, list...)
	}
	return out, nil
}

// chosenMutants returns the mutants of a text that are tried: a sample of those that the operators
// make, and all real mistakes.
func (l *lab) chosenMutants(task, from, text string) ([]mutation, error) {
	// Choose mutants evenly.
	made, err := mutants.Make(text)
	if err != nil {
		return nil, err
	}
	n := ofOriginal
	if from == "expert" {
		n = ofExpert
	}
	if l.quick {
		n /= 6
	}
	n = min(n, len(made))
	var out []mutation
	for i := range n {
		m := made[i*len(made)/n]
		out = append(out, mutation{task: task, from: from, what: m.String(), text: m.Source})
	}
	// Add the real mistakes.
	for _, h := range mutants.History {
		if h.Task != task || from != "original" {
			continue
		}
		wrong, err := h.Apply(text)
		if err != nil {
			return nil, err
		}
		out = append(out, mutation{task: task, from: "history", what: h.What + " (" + h.Where + ")", text: wrong})
	}
	return out, nil
}

// share counts the versions that behave differently, and those of them that were rejected.
func share(list []mutation) (different, rejected int) {
	for _, m := range list {
		switch m.trial.Status {
		case mutants.Rejected:
			rejected++
			different++
		case mutants.Survived:
			if _, ok := mutants.Reviewed(m.trial.ID); !ok {
				different++
			}
		}
	}
	return different, rejected
}

func tallied(list []mutation) []string {
	count := map[mutants.Status]int{}
	equivalent := 0
	for _, m := range list {
		count[m.trial.Status]++
		if _, ok := mutants.Reviewed(m.trial.ID); ok && m.trial.Status == mutants.Survived {
			equivalent++
		}
	}
	different, rejected := share(list)
	percent := "-"
	if different > 0 {
		percent = fmt.Sprintf("%.1f %%", 100*float64(rejected)/float64(different))
	}
	cells := []string{fmt.Sprint(len(list))}
	for _, n := range []int{count[mutants.NoVersion], count[mutants.SameCode], count[mutants.Rejected],
		count[mutants.Survived], equivalent} {
		cells = append(cells, fmt.Sprint(n))
	}
	return append(cells, percent)
}

func byStage(list []mutation) string {
	by := map[string]int{}
	n := 0
	for _, m := range list {
		if m.trial.Status == mutants.Rejected {
			by[m.trial.Verdict.Stage]++
			n++
		}
	}
	return "Rejected by: " + mutants.Counts(by) + ".\n"
}

// survivors lists the mutants that passed, each with the written argument for it, if there is one.
func survivors(list []mutation) string {
	var rows [][]string
	for _, m := range list {
		if m.trial.Status != mutants.Survived {
			continue
		}
		why, ok := mutants.Reviewed(m.trial.ID)
		if !ok {
			why = "**a gap**"
			if m.from == "expert" {
				why = "nobody has argued yet"
			}
		}
		rows = append(rows,
			[]string{m.task + ", " + m.from, m.what, "`" + m.trial.ID[:min(16, len(m.trial.ID))] + "`", why})
	}
	if len(rows) == 0 {
		return "Nothing was let through.\n"
	}
	return "Let through:\n\n" + table([]string{"task", "change", "candidate", "why"}, rows)
}
