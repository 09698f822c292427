package flow

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
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
	profile  map[int]float64 // share of the time by line of the original's candidate file
	lines    map[string]float64
	// what is measured of a version that a model wrote; nil when nothing is
	insight func(id string) *bench.Insight

	mu     sync.Mutex
	pieces map[string]*workpiece // by source: those asked for lately
	older  map[string]*workpiece // those asked for before
}

// A workpiece is a source on the workbench, with the pieces that steps made of it. A search tries
// combinations of the same few steps, so most of the way to a candidate is there already.
type workpiece struct {
	*mutate.Pass
	mu    sync.Mutex
	taken map[edge]stepped
}

// An edge leads from a version to the next.
type edge struct {
	m           *mutate.Mutator
	site, param int
}

type stepped struct {
	src  string
	step beagle.Step
	err  error // a refusal
}

// maxPieces bounds the workpieces of a workbench. A full one forgets the half that was used least
// recently: the versions that a search builds on stay.
const maxPieces = 256

func newWorkbench(
	u *source.Unit, facets *beagle.Facets, mutators []*mutate.Mutator, profile map[int]float64,
) *workbench {
	w := &workbench{
		unit:     u,
		facets:   facets,
		mutators: mutators,
		guard:    new(mutate.Guard),
		profile:  profile,
		lines:    byText(u.Target.Source, profile),
		insight:  func(string) *bench.Insight { return nil },
	}
	return w
}

// byText is a profile by the text of its lines.
func byText(src string, profile map[int]float64) map[string]float64 {
	out := map[string]float64{}
	for i, line := range strings.Split(src, "\n") {
		if text := strings.TrimSpace(line); text != "" {
			out[text] += profile[i+1]
		}
	}
	return out
}

// workpiece puts a version on the workbench.
func (w *workbench) workpiece(c beagle.Candidate) (*workpiece, *source.Problem) {
	if v := w.have(c.Source); v != nil {
		return v, nil
	}
	p, problem := w.pass(c)
	if problem != nil {
		return nil, problem
	}
	v := &workpiece{Pass: p, taken: map[edge]stepped{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold(c.Source, v)
	return v, nil
}

// have is the workpiece of a source that is on the workbench, or nil.
func (w *workbench) have(src string) *workpiece {
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
	if w.pieces == nil || len(w.pieces) >= min(maxPieces, w.unit.Room())/2 {
		w.pieces, w.older = map[string]*workpiece{}, w.pieces
	}
	w.pieces[src] = v
}

// pass makes what mutators see of a version: the version, with private copies of its callees.
func (w *workbench) pass(c beagle.Candidate) (*mutate.Pass, *source.Problem) {
	if _, problem := w.unit.Parse(c.Source); problem != nil {
		return nil, problem
	}
	src, copies := w.unit.Widen(c.Source)
	return w.passOf(c, src, copies)
}

// alone makes what is seen of a version without what it calls.
func (w *workbench) alone(c beagle.Candidate) (*mutate.Pass, *source.Problem) {
	return w.passOf(c, c.Source, nil)
}

func (w *workbench) passOf(c beagle.Candidate, src string, copies []string) (*mutate.Pass, *source.Problem) {
	f, problem := w.unit.Parse(src)
	if problem != nil {
		return nil, problem
	}
	p := &mutate.Pass{
		Src: []byte(f.Src), Fset: f.Fset, File: f.AST, Pkg: f.Types, Info: f.Info, Func: f.Func,
		Target: &w.unit.Target, Facets: w.facets, Guard: w.guard, Unchanged: w.unit.Unchanged(),
	}
	shares := w.shares(c, f.Src)
	shareOut(f, copies, shares)
	p.Weight = func(n ast.Node) float64 {
		sum := 0.0
		last := f.Fset.Position(n.End()).Line
		for line := f.Fset.Position(n.Pos()).Line; line <= last; line++ {
			sum += shares[line]
		}
		return min(sum, 1)
	}
	return p, nil
}

// measured returns the measurements of the model's version that a candidate goes back to, or is
// itself; nil if there are none.
func (w *workbench) measured(c beagle.Candidate) (base string, in *bench.Insight) {
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

// shares are guesses of what each line of a version takes, for choosing moves: a
// measured profile where there is one, else what is carried over from the version
// that it goes back to.
func (w *workbench) shares(c beagle.Candidate, src string) map[int]float64 {
	base, in := w.measured(c)
	switch {
	case in == nil:
		return carried(w.lines, src)
	case base == c.ID && src == c.Source:
		return maps.Clone(in.Lines) // the measurement is shared, and copies of callees get shares here
	}
	return carried(in.Texts, src)
}

// carried carries a profile over to another version: lines that are still there
// keep their share, and what the vanished lines cost is spread over the new ones.
func carried(known map[string]float64, src string) map[int]float64 {
	lines := strings.Split(src, "\n")
	shares := make(map[int]float64, len(lines))
	kept, fresh := 0.0, []int{}
	for i, line := range lines {
		text := strings.TrimSpace(line)
		share, is := known[text]
		switch {
		case is:
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

// shareOut gives the lines of private copies what the lines that call them take: a
// profile counts what a callee takes for its call.
func shareOut(f *source.File, copies []string, shares map[int]float64) {
	line := func(p token.Pos) int { return f.Fset.Position(p).Line }
	decls, called := map[string]*ast.FuncDecl{}, map[string]map[int]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			decls[n.Name.Name] = n
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok {
				if called[id.Name] == nil {
					called[id.Name] = map[int]bool{}
				}
				called[id.Name][line(n.Pos())] = true
			}
		}
		return true
	})
	for _, name := range copies { // callers come first
		d, sum := decls[name], 0.0
		if d == nil {
			continue
		}
		for at := range called[name] {
			sum += shares[at]
		}
		first, last := line(d.Pos()), line(d.End())
		for i := first; i <= last; i++ {
			shares[i] = sum / float64(last-first+1)
		}
	}
}

// moves lists every step that can be taken from a version, without those of some
// rules. Where the profile is measured, lines that do not run offer none.
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
	moves := mutate.Moves(v.Pass, asked)
	if _, in := w.measured(c); in != nil {
		moves = slices.DeleteFunc(moves, func(m beagle.Move) bool { return m.Weight == 0 })
	}
	return moves
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

func (w *workbench) make(p *mutate.Pass, e edge) stepped {
	src, step, err := mutate.Take(p, e.m, e.site, e.param)
	if err != nil {
		return stepped{err: refusal(err.Error())}
	}
	formatted, err := w.unit.Normalize(src)
	if err == nil {
		formatted, err = w.unit.Narrow(formatted)
	}
	if err != nil {
		return stepped{
			err: refusal(fmt.Sprintf("%s at %s gives a file that does not parse: %v", e.m.Name, step.Site, err)),
		}
	}
	return stepped{src: formatted, step: step}
}

// wish takes one step of a mutator wherever it fits: at the site of the wished
// label if there is one, else at any; with the wished parameter if there is
// one, else with any that is not excluded.
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
	c := all[rng.IntN(len(all))]
	return w.take(parent, v, edge{m, c.Site, c.Param})
}

// prefer keeps those that are liked, or all when none is.
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
