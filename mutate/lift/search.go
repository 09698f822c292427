package lift

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A term is an input, a constant, or a component applied to terms, with its
// values on the examples.
type term struct {
	c     *Component // nil for a leaf; choose for a guard
	args  []*term
	typ   *Type
	col   any
	mask  uint64 // the examples where it has a value
	agree uint64 // of a part of a guard: the examples that it gets right

	input   int    // place among the inputs; -1
	text    string // of a constant
	cost    int
	price   int
	library bool
	module  bool // a part is a function of a module
}

// A leaf is an input or a constant, with its values on the pool.
type leaf struct {
	typ   *Type
	input int // -1 for a constant
	text  string
	value any // of a constant
}

// A goal is an output to explain.
type goal struct {
	typ  *Type
	col  any    // on the examples
	mask uint64 // the examples that count
	done []*term
	part map[uint64]*term // the cheapest term for each set of examples that it gets right
	via  *Component       // a function that makes the output of this goal; nil for the output itself
	of   *goal
}

const (
	firstGuardCost = 3   // the level from which pairs of terms are joined by a condition
	maxParts       = 400 // terms that are right on some examples, for each goal
	maxConditions  = 400
	maxDone        = 6 // terms that are right on all examples, for each goal, with and without modules
	maxCost        = 6
	perArgument    = 60_000 // terms that are kept
)

// choose is the component of a guard: its first argument is the condition.
var choose = &Component{Name: "if"}

// A bank is one search: all terms that differ on the examples, by type and cost.
type bank struct {
	n       int // examples
	inPlay  []*Component
	terms   map[*Type][][]*term // by cost
	seen    map[uint64]struct{}
	scratch map[*Type]any
	goals   []*goal
	byType  map[*Type][]*goal
	left    int // evaluations
	kept    int
	ticks   int
	late    func() bool
	over    bool
}

// search fills goals with terms of a library that agree with them on n examples. It ends when each
// output has one, or when it has used up its evaluations.
func search(n int, library []*Component, leaves []leaf, cols []any, goals []*goal, budget int,
	late func() bool) (used int) {
	b := &bank{
		n: n, terms: map[*Type][][]*term{}, seen: map[uint64]struct{}{}, scratch: map[*Type]any{},
		goals: goals, byType: map[*Type][]*goal{}, left: budget, late: late,
	}
	// Goals are looked up by type, once for each term that is made.
	for _, g := range goals {
		g.part = map[uint64]*term{}
		b.byType[g.typ] = append(b.byType[g.typ], g)
	}
	b.inPlay = playing(library, leaves, goals)
	full := ^uint64(0) >> (64 - n)
	// The leaves are the first terms. One with the values of another is left out.
	for i, l := range leaves {
		if mask := b.unseen(l.typ, cols[i], full, false); mask != 0 {
			b.keep(&term{typ: l.typ, input: l.input, text: l.text, cost: 1, col: cols[i], mask: mask})
		}
	}
	// Terms of each cost follow, made of cheaper ones. Guards join two terms, so they start when
	// there are some.
	for level := 2; level <= maxCost && !b.over && !b.solved(); level++ {
		b.level(level)
		if level >= firstGuardCost {
			b.guards(level)
		}
	}
	return budget - b.left
}

// solved reports whether each output has a term.
func (b *bank) solved() bool {
	return !slices.ContainsFunc(b.goals, func(g *goal) bool { return g.of == nil && len(g.done) == 0 })
}

// companions are the types that terms over a type pass through.
var companions = map[string][]string{
	"string": {"[]byte", "[]string", "[]rune", "rune", "byte", "int", "bool"}, "[]byte": {"string", "byte",
		"int", "bool"},
	"int": {"bool", "uint"}, "[]string": {"string", "int", "bool"}, "rune": {"int", "bool"},
	"byte":   {"int", "bool", "rune"},
	"uint64": {"int", "bool"}, "uint32": {"int", "bool"}, "uint16": {"int", "bool"}, "uint": {"int", "bool"},
	"int64": {"int", "bool", "uint64"}, "int32": {"int", "bool"}, "float64": {"int", "bool"},
	"[]rune": {"rune", "int", "bool", "string"},
	"[]int":  {"int", "bool"}, "[]int64": {"int64", "int", "bool"}, "[]uint16": {"uint16", "int", "bool"},
	"[]uint32": {"uint32", "int", "bool"}, "[]uint64": {"uint64", "int", "bool"}, "[]bool": {"bool", "int"},
	"[]float64": {"float64", "int", "bool"},
}

// playing returns the components of a library over the types of the leaves and goals, and those
// close to them; those that make an output first.
func playing(library []*Component, leaves []leaf, goals []*goal) []*Component {
	in := map[*Type]bool{}
	// Each type brings those close to it: code on texts may need numbers.
	note := func(t *Type) {
		in[t] = true
		for _, name := range companions[t.Name] {
			in[types[name]] = true
		}
	}
	for _, l := range leaves {
		if l.input >= 0 {
			note(l.typ)
		}
	}
	wanted := map[*Type]bool{}
	for _, g := range goals {
		note(g.typ)
		wanted[g.typ] = true
	}
	// Terms that may be an output are tried first.
	var first, then []*Component
	for _, c := range library {
		switch {
		case !in[c.Result] || slices.ContainsFunc(c.Args, func(t *Type) bool { return !in[t] }):
		case wanted[c.Result]:
			first = append(first, c)
		default:
			then = append(then, c)
		}
	}
	return append(first, then...)
}

// level applies every component to arguments whose costs sum up to the level.
func (b *bank) level(cost int) {
	for _, c := range b.inPlay {
		b.apply(c, nil, cost-1)
		if b.over {
			return
		}
	}
}

// apply completes the arguments of a component.
func (b *bank) apply(c *Component, args []*term, left int) {
	k := len(args)
	// The costs of the arguments must add up to the level exactly: cheaper terms were made before.
	if k == len(c.Args) {
		if left == 0 {
			b.try(c, args)
		}
		return
	}
	// Each argument still to come costs at least 1, and the last one takes all that is left.
	rest := len(c.Args) - k - 1
	low, high := 1, left-rest
	if rest == 0 {
		low = left
	}
	by := b.terms[c.Args[k]]
	for cost := low; cost <= high && cost < len(by); cost++ {
		for _, t := range by[cost] {
			// Only one order of two arguments is needed where they may change places.
			if c.commutes && k == 1 && before(t, args[0]) {
				continue
			}
			b.apply(c, append(args, t), left-cost)
			if b.over {
				return
			}
		}
	}
}

// before reports whether the order of two arguments is not the one that counts.
func before(t, u *term) bool { return t.cost < u.cost || t.cost == u.cost && t.price < u.price }

// try makes a term, unless it has the values of another.
func (b *bank) try(c *Component, args []*term) {
	// Evaluations and the clock are bounded. The clock is asked rarely.
	if b.left--; b.left <= 0 {
		b.over = true
		return
	}
	if b.ticks++; b.ticks%64 == 0 && b.late() {
		b.over = true
		return
	}
	// A term is defined where its arguments are, and must depend on an input.
	mask := ^uint64(0) >> (64 - b.n)
	inputs, module := false, c.module
	var cols [3]any
	for i, a := range args {
		if a.price >= absurd {
			return
		}
		mask &= a.mask
		cols[i] = a.col
		inputs = inputs || a.input >= 0 || a.c != nil
		module = module || a.module
	}
	if mask == 0 || !inputs {
		return
	}
	// The column is evaluated into scratch memory, which only a term that is kept takes over.
	dst := b.scratch[c.Result]
	if dst == nil {
		dst = c.Result.make(b.n)
		b.scratch[c.Result] = dst
	}
	if mask = c.eval(dst, cols[:len(args)], mask); mask == 0 {
		return
	}
	// Terms with the same values as an earlier one are dropped: that one is cheaper.
	if mask = b.unseen(c.Result, dst, mask, module); mask == 0 {
		return
	}
	t := &term{c: c, args: slices.Clone(args), typ: c.Result, col: dst, mask: mask, input: -1, cost: 1, price: c.price,
		library: c.library, module: module}
	for _, a := range args {
		t.cost, t.price, t.library = t.cost+a.cost, t.price+a.price, t.library || a.library
	}
	b.keep(t)
}

// unseen masks the examples on which values may be kept; none where another term has the same
// values. Terms with functions of modules are apart: of a term of the standard library and one of a
// module the faster one is found by measuring both.
func (b *bank) unseen(typ *Type, col any, mask uint64, module bool) uint64 {
	sum, small := typ.hash(col, mask)
	if mask &= small; mask == 0 {
		return 0
	}
	key := mix(mix(sum, mask), typ.id)
	if module {
		key = mix(key, 1)
	}
	if _, known := b.seen[key]; known {
		return 0
	}
	b.seen[key] = struct{}{}
	return mask
}

// keep takes a term that has values of its own.
func (b *bank) keep(t *term) {
	// The bound limits the number of pairs for the next cost. The search reports that it was met,
	// since it is no longer whole.
	if b.kept++; b.kept > perArgument {
		b.over = true
		return
	}
	// The column was computed in memory that is used for the next term.
	t.col = t.typ.add(nil, t.col)
	by := b.terms[t.typ]
	for len(by) <= t.cost {
		by = append(by, nil)
	}
	by[t.cost] = append(by[t.cost], t)
	b.terms[t.typ] = by
	// It may be what a goal looks for.
	for _, g := range b.byType[t.typ] {
		g.meet(t)
	}
}

// meet compares a term with a goal.
func (g *goal) meet(t *term) {
	agree := g.typ.equal(t.col, g.col, t.mask&g.mask)
	switch {
	case agree == g.mask:
		g.accept(t)
	case g.of == nil && agree != 0 && bits.OnesCount64(agree)*8 >= bits.OnesCount64(g.mask):
		if _, known := g.part[agree]; !known && len(g.part) < maxParts {
			p := *t
			p.agree = agree
			g.part[agree] = &p
		}
	}
}

// accept takes a term that is right on all examples. It may be of glue alone, as
// long as another output of the region has a function of the library; a guard may
// not.
func (g *goal) accept(t *term) {
	if g.of != nil {
		t = &term{c: g.via, args: []*term{t}, typ: g.of.typ, mask: g.of.mask, input: -1, cost: t.cost + 1,
			price: t.price + g.via.price, library: t.library, module: t.module}
		g = g.of
	}
	same := 0
	for _, d := range g.done {
		if d.module == t.module {
			same++
		}
	}
	if (t.library || t.c != choose) && same < maxDone {
		g.done = append(g.done, t)
	}
}

// guards joins two terms by a condition that says which of them is right.
func (b *bank) guards(level int) {
	conditions := b.conditions()
	for _, g := range b.goals {
		// A goal under an inverse, or one that is met, needs no guard.
		if g.of != nil || len(g.done) > 0 {
			continue
		}
		// Take the terms that are right on a part of the examples, the cheapest first. The order
		// must not depend on the map.
		parts := make([]*term, 0, len(g.part))
		for _, t := range g.part {
			parts = append(parts, t)
		}
		inorder.By(parts, func(a, c *term) int {
			return cmp.Or(cmp.Compare(a.cost, c.cost), cmp.Compare(a.price, c.price), cmp.Compare(a.agree, c.agree))
		})
		// A condition needs one term that is right where it holds, and one where it does not.
		for _, c := range conditions {
			yes := truths64(c.col)
			a, o := covering(parts, g.mask&yes), covering(parts, g.mask&^yes)
			if a == nil || o == nil || a.cost+o.cost+c.cost > level+3 {
				continue
			}
			t := &term{c: choose, args: []*term{c, a, o}, typ: g.typ, mask: g.mask, input: -1,
				cost: 1 + a.cost + o.cost + c.cost, price: 1 + a.price + o.price + c.price,
				library: a.library || o.library, module: c.module || a.module || o.module}
			g.accept(t)
		}
		inorder.By(g.done, func(a, c *term) int { return cmp.Compare(a.cost, c.cost) })
	}
}

// conditions returns the cheapest Boolean terms that have a value everywhere.
func (b *bank) conditions() (out []*term) {
	full := ^uint64(0) >> (64 - b.n)
	for _, level := range b.terms[types["bool"]] {
		for _, t := range level {
			if t.mask == full && len(out) < maxConditions {
				out = append(out, t)
			}
		}
	}
	return out
}

// covering returns the first of some terms that is right where mask says.
func covering(parts []*term, mask uint64) *term {
	for _, t := range parts {
		if mask&^t.agree == 0 {
			return t
		}
	}
	return nil
}

func truths64(col any) (mask uint64) {
	for i, v := range col.([]bool) {
		if v {
			mask |= 1 << i
		}
	}
	return mask
}
