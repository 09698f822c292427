package flow

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate"
)

// A workbench applies mutators to the candidates of one target. It is pure:
// the same source and seed give the same child.
type workbench struct {
	unit     *source.Unit
	facets   *beagle.Facets
	mutators []*mutate.Mutator
	guard    *mutate.Guard
	profile  bench.Profile // of the original
	known    shares        // of the original with the private copies of its callees
	// measurements of a version that a model wrote; nil if there are none
	insight func(id string) *bench.Insight

	mu     sync.Mutex
	pieces map[string]*workpiece // by source: those asked for lately
	older  map[string]*workpiece // those asked for before

	packageFunctions map[string]*mutate.Pass // functions of the package that no version holds, by name
}

// A workpiece is a source on the workbench, with the pieces that steps made of it. A search tries
// combinations of the same few steps, so most of the way to a candidate is there already.
type workpiece struct {
	*mutate.Pass
	mu    sync.Mutex
	taken map[edge]stepResult
}

// An edge leads from a version to the next.
type edge struct {
	m           *mutate.Mutator
	site, param int
}

type stepResult struct {
	src  string
	step beagle.Step
	err  error // set for a refusal
}

// maxPieces bounds the workpieces of a workbench. A full one forgets the half that was used least
// recently: the versions that a search builds on stay.
const maxPieces = 256

func newWorkbench(
	u *source.Unit, facets *beagle.Facets, mutators []*mutate.Mutator, profile bench.Profile,
) *workbench {
	w := &workbench{
		unit:     u,
		facets:   facets,
		mutators: mutators,
		guard:    new(mutate.Guard),
		profile:  profile,
		insight:  func(string) *bench.Insight { return nil },
	}
	u.Copies.Share = calleeShare(profile)
	w.known = w.knownShares()
	return w
}

// workpiece puts a version on the workbench.
func (w *workbench) workpiece(c beagle.Candidate) (*workpiece, *source.Problem) {
	if v := w.find(c.Source); v != nil {
		return v, nil
	}
	p, problem := w.pass(c)
	if problem != nil {
		return nil, problem
	}
	v := &workpiece{Pass: p, taken: map[edge]stepResult{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold(c.Source, v)
	return v, nil
}

// find returns the workpiece of a source that is on the workbench, or nil.
func (w *workbench) find(src string) *workpiece {
	w.mu.Lock()
	defer w.mu.Unlock()
	v := w.pieces[src]
	if v == nil && w.older[src] != nil {
		v = w.older[src]
		w.hold(src, v)
	}
	return v
}

// hold makes a workpiece one of those asked for lately. w.mu is locked.
func (w *workbench) hold(src string, v *workpiece) {
	if w.pieces == nil || len(w.pieces) >= min(maxPieces, w.unit.Reader.Room())/2 {
		w.pieces, w.older = map[string]*workpiece{}, w.pieces
	}
	w.pieces[src] = v
}

// pass makes the pass that mutators see of a version: the version, with private copies of its
// callees.
func (w *workbench) pass(c beagle.Candidate) (*mutate.Pass, *source.Problem) {
	if _, problem := w.unit.Reader.Parse(c.Source); problem != nil {
		return nil, problem
	}
	src, copies := w.unit.Copies.Widen(c.Source)
	return w.passOf(c, src, copies)
}

// passWithoutCallees makes the pass of a version without its callees.
func (w *workbench) passWithoutCallees(c beagle.Candidate) (*mutate.Pass, *source.Problem) {
	return w.passOf(c, c.Source, nil)
}

// passOf makes the pass of a text, with the shares of its lines.
func (w *workbench) passOf(c beagle.Candidate, src string, copies []string) (*mutate.Pass, *source.Problem) {
	f, problem := w.unit.Reader.Parse(src)
	if problem != nil {
		return nil, problem
	}
	p := &mutate.Pass{
		Src: []byte(f.Src), Fset: f.Fset, File: f.AST, Pkg: f.Types, Info: f.Info, Func: f.Func,
		Background: mutate.Background{
			Target: &w.unit.Target, Facets: w.facets, Guard: w.guard, Unchanged: w.unit.Package.Unchanged(),
			Entries: w.unit.Scope.Entries(), Elsewhere: w.passOfOther,
		},
	}
	v := w.sharesOf(c, f, copies)
	p.Weight, p.Cold = v.weight, v.isCold
	return p, nil
}

// passOfOther returns the pass of a function that no version holds.
func (w *workbench) passOfOther(name string) *mutate.Pass {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.packageFunctions[name]
	if !ok {
		if f := w.unit.Package.Original(name); f != nil {
			p = mutate.InPlace(&mutate.Pass{
				Src: []byte(f.Src), Fset: f.Fset, File: f.AST, Pkg: f.Types, Info: f.Info, Func: f.Func,
				Background: mutate.Background{Guard: w.guard, Unchanged: w.unit.Package.Unchanged()},
			})
		}
		if w.packageFunctions == nil {
			w.packageFunctions = map[string]*mutate.Pass{}
		}
		w.packageFunctions[name] = p
	}
	return p
}

// modelMeasurements returns the measurements of the model's version that a candidate goes back to,
// or is itself; nil if there are none.
func (w *workbench) modelMeasurements(c beagle.Candidate) (base string, in *bench.Insight) {
	for _, st := range slices.Backward(c.Steps) {
		if st.Mutator == evolve.ByAuthor {
			if in = w.insight(st.Param); in != nil && in.Samples >= bench.EnoughSamples {
				return st.Param, in
			}
			break
		}
	}
	return "", nil
}

// moves lists every step that can be taken from a version, without those of some
// rules.
func (w *workbench) moves(c beagle.Candidate, without ...string) []beagle.Move {
	v, problem := w.workpiece(c)
	if problem != nil {
		return nil
	}
	asked := w.mutators
	if len(without) > 0 {
		asked = slices.DeleteFunc(slices.Clone(asked), func(m *mutate.Mutator) bool {
			return slices.Contains(without, m.Name)
		})
	}
	return mutate.Moves(v.Pass, asked)
}

// A refusal says why a proposal made no child.
type refusal string

func (r refusal) Error() string { return string(r) }

// refusalReason returns the reason if an error is a refusal, else "".
func refusalReason(err error) string {
	var r refusal
	if errors.As(err, &r) {
		return string(r)
	}
	return ""
}

// apply takes one move from a candidate.
func (w *workbench) apply(parent beagle.Candidate, move beagle.Move) (beagle.Candidate, error) {
	m, v, err := w.look(parent, move.Mutator)
	if err != nil {
		return beagle.Candidate{}, err
	}
	return w.take(parent, v, edge{m, move.Site, move.Param})
}

// look prepares a mutator for a candidate.
func (w *workbench) look(parent beagle.Candidate, name string) (*mutate.Mutator, *workpiece, error) {
	i := slices.IndexFunc(w.mutators, func(m *mutate.Mutator) bool { return m.Name == name })
	if i < 0 {
		return nil, nil, refusal("no mutator is called " + name)
	}
	v, problem := w.workpiece(parent)
	if problem != nil {
		return nil, nil, refusal(problem.Message)
	}
	return w.mutators[i], v, nil
}

// take makes the child of one step.
func (w *workbench) take(parent beagle.Candidate, v *workpiece, e edge) (beagle.Candidate, error) {
	v.mu.Lock()
	t, ok := v.taken[e]
	v.mu.Unlock()
	if !ok {
		t = w.make(v.Pass, e)
		v.mu.Lock()
		v.taken[e] = t
		v.mu.Unlock()
	}
	if t.err != nil {
		return beagle.Candidate{}, t.err
	}
	return beagle.NewCandidate(t.src, []string{parent.ID}, append(slices.Clone(parent.Steps), t.step)), nil
}

// make applies a step, and brings the result into canonical form without needless copies.
func (w *workbench) make(p *mutate.Pass, e edge) stepResult {
	text, step, err := mutate.Take(p, e.m, e.site, e.param)
	if err != nil {
		return stepResult{err: refusal(err.Error())}
	}
	formatted, err := w.unit.Reader.Canonical(text)
	if err == nil {
		formatted, err = w.unit.Copies.Narrow(formatted)
	}
	if err != nil {
		return stepResult{
			err: refusal(fmt.Sprintf("%s at %s gives a file that does not parse: %v", e.m.Name, step.Site, err)),
		}
	}
	return stepResult{src: formatted, step: step}
}

// wish takes one step of a mutator wherever it fits: at the site of the wished label if there is
// one, else at one where the time goes; with the wished parameter if there is one, else with any
// that is not excluded.
func (w *workbench) wish(parent beagle.Candidate, wish evolve.Wish, rng *rand.Rand) (beagle.Candidate, error) {
	m, v, err := w.look(parent, wish.Mutator)
	if err != nil {
		return beagle.Candidate{}, err
	}
	all := slices.DeleteFunc(mutate.Choices(v.Pass, m), func(c mutate.Choice) bool {
		return slices.Contains(wish.Not, c.Setting)
	})
	all = prefer(all, func(c mutate.Choice) bool { return c.SiteName == wish.Site })
	all = prefer(all, func(c mutate.Choice) bool { return c.Setting == wish.Param })
	if len(all) == 0 {
		return beagle.Candidate{}, refusal(m.Name + " does not fit here")
	}
	c := byShare(all, rng)
	if c.Share == 0 && c.SiteName != wish.Site {
		return beagle.Candidate{}, refusal(m.Name + " fits only where no time goes")
	}
	return w.take(parent, v, edge{m, c.Site, c.Param})
}

// byShare draws a choice, each with a probability proportional to its share of the time.
func byShare(all []mutate.Choice, rng *rand.Rand) mutate.Choice {
	total := 0.0
	for _, c := range all {
		total += c.Share
	}
	x := rng.Float64() * total
	for _, c := range all {
		if x -= c.Share; x < 0 {
			return c
		}
	}
	return all[len(all)-1] // none of them takes time
}

// prefer keeps the liked choices, or all if none is liked.
func prefer(all []mutate.Choice, liked func(mutate.Choice) bool) []mutate.Choice {
	var some []mutate.Choice
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
	m, v, err := w.look(parent, step.Mutator)
	if err != nil {
		return beagle.Candidate{}, err
	}
	all := slices.DeleteFunc(mutate.Choices(v.Pass, m), func(c mutate.Choice) bool { return c.Setting != step.Param })
	all = prefer(all, func(c mutate.Choice) bool { return c.SiteName == step.Site })
	if len(all) == 0 {
		return beagle.Candidate{}, refusal(fmt.Sprintf("%s does not apply to %s any more", step.Mutator, step.Site))
	}
	return w.take(parent, v, edge{m, all[0].Site, all[0].Param})
}
