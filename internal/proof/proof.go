// Package proof asks whether two versions of a function differ on any input:
// for all inputs where nothing has a length, and up to a length elsewhere.
//
// It turns both versions into terms (internal/proof/exec, internal/proof/term),
// tries some inputs on the terms, and asks a solver for one on which they
// differ (internal/proof/solve). The caller runs such an input in Go before it
// believes it.
package proof

import (
	"context"
	"fmt"
	"go/types"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/proof/solve"
	"github.com/beagle-go/beagle/internal/proof/term"
)

// A Budget bounds a proof. Zero fields are the defaults.
type Budget struct {
	Time    time.Duration  // 4 s, of processor, the solvers' included
	Nodes   int            // 100,000 terms
	States  int            // 20,000 for each bound
	Memory  int            // 1,024 MiB for a solver
	Longest int            // 64: the greatest length to try
	Solvers []solve.Solver // nil: those installed
}

// orDefaults fills in limits that are not set. Each bounds another way to take too long: time,
// terms, states of one run, and the solver's memory in megabytes.
func (b Budget) orDefaults() Budget {
	or := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	if b.Time == 0 {
		b.Time = 4 * time.Second
	}
	or(&b.Nodes, 100_000)
	or(&b.States, 20_000)
	or(&b.Memory, 1024)
	or(&b.Longest, 64)
	if b.Solvers == nil {
		b.Solvers = solve.Installed()
	}
	return b
}

// A Result sums up a proof.
type Result struct {
	Proved   bool
	Complete bool     // for all inputs
	Length   int      // otherwise: of each string and slice
	Solvers  []string // that agree; none when the terms were equal already
	Differs  *Witness // an input on which the terms differ
	Why      string   // why no more is known
	Spent    time.Duration
	Nodes    int
}

// A Witness is an input: the chosen lengths, and a value for each of its variables.
type Witness struct {
	Params []exec.Param
	Values map[*term.Term]uint64
}

// Prove compares two versions. lib may be shared.
func Prove(ctx context.Context, orig, cand *exec.Program, lib *exec.Library, b Budget) *Result {
	b = b.orDefaults()
	now, stop := startClock()
	defer stop()
	p := &prover{ctx: ctx, b: b, res: &Result{}, now: now, params: orig.Params()}
	p.pool = term.NewPool(b.Nodes, func() { p.tick() })
	p.m, p.n = exec.NewMachine(ctx, orig, lib, p.pool), exec.NewMachine(ctx, cand, lib, p.pool)
	p.climb()
	p.res.Spent, p.res.Nodes = p.spent(), p.pool.Nodes()
	return p.res
}

type prover struct {
	ctx    context.Context
	b      Budget
	res    *Result
	now    func() time.Duration
	solved time.Duration // processor time of solvers
	pool   *term.Pool
	m, n   *exec.Machine
	params []types.Type
}

func (p *prover) spent() time.Duration { return p.now() + p.solved }
func (p *prover) left() time.Duration  { return p.b.Time - p.spent() }

func (p *prover) tick() {
	if p.ctx.Err() != nil || p.left() < 0 {
		panic(exec.LimitReached{Why: "the time was over while terms were made"})
	}
}

// A question is one shape's difference.
type question struct {
	in *exec.Input
	d  *exec.Difference
}

// maxShapes bounds the combinations of lengths for one bound.
const maxShapes = 600

// climb doubles the bound until the budget is spent.
func (p *prover) climb() {
	from := -1
	for to := 4; ; to *= 2 {
		sized, ok := p.level(from, to)
		if !ok {
			return
		}
		p.res.Proved, p.res.Complete = true, !sized
		if !sized {
			return
		}
		p.res.Length = to
		from = to
		if to >= p.b.Longest {
			return
		}
	}
}

// level proves all shapes of one bound.
func (p *prover) level(from, to int) (sized, ok bool) {
	shapes, sized, err := exec.Shapes(p.params, from, to, maxShapes)
	if err != nil {
		p.res.Why = err.Error()
		return sized, false
	}
	list, why := p.questions(shapes, to)
	if why != "" {
		p.res.Why = why
		// The terms so far are still worth a look.
		p.simulate(list)
		return sized, false
	}
	return sized, p.answer(list, to)
}

// answer reports whether the versions agree on all shapes of a bound.
func (p *prover) answer(list []question, to int) (ok bool) {
	if p.simulate(list) {
		return false
	}
	if limit := withinLimits(func() { ok = p.solve(list) }); limit != "" {
		p.res.Why = fmt.Sprintf("%s (bound %d)", limit, to)
		return false
	}
	return ok
}

// questions makes the terms of all shapes, as far as the limits allow.
func (p *prover) questions(shapes []exec.Shape, to int) (list []question, why string) {
	limit := withinLimits(func() {
		for _, m := range []*exec.Machine{p.m, p.n} {
			// The number of turns grows with the lengths: a loop may take several turns for each
			// element.
			m.Begin(p.b.States, 4*to+72)
		}
		for _, s := range shapes {
			in := p.m.Input(p.params, s)
			d := exec.Compare(p.m, p.n, in, p.m.Run(in), p.n.Run(in))
			list = append(list, question{in, d})
		}
	})
	if limit != "" {
		return list, fmt.Sprintf("%s (bound %d)", limit, to)
	}
	return list, ""
}

// simulate tries inputs on the terms.
func (p *prover) simulate(list []question) bool {
	r := rand.New(rand.NewPCG(1, 2))
	open := false
	for _, q := range list {
		open = open || !q.d.Differ.False()
	}
	for round := 0; open && round < 60; round++ {
		values := p.draw(r, round)
		e := p.pool.Eval(values)
		for _, q := range list {
			if !q.d.Differ.False() && e.Value(q.d.Differ) == 1 && e.Value(q.d.Unknown) == 0 {
				p.enterModel(q, values)
				return true
			}
		}
	}
	return false
}

// draw makes an input: extremes first, then random ones.
func (p *prover) draw(r *rand.Rand, round int) map[*term.Term]uint64 {
	// Values at the edges of the types and of the character classes come first: most differences
	// show there.
	fixed := []uint64{0, ^uint64(0), 1, 0x8080808080808080, 0x7f7f7f7f7f7f7f7f, 0x2020202020202020, 0x3030303030303030,
		0x6161616161616161, 1 << 31, 1 << 63}
	values := map[*term.Term]uint64{}
	for _, v := range p.pool.Vars() {
		n := r.Uint64()
		switch {
		case round < len(fixed):
			n = fixed[round]
			// A wide number is rarely a pattern of bytes.
			if v.W > 8 && n > 1<<32 && n < 1<<63 {
				n &= 0xff
			}
		// Afterwards bytes are marks or printable every other time, and half of the wide numbers
		// are small.
		case v.W == 8 && round%3 == 0:
			n = uint64(" 09azAZ_-.,/\"\\\x00\xff\x80\n"[r.IntN(18)])
		case v.W == 8 && round%3 == 1:
			n = uint64(' ' + r.IntN(95))
		case v.W > 8 && round%2 == 0:
			n = uint64(int64(n) >> r.IntN(v.W))
		}
		values[v] = n
	}
	return values
}

func (p *prover) enterModel(q question, values map[*term.Term]uint64) {
	p.res.Differs = &Witness{Params: q.in.Params, Values: values}
	p.res.Why = "the versions differ"
}

// solve asks whether any shape can differ, and then whether any input was not
// followed.
func (p *prover) solve(list []question) bool {
	// First ask whether the versions can differ on any shape.
	var differ, unknown []*term.Term
	var whys []string
	for _, q := range list {
		differ, unknown = append(differ, q.d.Differ), append(unknown, q.d.Unknown)
		for _, w := range q.d.Whys {
			if !slices.Contains(whys, w) {
				whys = append(whys, w)
			}
		}
	}
	values, status := p.ask(p.pool.Any(differ...))
	switch status {
	case solve.Sat:
		// Evaluate the terms on the solver's values: only that says which shape differs.
		e := p.pool.Eval(values)
		for _, q := range list {
			if e.Value(q.d.Differ) == 1 {
				p.enterModel(q, values)
				return false
			}
		}
		p.res.Why = "a solver named an input on which the terms do not differ"
		return false
	case solve.Unknown:
		return false
	}
	// Then ask whether some input reaches what was not followed. Only if none does, the versions
	// agree on all.
	if _, status = p.ask(p.pool.Any(unknown...)); status != solve.Unsat {
		inorder.Sort(whys)
		p.res.Why = "not followed: " + strings.Join(whys[:min(3, len(whys))], "; ")
		return false
	}
	return true
}

// ask puts a truth value to the solvers: can it hold?
func (p *prover) ask(t *term.Term) (map[*term.Term]uint64, solve.Status) {
	if t.False() {
		return nil, solve.Unsat
	}
	if len(p.b.Solvers) == 0 {
		p.res.Why = "z3 is not installed: nothing proved; apt install z3"
		return nil, solve.Unknown
	}
	// Write the question in SMT-LIB, and list the variables that it mentions.
	var text strings.Builder
	if err := p.pool.Write(&text, t); err != nil {
		p.res.Why = err.Error()
		return nil, solve.Unknown
	}
	var names []string
	var vars []*term.Term
	for i, v := range p.pool.Vars() {
		if name := fmt.Sprintf("v%d", i); strings.Contains(text.String(), "(declare-const "+name+" ") {
			names, vars = append(names, name), append(vars, v)
		}
	}
	// Ask all solvers in turn. A model is an answer, but two solvers must not disagree.
	var said []string
	for i := range p.b.Solvers {
		s := &p.b.Solvers[i]
		if p.left() < 50*time.Millisecond {
			p.res.Why = "the time was over"
			break
		}
		a, err := s.Ask(p.ctx, text.String(), names, solve.Limits{
			Time:   p.left() / time.Duration(len(p.b.Solvers)-i),
			Memory: p.b.Memory,
		})
		p.solved += a.Spent
		switch {
		case err != nil:
			p.res.Why = err.Error()
		case a.Status == solve.Unknown:
			p.res.Why = s.Name + ": " + a.Why
		case a.Status == solve.Sat:
			if len(said) > 0 {
				p.res.Why = fmt.Sprintf("%s and %s disagree", said[0], s.Name)
				return nil, solve.Unknown
			}
			values := map[*term.Term]uint64{}
			for k, n := range names {
				values[vars[k]] = a.Model[n]
			}
			return values, solve.Sat
		default:
			said = append(said, s.Name)
		}
	}
	// Unsat counts if at least one solver says so.
	if len(said) == 0 {
		return nil, solve.Unknown
	}
	for _, n := range said {
		if !slices.Contains(p.res.Solvers, n) {
			p.res.Solvers = append(p.res.Solvers, n)
		}
	}
	return nil, solve.Unsat
}
