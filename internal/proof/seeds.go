package proof

import (
	"context"
	"fmt"
	"time"

	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/proof/solve"
	"github.com/beagle-go/beagle/internal/proof/term"
)

// A Side is one side of a decision in a version: an input that takes it, or the knowledge that no
// input up to the length does.
type Side struct {
	Version string // "original" or "candidate"
	Line    int
	True    bool
	Input   *Witness // nil when none was found
	Dead    bool     // no input up to the length takes it
}

// Seeds finds an input for each side of each decision of both versions, with
// lengths up to most: by simulation where that suffices, else by the first
// solver. Sides that are neither reached nor dead were not answered in time.
func Seeds(ctx context.Context, orig, cand *exec.Program, lib *exec.Library, most int, budget time.Duration) []Side {
	// A side needs one input, so one solver is enough.
	now, stop := startClock()
	defer stop()
	b := Budget{Time: budget}.orDefaults()
	b.Solvers = b.Solvers[:min(1, len(b.Solvers))]
	p := &prover{ctx: ctx, b: b, res: &Result{}, now: now, params: orig.Params()}
	p.pool = term.NewPool(b.Nodes, p.tick)
	p.m, p.n = exec.NewMachine(ctx, orig, lib, p.pool), exec.NewMachine(ctx, cand, lib, p.pool)
	shapes, _, err := exec.Shapes(p.params, -1, most, maxShapes)
	if err != nil {
		return nil
	}
	// A side may be reached on several shapes. Collect the conditions of all of them, and keep the
	// order in which sides were found.
	sides := map[string]*Side{}
	when := map[string][]shaped{}
	var order []string
	p.branches(shapes, most, func(key string, s Side, w shaped) {
		if sides[key] == nil {
			sides[key] = &s
			order = append(order, key)
		}
		when[key] = append(when[key], w)
	})
	return p.answers(sides, when, order)
}

// answers asks for each side in turn, until a limit is reached.
func (p *prover) answers(sides map[string]*Side, when map[string][]shaped, order []string) (out []Side) {
	limit := ""
	for _, key := range order {
		if limit == "" {
			limit = withinLimits(func() { p.reach(sides[key], when[key]) })
		}
		out = append(out, *sides[key])
	}
	return out
}

// A shaped is a condition over the input of one shape.
type shaped struct {
	in   *exec.Input
	when *term.Term
}

// branches runs both versions on all shapes, until a limit is reached, and reports their decisions.
func (p *prover) branches(shapes []exec.Shape, most int, report func(key string, s Side, w shaped)) {
	withinLimits(func() {
		for i, m := range []*exec.Machine{p.m, p.n} {
			version := []string{"original", "candidate"}[i]
			m.Begin(p.b.States, 4*most+72)
			for _, s := range shapes {
				in := m.Input(p.params, s)
				m.Observe()
				m.Run(in)
				for _, x := range m.Branches {
					side := Side{Version: version, Line: m.Line(x.Pos), True: x.Side}
					report(fmt.Sprint(version, x.Pos, x.Side), side, shaped{in, x.When})
				}
			}
		}
	})
}

// reach looks for an input that takes a side.
func (p *prover) reach(s *Side, list []shaped) {
	// The side is reached if the condition of one shape holds. If none can hold, no input of these
	// lengths takes it.
	terms := make([]*term.Term, len(list))
	for i, w := range list {
		terms[i] = w.when
	}
	values, status := p.ask(p.pool.Any(terms...))
	if status == solve.Unsat {
		s.Dead = true
	}
	if status != solve.Sat {
		return
	}
	e := p.pool.Eval(values)
	for _, w := range list {
		if e.Value(w.when) == 1 {
			s.Input = &Witness{Params: w.in.Params, Values: values}
			return
		}
	}
}
