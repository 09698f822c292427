package term

import (
	"math/bits"
	"slices"
)

// Concat joins parts to a word, the highest first.
func (p *Pool) Concat(list ...*Term) *Term {
	var out []*Term
	w := 0
	// Parts of parts are joined, and neighbours that belong together become one again.
	for _, t := range list {
		for _, x := range parts(t) {
			w += x.W
			out = p.join(out, x)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return p.make(&Term{Op: Concat, W: w, Args: out})
}

// join appends a part, or lets it grow together with the last one.
func (p *Pool) join(out []*Term, x *Term) []*Term {
	if len(out) == 0 {
		return append(out, x)
	}
	// Neighbouring constants become one. Parts that depend on the same byte become one table, and
	// neighbouring extracts of one term become one.
	last := out[len(out)-1]
	var one *Term
	switch {
	case last.Op == Const && x.Op == Const:
		one = p.Const(last.W+x.W, shl(last.Val, x.W)|x.Val)
	case last.sole != nil && last.sole == x.sole && last.Op != Const && x.Op != Const:
		one = p.make(&Term{Op: Concat, W: last.W + x.W, Args: []*Term{last, x}})
		// The joined term may fall into parts again, with zeros at its ends.
		if one.Op == Concat {
			out = out[:len(out)-1]
			for _, y := range one.Args {
				if len(out) > 0 && out[len(out)-1].Op == Const && y.Op == Const {
					out = p.join(out, y)
				} else {
					out = append(out, y)
				}
			}
			return out
		}
	case last.Op == Extract && x.Op == Extract && last.Args[0] == x.Args[0] && last.Val == x.Val+uint64(x.W):
		one = p.Extract(x.Args[0], int(x.Val), last.W+x.W)
	}
	if one == nil {
		return append(out, x)
	}
	return append(out[:len(out)-1], one)
}

// Extract is w bits of t from bit lo on.
func (p *Pool) Extract(t *Term, lo, w int) *Term {
	// A word as a whole, and bits that are always zero, need no operation.
	switch {
	case lo == 0 && w == t.W:
		return t
	case t.maybe>>lo&mask(w) == 0:
		return p.Const(w, 0)
	}
	// The same bits are asked for again and again where words are taken apart byte by byte.
	key := memoKey{Extract, t.id, lo, w}
	if have := p.memo[key]; have != nil {
		return have
	}
	out := p.extract(t, lo, w)
	p.memo[key] = out
	return out
}

// extract takes bits of a term out of its arguments, where the operation works bit by bit or from
// the low end up.
func (p *Pool) extract(t *Term, lo, w int) *Term {
	ex := func(i int) *Term { return p.Extract(t.Args[i], lo, w) }
	switch {
	case t.Op == Extract:
		return p.Extract(t.Args[0], lo+int(t.Val), w)
	case t.Op == Concat:
		return p.extractConcat(t, lo, w)
	case t.Op == And && t.W > 1:
		return p.And(ex(0), ex(1))
	case t.Op == Or:
		return p.Or(ex(0), ex(1))
	case t.Op == Xor:
		return p.Xor(ex(0), ex(1))
	case t.Op == Not:
		return p.Not(ex(0))
	case t.Op == Ite:
		return p.Ite(t.Args[0], ex(1), ex(2))
	case t.Op == SExt && lo+w <= t.Args[0].W:
		return ex(0)
	// The low bits of a sum or product depend on the low bits of the operands only.
	case t.Op == Sum && lo == 0:
		l := &linear{w: w, val: t.Val}
		for i, a := range t.Args {
			l.add(p, p.Extract(a, 0, w), t.Coef[i])
		}
		return p.sum(l)
	case t.Op == Mul && lo == 0:
		return p.Mul(ex(0), ex(1))
	}
	return p.make(&Term{Op: Extract, W: w, Val: uint64(lo), Args: []*Term{t}})
}

// extractConcat takes the bits from those parts that they lie in.
func (p *Pool) extractConcat(t *Term, lo, w int) *Term {
	var out []*Term
	at := t.W
	for _, x := range t.Args {
		at -= x.W // x is the bits from at on
		from, to := max(lo, at), min(lo+w, at+x.W)
		if from < to {
			out = append(out, p.Extract(x, from-at, to-from))
		}
	}
	return p.Concat(out...)
}

// ZExt widens by zeros.
func (p *Pool) ZExt(t *Term, w int) *Term {
	if w == t.W {
		return t
	}
	if t.Op == Sum && isExact(t) {
		l := &linear{w: w, val: t.Val}
		for i, a := range t.Args {
			l.add(p, p.ZExt(a, w), t.Coef[i])
		}
		return p.sum(l)
	}
	return p.Concat(p.Const(w-t.W, 0), t)
}

// SExt widens by copies of the highest bit.
func (p *Pool) SExt(t *Term, w int) *Term {
	switch {
	case w == t.W:
		return t
	case t.maybe>>(t.W-1) == 0:
		return p.ZExt(t, w)
	case t.Op == SExt:
		return p.SExt(t.Args[0], w)
	}
	return p.node(SExt, w, t)
}

// Resize widens or narrows, as a conversion of Go does.
func (p *Pool) Resize(t *Term, w int, signed bool) *Term {
	switch {
	case w <= t.W:
		return p.Extract(t, 0, w)
	case signed:
		return p.SExt(t, w)
	}
	return p.ZExt(t, w)
}

// Not inverts all bits.
func (p *Pool) Not(t *Term) *Term {
	// Inverting goes inwards, where it meets what it cancels. For a sum, the inverse of x is -x -
	// 1.
	switch {
	case t.Op == Not:
		return t.Args[0]
	case t.Op == Concat:
		out := make([]*Term, len(t.Args))
		for i, x := range t.Args {
			out[i] = p.Not(x)
		}
		return p.Concat(out...)
	case t.Op == Sum:
		l := &linear{w: t.W, val: ^uint64(0)}
		l.add(p, t, ^uint64(0))
		return p.sum(l)
	}
	return p.node(Not, t.W, t)
}

// And returns the bits that both have.
func (p *Pool) And(a, b *Term) *Term {
	// On truth values it is the conjunction. Constants stand on the right.
	if a.W == 1 {
		return p.All(a, b)
	}
	if a.Op == Const {
		a, b = b, a
	}
	// maybe holds the bits that can be set: without a common one the result is 0, and a mask that
	// covers them all changes nothing.
	switch {
	case a == b:
		return a
	case a.maybe&b.maybe == 0:
		return p.Const(a.W, 0)
	case b.Op == Const && a.maybe&^b.Val == 0:
		return a
	}
	// Words of several parts are combined part by part.
	if t := p.piecewise(a, b, p.And); t != nil {
		return t
	}
	return p.commutative(And, a.W, a, b)
}

// Or returns the bits that one or both have.
func (p *Pool) Or(a, b *Term) *Term {
	// Truth values have only conjunctions: a or b is not (not a and not b).
	if a.W == 1 {
		return p.Not(p.All(p.Not(a), p.Not(b)))
	}
	if a.Op == Const {
		a, b = b, a
	}
	switch {
	// Nothing added, or all: the word is known without looking at the bits of the other.
	case a == b, b.Op == Const && b.Val == 0:
		return a
	case b.Op == Const && b.Val == mask(b.W):
		return b
	}
	// Where the two have their bits in different places, this is joining them.
	if t := p.piecewise(a, b, p.Or); t != nil {
		return t
	}
	return p.commutative(Or, a.W, a, b)
}

// Xor returns the bits that differ.
func (p *Pool) Xor(a, b *Term) *Term {
	if a.W == 1 {
		return p.xorBool(a, b)
	}
	if a.Op == Const {
		a, b = b, a
	}
	// Equal operands cancel, also through another exclusive or.
	switch {
	case a == b:
		return p.Const(a.W, 0)
	case b.Op == Const && b.Val == 0:
		return a
	case b.Op == Const && b.Val == mask(b.W):
		return p.Not(a)
	case a.Op == Xor && (a.Args[0] == b || a.Args[1] == b):
		return p.otherArg(a, b)
	case b.Op == Xor && (b.Args[0] == a || b.Args[1] == a):
		return p.otherArg(b, a)
	case a.Op == Xor && b.Op == Const && a.Args[0].Op == Const:
		return p.Xor(a.Args[1], p.Const(a.W, a.Args[0].Val^b.Val))
	}
	if t := p.piecewise(a, b, p.Xor); t != nil {
		return t
	}
	return p.commutative(Xor, a.W, a, b)
}

func (p *Pool) otherArg(x, arg *Term) *Term {
	if x.Args[0] == arg {
		return x.Args[1]
	}
	return x.Args[0]
}

// maxRuns bounds the runs of ones of a constant that cuts a word into parts.
const maxRuns = 8

// piecewise applies a bitwise operation part by part, or is nil when there is
// nothing to gain.
func (p *Pool) piecewise(a, b *Term, op func(a, b *Term) *Term) *Term {
	// Borders are where a part of either operand ends, and where a constant changes between runs of
	// zeros and ones.
	borders := map[int]bool{}
	for _, t := range []*Term{a, b} {
		at := 0
		for _, x := range slices.Backward(parts(t)) {
			at += x.W
			borders[at] = true
		}
		if t.Op != Const {
			continue
		}
		edges := (t.Val ^ t.Val<<1) & mask(t.W) &^ 1
		// A constant with many runs would make too many parts.
		if bits.OnesCount64(edges) > 2*maxRuns {
			continue
		}
		for ; edges != 0; edges &= edges - 1 {
			borders[bits.TrailingZeros64(edges)] = true
		}
	}
	if len(borders) == 1 {
		return nil
	}
	// Apply the operation between two borders.
	var out []*Term
	start := 0
	for c := 1; c <= a.W; c++ {
		if borders[c] {
			out = append(out, op(p.Extract(a, start, c-start), p.Extract(b, start, c-start)))
			start = c
		}
	}
	slices.Reverse(out)
	return p.Concat(out...)
}

func (p *Pool) shlConst(t *Term, n int) *Term {
	switch {
	case n == 0:
		return t
	case n >= t.W:
		return p.Const(t.W, 0)
	}
	return p.Concat(p.Extract(t, 0, t.W-n), p.Const(n, 0))
}

func (p *Pool) lshrConst(t *Term, n int) *Term {
	switch {
	case n == 0:
		return t
	case n >= t.W:
		return p.Const(t.W, 0)
	}
	return p.Concat(p.Const(n, 0), p.Extract(t, n, t.W-n))
}

// Shift returns Go's shift of t by an unsigned count of any width.
func (p *Pool) Shift(op Op, t, count *Term) *Term {
	if count.IsConst() {
		n := int(min(count.Val, uint64(t.W)))
		switch op {
		case Shl:
			return p.shlConst(t, n)
		case Lshr:
			return p.lshrConst(t, n)
		}
		n = min(n, t.W-1)
		return p.SExt(p.Extract(t, n, t.W-n), t.W)
	}
	if count.W < t.W {
		count = p.ZExt(count, t.W)
	} else if count.W > t.W {
		// Counts that do not fit are as good as the greatest that does, if that is large enough.
		big := p.Ult(p.Const(count.W, mask(t.W)), count)
		count = p.Ite(big, p.Const(t.W, mask(t.W)), p.Extract(count, 0, t.W))
	}
	return p.node(op, t.W, t, count)
}
