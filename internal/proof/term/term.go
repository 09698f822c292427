package term

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
)

// An Op is an operation on terms.
type Op uint8

// The operations. All but the comparisons, Extract, Concat and SExt have
// arguments of their own width.
const (
	Invalid Op = iota
	Const      // Val
	Var        // Name
	Sum        // Val plus the sum of Coef[i]*Args[i]
	Mul
	UDiv // all ones when the divisor is zero, as solvers define it
	URem // the dividend when the divisor is zero
	And  // of truth values: any number of arguments
	Or   // not for truth values, which write it with And and Not
	Xor  // not for truth values, which write it with Ite
	Not
	Shl // zero when the count is the width or more
	Lshr
	Ashr
	Concat  // highest part first
	Extract // W bits from bit Val on
	SExt
	Ite // Args[0] is a truth value
	Eq
	Ult
	Slt
	Map // entry of table Val at the variable Args[0]
)

// A Term is an expression. Terms are made by a [Pool] and never change.
type Term struct {
	Op   Op
	W    int // bits
	Val  uint64
	Name string
	Args []*Term
	Coef []uint64

	id     int
	lo, hi uint64 // bounds of the value, unsigned
	maybe  uint64 // bits that may be one
	sole   *Term  // the only variable, when it has at most eight bits
	pool   *Pool
}

// IsConst reports whether the term is a constant.
func (t *Term) IsConst() bool { return t.Op == Const }

// True reports whether the term is the truth value true.
func (t *Term) True() bool { return t.Op == Const && t.W == 1 && t.Val == 1 }

// False reports whether the term is the truth value false.
func (t *Term) False() bool { return t.Op == Const && t.W == 1 && t.Val == 0 }

// Bounds returns the least and the greatest value that the term may have. They hold for all inputs
// and need not be reached.
func (t *Term) Bounds() (lo, hi uint64) { return t.lo, t.hi }

// SameByte reports whether both terms depend on one and the same small variable
// alone.
func (t *Term) SameByte(o *Term) bool { return t.sole != nil && t.sole == o.sole }

// ID tells terms of one pool apart; arguments have smaller ones.
func (t *Term) ID() int { return t.id }

// Limit is the value of a [Pool]'s panic when it may make no more terms.
type Limit struct{ Nodes int }

func (l Limit) Error() string { return fmt.Sprintf("more than %d terms", l.Nodes) }

// A Pool makes terms. The zero Pool is not ready: see [NewPool].
type Pool struct {
	limit  int
	tick   func()
	known  map[string]*Term
	all    []*Term
	vars   []*Term
	tables [][]uint64
	tabID  map[string]int
	memo   map[memoKey]*Term
	buf    []byte
}

type memoKey struct {
	op   Op
	a, b int
	c    int
}

// NewPool returns an empty pool that panics with [Limit] beyond this many terms. tick, if not nil,
// is called now and then while terms are made; it may panic to end the work.
func NewPool(limit int, tick func()) *Pool {
	return &Pool{
		limit: limit,
		tick:  tick,
		known: map[string]*Term{},
		tabID: map[string]int{},
		memo:  map[memoKey]*Term{},
	}
}

// Nodes returns how many terms the pool holds.
func (p *Pool) Nodes() int { return len(p.all) }

// Vars returns the variables in the order in which they were made.
func (p *Pool) Vars() []*Term { return p.vars }

func mask(w int) uint64 { return ^uint64(0) >> (64 - w) }

// Const makes a constant of w bits.
func (p *Pool) Const(w int, v uint64) *Term {
	return p.intern(&Term{Op: Const, W: w, Val: v & mask(w)})
}

// Bool makes a constant truth value.
func (p *Pool) Bool(b bool) *Term {
	if b {
		return p.Const(1, 1)
	}
	return p.Const(1, 0)
}

// Var makes a variable, or returns the one of that name.
func (p *Pool) Var(name string, w int) *Term {
	return p.intern(&Term{Op: Var, W: w, Name: name})
}

// intern returns the one term that equals t.
func (p *Pool) intern(t *Term) *Term {
	// Equal terms are one, so that they can be compared by pointer.
	p.buf = t.key(p.buf[:0])
	if have := p.known[string(p.buf)]; have != nil {
		return have
	}
	// Limits are looked at where terms are made: everything that takes time makes them.
	if len(p.all) >= p.limit {
		panic(Limit{p.limit})
	}
	if p.tick != nil && len(p.all)%64 == 0 {
		p.tick()
	}
	key := string(p.buf)
	t.id, t.pool = len(p.all), p
	t.sole = soleOf(t)
	t.deriveBounds(p)
	p.all = append(p.all, t)
	p.known[key] = t
	if t.Op == Var {
		p.vars = append(p.vars, t)
	}
	return t
}

// key writes all that makes two terms the same. Arguments are interned, so their number stands for
// them.
func (t *Term) key(b []byte) []byte {
	b = append(b, byte(t.Op), byte(t.W))
	b = binary.LittleEndian.AppendUint64(b, t.Val)
	for _, a := range t.Args {
		b = binary.LittleEndian.AppendUint32(b, uint32(a.id))
	}
	for _, c := range t.Coef {
		b = binary.LittleEndian.AppendUint64(b, c)
	}
	return append(b, t.Name...)
}

// soleOf finds the only variable below t, if it is a small one.
func soleOf(t *Term) *Term {
	if t.Op == Var && t.W <= 8 {
		return t
	}
	v, _ := commonSole(t.Args)
	return v
}

// commonSole returns the small variable that alone occurs in the terms. ok is false when something
// else occurs too.
func commonSole(args []*Term) (v *Term, ok bool) {
	for _, a := range args {
		switch {
		case a.Op == Const:
		case a.sole == nil || v != nil && v != a.sole:
			return nil, false
		default:
			v = a.sole
		}
	}
	return v, true
}

// make folds constants and tables, and interns the rest.
func (p *Pool) make(t *Term) *Term {
	v, ok := commonSole(t.Args)
	switch {
	// Constants only: the operation is computed. With one variable of few values, its table is the
	// term.
	case ok && v == nil:
		vals := make([]uint64, len(t.Args))
		for i, a := range t.Args {
			vals[i] = a.Val
		}
		return p.Const(t.W, p.compute(t, vals))
	case ok:
		return p.canon(v, t.W, p.tabulate(t, v))
	}
	return p.intern(t)
}

func (p *Pool) node(op Op, w int, args ...*Term) *Term {
	return p.make(&Term{Op: op, W: w, Args: args})
}

// commutative orders the arguments.
func (p *Pool) commutative(op Op, w int, a, b *Term) *Term {
	if a.id > b.id {
		a, b = b, a
	}
	return p.node(op, w, a, b)
}

// deriveBounds derives the bounds of the value from the arguments.
func (t *Term) deriveBounds(p *Pool) {
	// Start with all that the width allows, and narrow it by the operation.
	m := mask(t.W)
	t.lo, t.hi, t.maybe = 0, m, m
	switch t.Op {
	case Const:
		t.lo, t.hi, t.maybe = t.Val, t.Val, t.Val
		return
	case Map:
		t.boundMap(p)
		return
	case Sum:
		t.lo, t.hi = boundSum(t)
	// A product is bounded if it can't overflow.
	case Mul:
		if over, low := bits.Mul64(t.Args[0].hi, t.Args[1].hi); over == 0 && low <= m {
			t.lo, t.hi = t.Args[0].lo*t.Args[1].lo, low
		}
	case UDiv:
		if d := t.Args[1]; d.lo > 0 {
			t.lo, t.hi = t.Args[0].lo/d.hi, t.Args[0].hi/d.lo
		}
	case URem:
		t.hi = t.Args[0].hi
		if d := t.Args[1]; d.lo > 0 {
			t.hi = min(t.hi, d.hi-1)
		}
	case Lshr:
		t.hi = t.Args[0].hi
	case Ite:
		t.lo, t.hi = min(t.Args[1].lo, t.Args[2].lo), max(t.Args[1].hi, t.Args[2].hi)
		t.maybe = t.Args[1].maybe | t.Args[2].maybe
	default:
		t.boundBits()
	}
	// The greatest value bounds the bits, and the bits bound the greatest value.
	if n := bits.Len64(t.hi); n < 64 {
		t.maybe &= 1<<n - 1
	}
	t.hi = min(t.hi, t.maybe)
}

// boundBits derives the bounds of operations on bits.
func (t *Term) boundBits() {
	// maybe has the bits that can be set, lo and hi are the least and the greatest value. Other
	// bounds stay as wide as they can be.
	switch t.Op {
	case And:
		// The conjunction of truth values has more arguments and needs no bounds.
		if t.W > 1 {
			t.maybe = t.Args[0].maybe & t.Args[1].maybe
		}
	case Or, Xor:
		t.maybe = t.Args[0].maybe | t.Args[1].maybe
		if t.Op == Or {
			t.lo = max(t.Args[0].lo, t.Args[1].lo)
		}
	case Not:
		t.lo, t.hi = mask(t.W)&^t.Args[0].hi, mask(t.W)&^t.Args[0].lo
	case Extract:
		t.maybe = t.Args[0].maybe >> t.Val & mask(t.W)
		// The bounds hold only if no bit above the extracted ones can be set.
		if t.Args[0].hi>>t.Val <= mask(t.W) {
			t.lo, t.hi = t.Args[0].lo>>t.Val, t.Args[0].hi>>t.Val
		}
	case Concat:
		t.lo, t.hi, t.maybe = 0, 0, 0
		for _, a := range t.Args {
			t.lo, t.hi, t.maybe = shl(t.lo, a.W)|a.lo, shl(t.hi, a.W)|a.hi, shl(t.maybe, a.W)|a.maybe
		}
	}
}

func (t *Term) boundMap(p *Pool) {
	tab := p.tables[t.Val]
	t.lo, t.hi, t.maybe = slices.Min(tab), slices.Max(tab), 0
	for _, v := range tab {
		t.maybe |= v
	}
}

// boundSum is exact arithmetic on the bounds; a sum that may wrap has none.
func boundSum(t *Term) (lo, hi uint64) {
	m := mask(t.W)
	var plusLo, plusHi, minusLo, minusHi, over uint64
	add := func(to *uint64, c, v uint64) {
		o, low := bits.Mul64(c, v)
		var carry uint64
		*to, carry = bits.Add64(*to, low, 0)
		over |= o | carry
	}
	for i, a := range t.Args {
		if c := t.Coef[i]; c > m>>1 {
			c = (-c) & m
			add(&minusLo, c, a.lo)
			add(&minusHi, c, a.hi)
		} else {
			add(&plusLo, c, a.lo)
			add(&plusHi, c, a.hi)
		}
	}
	if t.Val > m>>1 && minusHi+plusHi > 0 && plusLo < (-t.Val)&m+minusHi {
		// A large constant is read as itself, unless the sum stays above zero with it as a negative
		// one.
		add(&plusLo, 1, t.Val)
		add(&plusHi, 1, t.Val)
	} else if t.Val > m>>1 {
		add(&minusLo, 1, (-t.Val)&m)
		add(&minusHi, 1, (-t.Val)&m)
	} else {
		add(&plusLo, 1, t.Val)
		add(&plusHi, 1, t.Val)
	}
	if over != 0 || plusLo < minusHi || plusHi-minusLo > m {
		return 0, m
	}
	return plusLo - minusHi, plusHi - minusLo
}

func shl(v uint64, n int) uint64 {
	if n >= 64 {
		return 0
	}
	return v << n
}
