package term

import (
	"math/bits"
	"slices"
)

// All returns the conjunction of truth values.
func (p *Pool) All(list ...*Term) *Term {
	// A conjunction within a conjunction is one.
	var set []*Term
	for _, t := range list {
		if t.Op == And {
			set = append(set, t.Args...)
		} else {
			set = append(set, t)
		}
	}
	// Simplify until nothing changes: joining two parts may decide a third.
	for {
		var again bool
		set, again = p.simplify(set)
		if set == nil {
			return p.Bool(false)
		}
		if !again {
			break
		}
	}
	switch len(set) {
	case 0:
		return p.Bool(true)
	case 1:
		return set[0]
	}
	return p.node(And, 1, set...)
}

// Any returns the disjunction of truth values.
func (p *Pool) Any(list ...*Term) *Term {
	inv := make([]*Term, len(list))
	for i, t := range list {
		inv[i] = p.Not(t)
	}
	return p.Not(p.All(inv...))
}

// simplify sorts the parts of a conjunction, joins those over one byte, and drops from disjunctions
// the alternatives that other parts decide. A nil set is false.
func (p *Pool) simplify(set []*Term) (_ []*Term, again bool) {
	// Equal terms are one term, so sorting by number removes duplicates.
	slices.SortFunc(set, func(a, b *Term) int { return a.id - b.id })
	set = slices.Compact(set)
	bySole := map[*Term]*Term{}
	out := make([]*Term, 0, len(set))
	// Parts that depend on the same byte are joined into one table of truth values.
	for _, t := range set {
		switch {
		case t.True():
		case t.False():
			return nil, false
		case t.sole != nil:
			if have := bySole[t.sole]; have != nil {
				t = p.node(And, 1, have, t)
				again = true
			}
			if t.False() {
				return nil, false
			}
			bySole[t.sole] = t
		default:
			out = append(out, t)
		}
	}
	// Put the joined parts back where the first of them stood.
	for _, t := range set {
		if t.sole != nil && bySole[t.sole] != nil && !bySole[t.sole].True() {
			out = append(out, bySole[t.sole])
			delete(bySole, t.sole)
		}
	}
	// A part and its negation are a contradiction. In a negated conjunction, parts that hold anyway
	// can be dropped.
	has := make(map[*Term]bool, len(out))
	for _, t := range out {
		has[t] = true
	}
	for i, t := range out {
		if t.Op != Not {
			continue
		}
		if has[t.Args[0]] {
			return nil, false
		}
		if t.Args[0].Op == And {
			if u := p.absorb(t.Args[0], has); u != t.Args[0] {
				out[i], again = p.Not(u), true
				delete(has, t)
			}
		}
	}
	return out, again
}

// absorb drops from a conjunction below a Not what holds anyway: x and not (x
// and y) is x and not y. It is false when a part cannot hold.
func (p *Pool) absorb(and *Term, has map[*Term]bool) *Term {
	rest := make([]*Term, 0, len(and.Args))
	for _, a := range and.Args {
		switch {
		// A term that holds beside the Not holds in it too.
		case has[a]:
		case a.Op == Not && has[a.Args[0]]:
			return p.Bool(false)
		default:
			rest = append(rest, a)
		}
	}
	if len(rest) == len(and.Args) {
		return and
	}
	return p.All(rest...)
}

func (p *Pool) xorBool(a, b *Term) *Term { return p.Ite(a, p.Not(b), b) }

// Ite returns a where the condition holds and b elsewhere.
func (p *Pool) Ite(c, a, b *Term) *Term {
	// Normalise: no constant and no negation as the condition.
	switch {
	case c.True() || a == b:
		return a
	case c.False():
		return b
	case c.Op == Not:
		return p.Ite(c.Args[0], b, a)
	}
	// The same condition inside of a branch is decided there.
	if a.Op == Ite && a.Args[0] == c {
		a = a.Args[1]
	}
	if b.Op == Ite && b.Args[0] == c {
		b = b.Args[2]
	}
	if a == b {
		return a
	}
	if a.W == 1 {
		return p.iteBool(c, a, b)
	}
	// Small values are chosen with few bits.
	if n := bits.Len64(a.maybe | b.maybe); n < a.W {
		return p.ZExt(p.Ite(c, p.Extract(a, 0, n), p.Extract(b, 0, n)), a.W)
	}
	// Sums that differ by a constant become a sum with the condition as a factor.
	if a.Op == Sum || b.Op == Sum {
		if d := p.Sub(a, b); d.Op == Const {
			return p.Add(b, p.Mul(p.ZExt(c, a.W), d))
		}
	}
	return p.node(Ite, a.W, c, a, b)
}

// iteBool writes a choice between truth values with and, or and not, where one of the branches is
// known. Any other has one of two forms.
func (p *Pool) iteBool(c, a, b *Term) *Term {
	// With a branch that is known, or that is the condition itself, the choice is a conjunction.
	switch {
	case a.True() || a == c:
		return p.Or(c, b)
	case a.False() || a.Op == Not && a.Args[0] == c:
		return p.And(p.Not(c), b)
	case b.True() || b.Op == Not && b.Args[0] == c:
		return p.Or(p.Not(c), a)
	case b.False() || b == c:
		return p.And(c, a)
	case a.Op == Not && b.Op == Not:
		// A Not on both branches comes out, to be cancelled further up.
		return p.Not(p.Ite(c, a.Args[0], b.Args[0]))
	case a.Op == Not && a.Args[0].id > b.id: // one of the two forms of an exclusive or
		return p.Not(p.Ite(c, a.Args[0], p.Not(b)))
	}
	return p.node(Ite, 1, c, a, b)
}

// Eq reports whether two terms have the same value.
func (p *Pool) Eq(a, b *Term) *Term {
	// Constants stand on the right, and the bounds decide much.
	if a.Op == Const {
		a, b = b, a
	}
	switch {
	case a == b:
		return p.Bool(true)
	case a.hi < b.lo || b.hi < a.lo || b.Op == Const && b.Val&^a.maybe != 0:
		return p.Bool(false)
	case a.W == 1:
		return p.Ite(a, b, p.Not(b))
	}
	// Comparisons of long words repeat, and their results are remembered.
	key := memoKey{Eq, a.id, b.id, 0}
	if have := p.memo[key]; have != nil {
		return have
	}
	out := p.eq(a, b)
	p.memo[key] = out
	return out
}

// eq compares two terms that may be equal: part by part, through a choice with constants, or by
// their difference.
func (p *Pool) eq(a, b *Term) *Term {
	if a.Op == Concat || b.Op == Concat {
		if t := p.eqParts(a, b); t != nil {
			return t
		}
	}
	if b.Op == Const && a.Op == Ite {
		x, y := a.Args[1], a.Args[2]
		if x.Op == Const || y.Op == Const {
			return p.Ite(a.Args[0], p.Eq(x, b), p.Eq(y, b))
		}
	}
	// Two sums are equal if the difference is zero. With one term left that is a comparison with a
	// constant.
	if a.Op == Sum || b.Op == Sum {
		d := p.Sub(a, b)
		if d.Op == Const {
			return p.Bool(d.Val == 0)
		}
		if d.Op == Sum && len(d.Args) == 1 && (d.Coef[0] == 1 || d.Coef[0] == mask(d.W)) {
			k := -d.Val * d.Coef[0]
			if nb := p.Const(a.W, k); nb != b || d.Args[0] != a {
				return p.Eq(d.Args[0], nb)
			}
		}
	}
	return p.commutative(Eq, 1, a, b)
}

// eqParts compares part by part.
func (p *Pool) eqParts(a, b *Term) *Term {
	// Both are cut at the borders of either, so that each piece is a part as a whole.
	borders := map[int]bool{}
	for _, t := range []*Term{a, b} {
		at := 0
		for _, x := range slices.Backward(parts(t)) {
			at += x.W
			borders[at] = true
		}
	}
	var list []*Term
	start := 0
	for c := 1; c <= a.W; c++ {
		if borders[c] {
			list = append(list, p.Eq(p.Extract(a, start, c-start), p.Extract(b, start, c-start)))
			start = c
		}
	}
	return p.All(list...)
}

// Ult is less than, of unsigned numbers.
func (p *Pool) Ult(a, b *Term) *Term {
	// The bounds decide, and comparisons with 0 and 1 are equations.
	switch {
	case a == b || a.lo >= b.hi:
		return p.Bool(false)
	case a.hi < b.lo:
		return p.Bool(true)
	case a.W == 1:
		return p.And(p.Not(a), b)
	case b.Op == Const && b.Val == 1:
		return p.Eq(a, p.Const(a.W, 0))
	case a.Op == Const && a.Val == 0:
		return p.Not(p.Eq(b, a))
	}
	// High bits that are never set need no comparison.
	if n := bits.Len64(a.maybe | b.maybe); n < a.W {
		return p.Ult(p.Extract(a, 0, n), p.Extract(b, 0, n))
	}
	// Below a power of two means that the upper bits are zero.
	if b.Op == Const && b.Val&(b.Val-1) == 0 {
		n := bits.TrailingZeros64(b.Val)
		return p.Eq(p.Extract(a, n, a.W-n), p.Const(a.W-n, 0))
	}
	// A choice between constants is compared on each branch.
	for i, t := range []*Term{a, b} {
		if o := []*Term{b, a}[i]; t.Op == Ite && o.Op == Const && (t.Args[1].Op == Const || t.Args[2].Op == Const) {
			if i == 0 {
				return p.Ite(t.Args[0], p.Ult(t.Args[1], o), p.Ult(t.Args[2], o))
			}
			return p.Ite(t.Args[0], p.Ult(o, t.Args[1]), p.Ult(o, t.Args[2]))
		}
	}
	return p.node(Ult, 1, a, b)
}

// Slt is less than, of signed numbers.
func (p *Pool) Slt(a, b *Term) *Term {
	top := uint64(1) << (a.W - 1)
	switch {
	case a == b:
		return p.Bool(false)
	// Numbers without the sign bit have the same order in both ways.
	case a.W > 1 && a.maybe&top == 0 && b.maybe&top == 0:
		return p.Ult(a, b)
	// Against zero, the sign alone decides.
	case b.Op == Const && b.Val == 0:
		return p.Sign(a)
	case a.Op == Const && a.Val == mask(a.W): // -1 < b
		return p.Not(p.Sign(b))
	// Signs that are known to differ decide.
	case b.maybe&top == 0 && a.lo >= top:
		return p.Bool(true)
	case a.maybe&top == 0 && b.lo >= top:
		return p.Bool(false)
	}
	return p.node(Slt, 1, a, b)
}
