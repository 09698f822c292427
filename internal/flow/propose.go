package flow

import (
	"errors"
	"fmt"
	"go/ast"
	"math/rand/v2"
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
	var moves []beagle.Move
	for _, m := range w.mutators {
		for i, site := range m.Find(p) {
			weight := p.Weight(site.Node) * max(m.Gain-1, 0.01)
			for j := range params(m, p, site) {
				moves = append(moves, beagle.Move{Mutator: m.Name, Site: i, Param: j, Weight: weight})
			}
		}
	}
	return moves
}

// params are the choices at a site; one empty choice when there is none.
func params(m *mutate.Mutator, p *mutate.Pass, site mutate.Site) []mutate.Param {
	if m.Params == nil {
		return []mutate.Param{{}}
	}
	return m.Params(p, site)
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
	p, problem := w.pass(parent.Source, notes)
	if problem != nil {
		return beagle.Candidate{}, refusal(problem.Message)
	}
	m := w.mutator(move.Mutator)
	if m == nil {
		return beagle.Candidate{}, refusal("no mutator is called " + move.Mutator)
	}
	sites := m.Find(p)
	if move.Site >= len(sites) {
		return beagle.Candidate{}, refusal(fmt.Sprintf("%s has no site %d here", m.Name, move.Site))
	}
	choices := params(m, p, sites[move.Site])
	if move.Param >= len(choices) {
		return beagle.Candidate{}, refusal(fmt.Sprintf("%s has no choice %d here", m.Name, move.Param))
	}
	return w.rewrite(parent, p, m, sites[move.Site], choices[move.Param])
}

func (w *workbench) rewrite(parent beagle.Candidate, p *mutate.Pass, m *mutate.Mutator, site mutate.Site, choice mutate.Param) (beagle.Candidate, error) {
	edits, err := m.Rewrite(p, site, choice)
	if err != nil {
		return beagle.Candidate{}, refusal(err.Error())
	}
	src, err := mutate.Apply(p.Src, edits)
	if err != nil {
		return beagle.Candidate{}, fmt.Errorf("%s at %s: %w", m.Name, site.Label, err)
	}
	formatted, err := w.unit.Normalize(string(src))
	if err != nil {
		return beagle.Candidate{}, refusal(fmt.Sprintf("%s at %s gives a file that does not parse: %v", m.Name, site.Label, err))
	}
	step := beagle.Step{Mutator: m.Name, Site: site.Label, Param: choice.Label, Class: m.Class}
	steps := append(append([]beagle.Step(nil), parent.Steps...), step)
	return beagle.NewCandidate(formatted, []string{parent.ID}, steps), nil
}

// wish takes one step of a mutator wherever it fits: at the site of the wished
// label if there is one, else at any; with the wished parameter if there is
// one, else with any.
func (w *workbench) wish(parent beagle.Candidate, wish evolve.Wish, rng *rand.Rand) (beagle.Candidate, error) {
	m := w.mutator(wish.Mutator)
	if m == nil {
		return beagle.Candidate{}, refusal("no mutator is called " + wish.Mutator)
	}
	p, problem := w.pass(parent.Source, nil)
	if problem != nil {
		return beagle.Candidate{}, refusal(problem.Message)
	}
	site, ok := choose(m.Find(p), func(s mutate.Site) bool { return s.Label == wish.Site }, rng)
	if !ok {
		return beagle.Candidate{}, refusal(m.Name + " has no site here")
	}
	choice, ok := choose(params(m, p, site), func(c mutate.Param) bool { return c.Label == wish.Param }, rng)
	if !ok {
		return beagle.Candidate{}, refusal(m.Name + " has no choice here")
	}
	return w.rewrite(parent, p, m, site, choice)
}

// choose returns one of those that are preferred, or one of all when none is.
func choose[T any](all []T, preferred func(T) bool, rng *rand.Rand) (chosen T, ok bool) {
	if len(all) == 0 {
		return chosen, false
	}
	var liked []T
	for _, x := range all {
		if preferred(x) {
			liked = append(liked, x)
		}
	}
	if len(liked) == 0 {
		liked = all
	}
	return liked[rng.IntN(len(liked))], true
}

// retrace takes a step again on another parent, when the same mutator finds a
// site of the same label there.
func (w *workbench) retrace(parent beagle.Candidate, step beagle.Step) (beagle.Candidate, error) {
	m := w.mutator(step.Mutator)
	if m == nil {
		return beagle.Candidate{}, refusal("no mutator is called " + step.Mutator)
	}
	p, problem := w.pass(parent.Source, nil)
	if problem != nil {
		return beagle.Candidate{}, refusal(problem.Message)
	}
	for _, site := range m.Find(p) {
		for _, choice := range params(m, p, site) {
			if site.Label == step.Site && choice.Label == step.Param {
				return w.rewrite(parent, p, m, site, choice)
			}
		}
	}
	return beagle.Candidate{}, refusal(fmt.Sprintf("%s does not apply to %s any more", step.Mutator, step.Site))
}

func (w *workbench) mutator(name string) *mutate.Mutator {
	for _, m := range w.mutators {
		if m.Name == name {
			return m
		}
	}
	return nil
}
