package exec

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/proof/term"
)

// binary runs an operation on two values. Equality is for all kinds of values, and order and
// concatenation for texts. All else is arithmetic.
func (a *activation) binary(s *state, in *ssa.BinOp) Value {
	x, y := a.value(s, in.X), a.value(s, in.Y)
	// Equality is the only question that values of any kind have, so it comes before the kinds.
	switch in.Op {
	case token.EQL:
		return a.m.equal(s, x, y)
	case token.NEQ:
		return a.m.Pool.Not(a.m.equal(s, x, y))
	}
	// Both sides have one type, so if one is a text that is known, the other is a text or not
	// known.
	if u, ok := x.(*Str); ok {
		v, ok := y.(*Str)
		if !ok {
			giveUp("%s", poisonReason(y))
		}
		return a.strings(in.Op, u, v)
	}
	// Other operands may be floats or complex numbers, which have no terms.
	t, ok := x.(*term.Term)
	u, ok2 := y.(*term.Term)
	if !ok || !ok2 {
		giveUp("the operation %s on %s", in.Op, in.X.Type())
	}
	return a.arithmetic(s, in, t, u)
}

// strings runs an operation on two texts. Lengths are constants, so a sum is known byte by byte.
func (a *activation) strings(op token.Token, x, y *Str) Value {
	// Comparisons are all less than, with the sides exchanged or the answer inverted.
	p := a.m.Pool
	switch op {
	case token.ADD:
		return &Str{B: append(x.B[:len(x.B):len(x.B)], y.B...)}
	case token.LSS:
		return a.m.less(x, y)
	case token.GTR:
		return a.m.less(y, x)
	case token.LEQ:
		return p.Not(a.m.less(y, x))
	case token.GEQ:
		return p.Not(a.m.less(x, y))
	}
	giveUp("the operation %s on strings", op)
	return nil
}

// less compares strings as Go does.
func (m *Machine) less(x, y *Str) *term.Term {
	p := m.Pool
	out := p.Bool(len(x.B) < len(y.B))
	for i := min(len(x.B), len(y.B)) - 1; i >= 0; i-- {
		out = p.Any(p.Ult(x.B[i], y.B[i]), p.All(p.Eq(x.B[i], y.B[i]), out))
	}
	return out
}

// arithmetic runs an operation on two integers. It ends the state where the operation panics.
func (a *activation) arithmetic(s *state, in *ssa.BinOp, x, y *term.Term) Value {
	p := a.m.Pool
	// Only the sign tells comparisons, divisions and shifts to the right of one width apart.
	signed := signedType(in.X.Type())
	less := p.Ult
	if signed {
		less = p.Slt
	}
	switch in.Op {
	case token.ADD, token.SUB, token.MUL:
		return a.wraps(s, in, x, y)
	// A division by zero ends the path before the division is made.
	case token.QUO, token.REM:
		a.require(s, p.Not(p.Eq(y, p.Const(y.W, 0))), "divide")
		if s.dead {
			return nil
		}
		return a.divide(in.Op, x, y, signed)
	case token.AND:
		return p.And(x, y)
	case token.OR:
		return p.Or(x, y)
	case token.XOR:
		return p.Xor(x, y)
	case token.AND_NOT:
		return p.And(x, p.Not(y))
	// A shift by a negative count panics; one of an unsigned type is never negative.
	case token.SHL, token.SHR:
		if signedType(in.Y.Type()) {
			a.require(s, p.Not(p.Sign(y)), "shift")
			if s.dead {
				return nil
			}
		}
		op := term.Lshr
		if in.Op == token.SHL {
			op = term.Shl
		} else if signed {
			op = term.Ashr
		}
		return p.Shift(op, x, y)
	case token.LSS:
		return less(x, y)
	case token.GTR:
		return less(y, x)
	case token.LEQ:
		return p.Not(less(y, x))
	case token.GEQ:
		return p.Not(less(x, y))
	}
	giveUp("the operation %s", in.Op)
	return nil
}

// divide takes the operation by its sign. The caller has ruled out a divisor of zero on this path.
func (a *activation) divide(op token.Token, x, y *term.Term, signed bool) Value {
	p := a.m.Pool
	switch {
	case op == token.QUO && signed:
		return p.SDiv(x, y)
	case op == token.QUO:
		return p.UDiv(x, y)
	case signed:
		return p.SRem(x, y)
	}
	return p.URem(x, y)
}

// wraps adds, subtracts or multiplies, and notes where the result may exceed
// its width.
func (a *activation) wraps(s *state, in *ssa.BinOp, x, y *term.Term) Value {
	p := a.m.Pool
	// The term is of the type's width, so it is the result that Go gives, wrapped or not.
	var v *term.Term
	switch in.Op {
	case token.ADD:
		v = p.Add(x, y)
	case token.SUB:
		v = p.Sub(x, y)
	default:
		v = p.Mul(x, y)
	}
	// A difference of numbers without sign is left out: bounds nearly always allow one below zero.
	if a.m.observe && in.Op != token.SUB && mayExceed(in.Op, x, y, in.Type(), a.m) {
		a.m.Wraps = append(a.m.Wraps, Wrap{Pos: in.Pos(), Width: v.W})
	}
	return v
}

// mayExceed reports whether the bounds of the operands allow a result beyond
// the type.
func mayExceed(op token.Token, x, y *term.Term, t types.Type, m *Machine) bool {
	_, hx := x.Bounds()
	_, hy := y.Bounds()
	// The greatest value of the type. Bounds are of numbers without sign, so a type with sign has
	// half.
	w := m.width(t)
	top := ^uint64(0) >> (64 - w)
	if signedType(t) {
		top >>= 1
		if hx > top || hy > top {
			return false // perhaps negative: the bounds say nothing
		}
	}
	// Both tests avoid to compute what might itself exceed 64 bits.
	if op == token.ADD {
		return hx > top-hy
	}
	return hy != 0 && hx > top/hy
}

// equal is x == y.
func (m *Machine) equal(s *state, x, y Value) *term.Term {
	p := m.Pool
	// Values of one kind are equal if their parts are. Slices and functions may only be compared
	// with nil.
	switch a := x.(type) {
	case *term.Term:
		if b, ok := y.(*term.Term); ok {
			return p.Eq(a, b)
		}
	case *Str:
		if b, ok := y.(*Str); ok {
			return m.equalBytes(a.B, b.B)
		}
	case *Slice: // with nil
		b, ok := y.(*Slice)
		if ok && (a.Nil || b.Nil) {
			return p.Bool(a.Nil == b.Nil)
		}
	case *Func:
		b, ok := y.(*Func)
		if ok && (a.Fn == nil || b.Fn == nil) {
			return p.Bool(a.Fn == b.Fn)
		}
	case *Ptr:
		if b, ok := y.(*Ptr); ok {
			return m.equalPtr(a, b)
		}
	// Arrays and structs are equal if all their parts are.
	case *Agg:
		b, ok := y.(*Agg)
		if ok && len(a.Elems) == len(b.Elems) {
			list := make([]*term.Term, len(a.Elems))
			for i := range list {
				list[i] = m.equal(s, a.Elems[i], b.Elems[i])
			}
			return p.All(list...)
		}
	case *Iface:
		if b, ok := y.(*Iface); ok {
			return m.equalIface(s, a, b)
		}
	}
	giveUp("a comparison of values that are not known")
	return nil
}

// equalPtr compares two pointers by object and path. Memory that was made apart is never the same.
func (m *Machine) equalPtr(a, b *Ptr) *term.Term {
	if a.Obj != b.Obj {
		return m.Pool.Bool(false)
	}
	for i := range max(len(a.Path), len(b.Path)) {
		// One may be the beginning of the other, as a struct's address is that of its first field,
		// or a step is not known.
		if i >= len(a.Path) || i >= len(b.Path) || a.Path[i].Sym != nil || b.Path[i].Sym != nil {
			giveUp("a comparison of pointers into one object")
		}
		if a.Path[i].I != b.Path[i].I {
			return m.Pool.Bool(false)
		}
	}
	return m.Pool.Bool(true)
}

// equalIface compares two interfaces as Go does: nil first, then the types, and then the values.
func (m *Machine) equalIface(s *state, a, b *Iface) *term.Term {
	if a.Type == nil || b.Type == nil {
		return m.Pool.Bool(a.Type == nil && b.Type == nil)
	}
	// Two errors that fmt.Errorf made are pointers, whose identity is not followed.
	_, oa := a.V.(Opaque)
	_, ob := b.V.(Opaque)
	if oa || ob {
		giveUp("a comparison with what fmt.Errorf made")
	}
	if !sameType(a.Type, b.Type) {
		return m.Pool.Bool(false)
	}
	return m.equal(s, a.V, b.V)
}

func (m *Machine) equalBytes(a, b []*term.Term) *term.Term {
	if len(a) != len(b) {
		return m.Pool.Bool(false)
	}
	list := make([]*term.Term, len(a))
	for i := range list {
		list[i] = m.Pool.Eq(a[i], b[i])
	}
	return m.Pool.All(list...)
}

// sameType reports whether two types are one. Types of the library are loaded
// apart from the program's, so that equal names of two objects say nothing.
func sameType(a, b types.Type) bool {
	if types.Identical(a, b) {
		return true
	}
	if a.String() == b.String() {
		giveUp("two loadings of type %s", a)
	}
	return false
}
