package term

// compute returns the result of t's operation on values of its arguments. It alone defines the
// operations: folding, tables and Eval use it.
func (p *Pool) compute(t *Term, v []uint64) uint64 {
	// Values have no bits beyond the width of their term.
	m := mask(t.W)
	switch t.Op {
	case Const:
		return t.Val
	case Sum:
		n := t.Val
		for i, c := range t.Coef {
			n += c * v[i]
		}
		return n & m
	case And:
		n := m
		for _, x := range v {
			n &= x
		}
		return n
	case Not:
		return ^v[0] & m
	case Concat:
		var n uint64
		for i, a := range t.Args {
			n = shl(n, a.W) | v[i]
		}
		return n
	case Extract:
		return v[0] >> t.Val & m
	case SExt:
		return uint64(signed(v[0], t.Args[0].W)) & m
	case Map:
		return p.tables[t.Val][v[0]]
	case Ite:
		if v[0] == 1 {
			return v[1]
		}
		return v[2]
	}
	return computeTwo(t, v[0], v[1]) & m
}

// computeTwo computes an operation on two values. Division by zero is as in SMT-LIB, because the
// solvers compute it so.
func computeTwo(t *Term, a, b uint64) uint64 {
	truth := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	// The caller cuts the result to the width of t. Operations that need a sign get it from the
	// width here.
	switch t.Op {
	case Mul:
		return a * b
	case UDiv:
		if b == 0 {
			return ^uint64(0)
		}
		return a / b
	case URem:
		if b == 0 {
			return a
		}
		return a % b
	case Or:
		return a | b
	case Xor:
		return a ^ b
	case Shl:
		return a << b
	case Lshr:
		return a >> b
	case Ashr:
		return uint64(signed(a, t.W) >> b)
	case Eq:
		return truth(a == b)
	case Ult:
		return truth(a < b)
	case Slt:
		return truth(signed(a, t.Args[0].W) < signed(b, t.Args[0].W))
	}
	panic("term: no meaning for this operation")
}

// signed reads the w low bits as a number in two's complement.
func signed(v uint64, w int) int64 { return int64(v<<(64-w)) >> (64 - w) }

// Signed returns the value of a constant in two's complement.
func (t *Term) Signed() int64 { return signed(t.Val, t.W) }

// An Evaluation computes terms of a pool for one assignment of its variables.
// Variables that have no value are zero.
type Evaluation struct {
	pool *Pool
	vars map[*Term]uint64
	have []bool
	val  []uint64
	args []uint64
}

// Eval begins an evaluation.
func (p *Pool) Eval(vars map[*Term]uint64) *Evaluation {
	return &Evaluation{pool: p, vars: vars, have: make([]bool, len(p.all)), val: make([]uint64, len(p.all))}
}

// Value returns the value of a term that existed when the evaluation began.
func (e *Evaluation) Value(t *Term) uint64 {
	// Arguments have smaller numbers, but most terms of a pool are not asked for.
	stack := []*Term{t}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		if e.have[x.id] {
			stack = stack[:len(stack)-1]
			continue
		}
		ready := true
		for _, a := range x.Args {
			if !e.have[a.id] {
				stack, ready = append(stack, a), false
			}
		}
		if !ready {
			continue
		}
		stack = stack[:len(stack)-1]
		e.have[x.id] = true
		if x.Op == Var {
			e.val[x.id] = e.vars[x] & mask(x.W)
			continue
		}
		e.args = e.args[:0]
		for _, a := range x.Args {
			e.args = append(e.args, e.val[a.id])
		}
		e.val[x.id] = e.pool.compute(x, e.args)
	}
	return e.val[t.id]
}
