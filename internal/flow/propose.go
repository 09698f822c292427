package flow

import (
	"errors"
	"fmt"
	"go/ast"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate"
)

// A workbench applies mutators to the candidates of one target. It is pure:
// the same source, notes and seed give the same child.
type workbench struct {
	unit     *source.Unit
	facets   *beagle.Facets
	mutators []*mutate.Mutator
	profile  map[int]float64 // share of the time by line of the original's candidate file
	lines    map[string]float64
}

func newWorkbench(u *source.Unit, facets *beagle.Facets, mutators []*mutate.Mutator, profile map[int]float64) *workbench {
	w := &workbench{unit: u, facets: facets, mutators: mutators, profile: profile, lines: map[string]float64{}}
	for i, line := range strings.Split(u.Target.Source, "\n") {
		if text := strings.TrimSpace(line); text != "" {
			w.lines[text] += profile[i+1]
		}
	}
	return w
}

// pass makes what mutators see of a source.
func (w *workbench) pass(src string, notes []beagle.Note) (*mutate.Pass, *source.Problem) {
	f, problem := w.unit.Parse(src)
	if problem != nil {
		return nil, problem
	}
	p := &mutate.Pass{
		Src: []byte(f.Src), Fset: f.Fset, File: f.AST, Pkg: f.Types, Info: f.Info, Func: f.Func,
		Target: &w.unit.Target, Facets: w.facets, Notes: notes,
	}
	shares := w.shares(f.Src)
	p.Weight = func(n ast.Node) float64 {
		sum := 0.0
		for line := f.Fset.Position(n.Pos()).Line; line <= f.Fset.Position(n.End()).Line; line++ {
			sum += shares[line]
		}
		return min(sum, 1)
	}
	return p, nil
}

// shares carries the original's profile over to another version: lines that
// are still there keep their share, and what the vanished lines cost is spread
// over the new ones.
func (w *workbench) shares(src string) map[int]float64 {
	lines := strings.Split(src, "\n")
	shares := make(map[int]float64, len(lines))
	kept, fresh := 0.0, []int{}
	for i, line := range lines {
		text := strings.TrimSpace(line)
		share, known := w.lines[text]
		switch {
		case known:
			shares[i+1] = share
			kept += share
		case text != "" && !strings.HasPrefix(text, "//"):
			fresh = append(fresh, i+1)
		}
	}
	for _, line := range fresh {
		shares[line] = max(0, 1-kept) / float64(len(fresh))
	}
	return shares
}

// moves lists every step that can be taken from a source.
func (w *workbench) moves(src string, notes []beagle.Note) []beagle.Move {
	p, problem := w.pass(src, notes)
	if problem != nil {
		return nil
	}
	return mutate.Moves(p, w.mutators)
}

// A refusal says why no child came of a proposal.
type refusal string

func (r refusal) Error() string { return string(r) }

// refused returns the reason if an error is a refusal, else "".
func refused(err error) string {
	var r refusal
	if errors.As(err, &r) {
		return string(r)
	}
	return ""
}

// apply takes one move from a candidate.
func (w *workbench) apply(parent beagle.Candidate, notes []beagle.Note, move beagle.Move) (beagle.Candidate, error) {
	m, p, err := w.look(parent, notes, move.Mutator)
	if err != nil {
		return beagle.Candidate{}, err
	}
	return w.take(parent, p, m, move.Site, move.Param)
}

// look prepares a mutator for a candidate.
func (w *workbench) look(parent beagle.Candidate, notes []beagle.Note, name string) (*mutate.Mutator, *mutate.Pass, error) {
	i := slices.IndexFunc(w.mutators, func(m *mutate.Mutator) bool { return m.Name == name })
	if i < 0 {
		return nil, nil, refusal("no mutator is called " + name)
	}
	p, problem := w.pass(parent.Source, notes)
	if problem != nil {
		return nil, nil, refusal(problem.Message)
	}
	return w.mutators[i], p, nil
}

// take makes the child of one step.
func (w *workbench) take(parent beagle.Candidate, p *mutate.Pass, m *mutate.Mutator, site, param int) (beagle.Candidate, error) {
	src, step, err := mutate.Take(p, m, site, param)
	if err != nil {
		return beagle.Candidate{}, refusal(err.Error())
	}
	formatted, err := w.unit.Normalize(src)
	if err != nil {
		return beagle.Candidate{}, refusal(fmt.Sprintf("%s at %s gives a file that does not parse: %v", m.Name, step.Site, err))
	}
	steps := append(slices.Clone(parent.Steps), step)
	return beagle.NewCandidate(formatted, []string{parent.ID}, steps), nil
}

// A choice is a site and a parameter of a mutator, by index and by label.
type choice struct {
	site, param       int
	siteName, setting string
}

func choices(p *mutate.Pass, m *mutate.Mutator) []choice {
	var out []choice
	for i, site := range m.Find(p) {
		for j, param := range m.Choices(p, site) {
			out = append(out, choice{i, j, site.Label, param.Label})
		}
	}
	return out
}

// wish takes one step of a mutator wherever it fits: at the site of the wished
// label if there is one, else at any; with the wished parameter if there is
// one, else with any that is not excluded.
func (w *workbench) wish(parent beagle.Candidate, wish evolve.Wish, rng *rand.Rand) (beagle.Candidate, error) {
	m, p, err := w.look(parent, nil, wish.Mutator)
	if err != nil {
		return beagle.Candidate{}, err
	}
	all := slices.DeleteFunc(choices(p, m), func(c choice) bool { return slices.Contains(wish.Not, c.setting) })
	all = prefer(all, func(c choice) bool { return c.siteName == wish.Site })
	all = prefer(all, func(c choice) bool { return c.setting == wish.Param })
	if len(all) == 0 {
		return beagle.Candidate{}, refusal(m.Name + " does not fit here")
	}
	c := all[rng.IntN(len(all))]
	return w.take(parent, p, m, c.site, c.param)
}

// prefer keeps those that are liked, or all when none is.
func prefer(all []choice, liked func(choice) bool) []choice {
	var some []choice
	for _, c := range all {
		if liked(c) {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return all
	}
	return some
}

// retrace takes a step again on another parent, with the same parameter: at
// the site of the same label, or else, since labels name helpers that may not
// exist there, at the first.
func (w *workbench) retrace(parent beagle.Candidate, step beagle.Step) (beagle.Candidate, error) {
	m, p, err := w.look(parent, nil, step.Mutator)
	if err != nil {
		return beagle.Candidate{}, err
	}
	all := slices.DeleteFunc(choices(p, m), func(c choice) bool { return c.setting != step.Param })
	all = prefer(all, func(c choice) bool { return c.siteName == step.Site })
	if len(all) == 0 {
		return beagle.Candidate{}, refusal(fmt.Sprintf("%s does not apply to %s any more", step.Mutator, step.Site))
	}
	return w.take(parent, p, m, all[0].site, all[0].param)
}
