package term

import (
	"math/bits"
	"slices"
	"sort"
)

// A linear is a sum in the making, modulo two to the power of its width.
type linear struct {
	w     int
	val   uint64
	terms []*Term
	coefs []uint64
}

// add adds k times t.
func (l *linear) add(p *Pool, t *Term, k uint64) {
	// A sum in a sum is one sum. Negation and shifts are multiples as well.
	switch t.Op {
	case Const:
		l.val += k * t.Val
		return
	case Sum:
		l.val += k * t.Val
		for i, a := range t.Args {
			l.term(a, k*t.Coef[i])
		}
		return
	case Not: // ^x = -1 - x
		l.val -= k
		l.add(p, t.Args[0], -k)
		return
	case Concat:
		if x, shift := p.shifted(t); shift > 0 {
			l.add(p, x, k<<shift)
			return
		}
	}
	l.term(t, k)
}

func (l *linear) term(t *Term, k uint64) {
	if i := slices.Index(l.terms, t); i >= 0 {
		l.coefs[i] += k
		return
	}
	l.terms, l.coefs = append(l.terms, t), append(l.coefs, k)
}

// shifted takes a word apart that is another word times a power of two.
func (p *Pool) shifted(t *Term) (*Term, int) {
	last := t.Args[len(t.Args)-1]
	if last.Op != Const || last.Val != 0 {
		return nil, 0
	}
	rest := t.Args[:len(t.Args)-1]
	if len(rest) == 1 && rest[0].Op == Extract && rest[0].Val == 0 && rest[0].Args[0].W == t.W {
		return rest[0].Args[0], last.W
	}
	return p.Concat(append([]*Term{p.Const(last.W, 0)}, rest...)...), last.W
}

// byNumber sorts the parts of a sum by the numbers of their terms, so that equal sums are one term.
type byNumber Term

func (s *byNumber) Len() int           { return len(s.Args) }
func (s *byNumber) Less(i, j int) bool { return s.Args[i].id < s.Args[j].id }

func (s *byNumber) Swap(i, j int) {
	s.Args[i], s.Args[j] = s.Args[j], s.Args[i]
	s.Coef[i], s.Coef[j] = s.Coef[j], s.Coef[i]
}

// sum makes the term.
func (p *Pool) sum(l *linear) *Term {
	// Coefficients count modulo the width, and a term without one goes.
	m := mask(l.w)
	l.val &= m
	s := &Term{Op: Sum, W: l.w, Val: l.val}
	for i, t := range l.terms {
		if k := l.coefs[i] & m; k != 0 {
			s.Args, s.Coef = append(s.Args, t), append(s.Coef, k)
		}
	}
	sort.Sort((*byNumber)(s))
	// Small sums are the terms that they are.
	switch {
	case len(s.Args) == 0:
		return p.Const(l.w, l.val)
	case len(s.Args) == 1 && s.Coef[0] == 1 && l.val == 0:
		return s.Args[0]
	case len(s.Args) == 1 && s.Coef[0] == m && l.val == m:
		return p.Not(s.Args[0])
	}
	// Terms without a common bit are joined instead of added.
	if t := p.disjoint(s); t != nil {
		return t
	}
	return p.make(s)
}

// disjoint writes a sum without carries as a word of parts.
func (p *Pool) disjoint(s *Term) *Term {
	used := s.Val
	for i, a := range s.Args {
		k := s.Coef[i]
		// A factor that is no power of two adds the number to itself shifted, with carries.
		if k&(k-1) != 0 {
			return nil
		}
		shift := bits.TrailingZeros64(k)
		// A bit that two parts may set would carry.
		if a.maybe<<shift>>shift != a.maybe && len(s.Args) > 1 || a.maybe<<shift&used != 0 {
			return nil
		}
		used |= a.maybe << shift & mask(s.W)
	}
	// Without carries, adding is the same as joining.
	out := p.Const(s.W, s.Val)
	for i, a := range s.Args {
		out = p.Or(out, p.shlConst(a, bits.TrailingZeros64(s.Coef[i])))
	}
	return out
}

// Add returns the sum, modulo two to the power of the width.
func (p *Pool) Add(a, b *Term) *Term {
	if t := p.lanes(a, b, false); t != nil {
		return t
	}
	l := &linear{w: a.W}
	l.add(p, a, 1)
	l.add(p, b, 1)
	return p.sum(l)
}

// Sub returns the difference, modulo two to the power of the width.
func (p *Pool) Sub(a, b *Term) *Term {
	if t := p.lanes(a, b, true); t != nil {
		return t
	}
	l := &linear{w: a.W}
	l.add(p, a, 1)
	l.add(p, b, ^uint64(0))
	return p.sum(l)
}

// Neg is zero minus the term.
func (p *Pool) Neg(a *Term) *Term { return p.Sub(p.Const(a.W, 0), a) }

// lanes adds or subtracts part by part where no carry can leave a part.
func (p *Pool) lanes(a, b *Term, sub bool) *Term {
	if a.Op != Concat && b.Op != Concat || a.Op == Const && a.Val == 0 || b.Op == Const && b.Val == 0 {
		return nil
	}
	cuts := p.cuts(a, b)
	if cuts == nil {
		return nil
	}
	var parts []*Term
	// Cut at the borders that both words have, and go on to the next one where a carry may leave
	// the part.
	start := 0
	for _, c := range append(cuts, a.W) {
		x, y := p.Extract(a, start, c-start), p.Extract(b, start, c-start)
		if c < a.W {
			if sub && x.lo < y.hi || !sub && (x.hi+y.hi < x.hi || x.hi+y.hi > mask(c-start)) {
				continue
			}
		} else if start == 0 {
			// Nothing was cut.
			return nil
		}
		if sub {
			parts = append(parts, p.Sub(x, y))
		} else {
			parts = append(parts, p.Add(x, y))
		}
		start = c
	}
	slices.Reverse(parts)
	return p.Concat(parts...)
}

// cuts returns the places where both words have a border between parts. Constants have borders
// everywhere.
func (p *Pool) cuts(a, b *Term) []int {
	// of returns the borders of a word's parts; nil stands for everywhere.
	of := func(t *Term) map[int]bool {
		if t.Op == Const {
			return nil
		}
		m, at := map[int]bool{}, 0
		for _, x := range slices.Backward(parts(t)) {
			at += x.W
			m[at] = true
		}
		return m
	}
	ca, cb := of(a), of(b)
	var out []int
	for i := 1; i < a.W; i++ {
		if (ca == nil || ca[i]) && (cb == nil || cb[i]) && (ca != nil || cb != nil) {
			out = append(out, i)
		}
	}
	return out
}

// parts returns the parts of a word, the highest first.
func parts(t *Term) []*Term {
	if t.Op == Concat {
		return t.Args
	}
	return []*Term{t}
}

// Mul returns the product, modulo two to the power of the width.
func (p *Pool) Mul(a, b *Term) *Term {
	if a.Op == Const {
		a, b = b, a
	}
	if b.Op == Const {
		l := &linear{w: a.W}
		l.add(p, a, b.Val)
		return p.sum(l)
	}
	return p.commutative(Mul, a.W, a, b)
}

// UDiv returns the quotient of unsigned numbers. The divisor must not be zero.
func (p *Pool) UDiv(a, b *Term) *Term {
	if b.Op == Const && b.Val > 0 {
		if b.Val&(b.Val-1) == 0 {
			return p.lshrConst(a, bits.TrailingZeros64(b.Val))
		}
	}
	if a.hi < b.lo {
		return p.Const(a.W, 0)
	}
	return p.node(UDiv, a.W, a, b)
}

// URem returns the remainder of unsigned numbers. The divisor must not be zero.
func (p *Pool) URem(a, b *Term) *Term {
	// A number below the divisor is its own remainder.
	if a.hi < b.lo {
		return a
	}
	if b.Op != Const || b.Val == 0 {
		return p.node(URem, a.W, a, b)
	}
	// By a power of two, the remainder is the low bits.
	if b.Val&(b.Val-1) == 0 {
		return p.And(a, p.Const(a.W, b.Val-1))
	}
	// Multiples of the divisor add nothing to the remainder.
	if t := p.withoutMod(a, b); t != nil {
		return p.URem(t, b)
	}
	return p.node(URem, a.W, a, b)
}

// withoutMod drops inner remainders by the same number where nothing can wrap:
// (x mod m + y) mod m = (x + y) mod m.
func (p *Pool) withoutMod(a, m *Term) *Term {
	// A remainder of a remainder by the same number is one.
	if a.Op == URem && a.Args[1] == m {
		return a.Args[0]
	}
	if a.Op != Sum {
		return nil
	}
	// Take inner remainders out of the sum, with their coefficients. They may be extended with
	// zeros.
	l, found := &linear{w: a.W, val: a.Val}, false
	for i, x := range a.Args {
		k := a.Coef[i]
		switch {
		case x.Op == URem && x.Args[1] == m:
			l.add(p, x.Args[0], k)
			found = true
		case x.Op == Concat && len(x.Args) == 2 && x.Args[0].Op == Const && x.Args[0].Val == 0 &&
			x.Args[1].Op == URem && x.Args[1].Args[1].Op == Const && x.Args[1].Args[1].Val == m.Val:
			l.add(p, p.ZExt(x.Args[1].Args[0], x.W), k)
			found = true
		default:
			l.add(p, x, k)
		}
	}
	// The identity needs sums that cannot wrap around, before and after.
	if !found || !isExact(a) {
		return nil
	}
	if t := p.sum(l); t.Op != Sum || isExact(t) {
		return t
	}
	return nil
}

// isExact reports whether a sum stands for the same sum of whole numbers, which
// has no negative parts and never wraps.
func isExact(s *Term) bool {
	total := s.Val
	for i, a := range s.Args {
		over, low := bits.Mul64(s.Coef[i], a.hi)
		next, carry := bits.Add64(total, low, 0)
		if over|carry != 0 || next > mask(s.W) {
			return false
		}
		total = next
	}
	return true
}

// SDiv returns Go's quotient of signed numbers. The divisor must not be zero.
func (p *Pool) SDiv(a, b *Term) *Term {
	q := p.UDiv(p.abs(a), p.abs(b))
	return p.Ite(p.xorBool(p.Sign(a), p.Sign(b)), p.Neg(q), q)
}

// SRem returns Go's remainder of signed numbers. The divisor must not be zero.
func (p *Pool) SRem(a, b *Term) *Term {
	r := p.URem(p.abs(a), p.abs(b))
	return p.Ite(p.Sign(a), p.Neg(r), r)
}

func (p *Pool) abs(a *Term) *Term { return p.Ite(p.Sign(a), p.Neg(a), a) }

// Sign returns the highest bit.
func (p *Pool) Sign(a *Term) *Term { return p.Extract(a, a.W-1, 1) }
