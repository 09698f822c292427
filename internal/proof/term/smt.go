package term

import (
	"fmt"
	"io"
	"math/bits"
	"strings"
)

// Write prints the variables and definitions below the given truth values, and
// asserts each of them, in SMT-LIB. Variables are named v0, v1, ... after
// their place in [Pool.Vars].
func (p *Pool) Write(w io.Writer, asserted ...*Term) error {
	s := &smtWriter{pool: p, names: map[*Term]string{}}
	for i, v := range p.vars {
		s.names[v] = fmt.Sprintf("v%d", i)
	}
	// Each term is defined once by name, since it may be used often.
	for _, t := range p.orderTerms(asserted) {
		s.define(t)
	}
	for _, t := range asserted {
		fmt.Fprintf(&s.out, "(assert %s)\n", s.names[t])
	}
	_, err := io.WriteString(w, s.out.String())
	return err
}

// orderTerms returns terms and all terms below them, each after its arguments.
func (p *Pool) orderTerms(terms []*Term) (list []*Term) {
	// Find them with a stack of our own: terms are deep.
	need := map[*Term]bool{}
	stack := append([]*Term(nil), terms...)
	for len(stack) > 0 {
		t := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if !need[t] {
			need[t] = true
			stack = append(stack, t.Args...)
		}
	}
	// Terms in the order of their making have their arguments before them.
	for _, t := range p.all {
		if need[t] {
			list = append(list, t)
		}
	}
	return list
}

// An smtWriter writes terms of a pool in SMT-LIB.
type smtWriter struct {
	pool  *Pool
	names map[*Term]string // of the terms that are written
	out   strings.Builder
}

// define writes the declaration or the definition of a term, and gives it a name.
func (s *smtWriter) define(t *Term) {
	switch t.Op {
	case Var:
		fmt.Fprintf(&s.out, "(declare-const %s %s)\n", s.names[t], sortOf(t.W))
	case Const:
		s.names[t] = literal(t.W, t.Val)
	default:
		s.names[t] = fmt.Sprintf("t%d", t.id)
		fmt.Fprintf(&s.out, "(define-fun %s () %s %s)\n", s.names[t], sortOf(t.W), s.text(t))
	}
}

func sortOf(w int) string {
	if w == 1 {
		return "Bool"
	}
	return fmt.Sprintf("(_ BitVec %d)", w)
}

// literal writes a constant: one bit is a truth value, and hexadecimal is used where it can tell
// the width.
func literal(w int, v uint64) string {
	switch {
	case w == 1 && v == 1:
		return "true"
	case w == 1:
		return "false"
	case w%4 == 0:
		return fmt.Sprintf("#x%0*x", w/4, v)
	}
	return fmt.Sprintf("#b%0*b", w, v)
}

var smtNames = map[Op]string{Mul: "bvmul", UDiv: "bvudiv", URem: "bvurem", Or: "bvor", Xor: "bvxor", Shl: "bvshl",
	Lshr: "bvlshr",
	Ashr: "bvashr", Ite: "ite", Eq: "=", Ult: "bvult", Slt: "bvslt"}

// text writes a term's operation with the names of its arguments. Terms of one bit are truth values
// here, and vectors of one bit where bits are joined.
func (s *smtWriter) text(t *Term) string {
	arg := func(i int) string { return s.names[t.Args[i]] }
	vector := func(i int) string { // a truth value as a vector of one bit
		if t.Args[i].W == 1 {
			return "(ite " + arg(i) + " #b1 #b0)"
		}
		return arg(i)
	}
	// Operations of SMT-LIB take vectors, so for truth values each is written in its other form.
	switch t.Op {
	case Sum:
		return s.sum(t)
	case Not:
		if t.W == 1 {
			return "(not " + arg(0) + ")"
		}
		return "(bvnot " + arg(0) + ")"
	case And:
		all := make([]string, len(t.Args))
		for i := range t.Args {
			all[i] = arg(i)
		}
		if t.W == 1 {
			return "(and " + strings.Join(all, " ") + ")"
		}
		return "(bvand " + strings.Join(all, " ") + ")"
	case Concat:
		out := vector(0)
		for i := 1; i < len(t.Args); i++ {
			out = "(concat " + out + " " + vector(i) + ")"
		}
		return out
	case Extract:
		out := fmt.Sprintf("((_ extract %d %d) %s)", int(t.Val)+t.W-1, t.Val, arg(0))
		if t.W == 1 {
			return "(= " + out + " #b1)"
		}
		return out
	case SExt:
		return fmt.Sprintf("((_ sign_extend %d) %s)", t.W-t.Args[0].W, vector(0))
	case Map:
		return s.table(t)
	case Ite:
		return "(ite " + arg(0) + " " + arg(1) + " " + arg(2) + ")"
	}
	return "(" + smtNames[t.Op] + " " + arg(0) + " " + arg(1) + ")"
}

// sum writes a sum. A power of two is a shift, and a factor that is negative as a number with
// sign is subtracted: solvers do better with both.
func (s *smtWriter) sum(t *Term) string {
	out := ""
	if t.Val != 0 {
		out = literal(t.W, t.Val)
	}
	for i, a := range t.Args {
		k, x, op := t.Coef[i], s.names[a], "bvadd"
		// -k of the width is the smaller number if k is negative as a number with sign.
		if n := (-k) & mask(t.W); n < k {
			k, op = n, "bvsub"
		}
		switch {
		case k == 1:
		case k&(k-1) == 0:
			x = fmt.Sprintf("(bvshl %s %s)", x, literal(t.W, uint64(bits.TrailingZeros64(k))))
		default:
			x = fmt.Sprintf("(bvmul %s %s)", x, literal(t.W, k))
		}
		// The first part has nothing to be added to.
		switch {
		case out == "" && op == "bvadd":
			out = x
		case out == "":
			out = "(bvneg " + x + ")"
		default:
			out = fmt.Sprintf("(%s %s %s)", op, out, x)
		}
	}
	return out
}

// A run is neighbouring entries of a table that are the index plus a constant,
// or one constant.
type run struct {
	to    int // first index after it
	plus  bool
	delta uint64
}

// runs divides a table into runs that are constant, or rise with the index.
func (s *smtWriter) runs(t *Term) []run {
	tab, v := s.pool.tables[t.Val], t.Args[0]
	var out []run
	for i := 0; i < len(tab); {
		// Take the longer of the two from here on.
		flat, rise := i+1, i+1
		for flat < len(tab) && tab[flat] == tab[i] {
			flat++
		}
		for rise < len(tab) && v.W <= t.W && tab[rise] == tab[i]+uint64(rise-i) {
			rise++
		}
		r := run{to: flat, delta: tab[i]}
		if rise > flat {
			r = run{to: rise, plus: true, delta: (tab[i] - uint64(i)) & mask(t.W)}
		}
		out = append(out, r)
		i = r.to
	}
	return out
}

// table writes a table as a chain over its runs, or as a tree over the bits
// of the index when there are many.
func (s *smtWriter) table(t *Term) string {
	tab, v := s.pool.tables[t.Val], t.Args[0]
	name := s.names[v]
	if v.W == 1 {
		return fmt.Sprintf("(ite %s %s %s)", name, literal(t.W, tab[1]), literal(t.W, tab[0]))
	}
	list := s.runs(t)
	// Many runs would be a chain as long; a tree over the bits is flatter.
	if len(list) > 40 {
		return tree(tab, name, t.W, v.W-1)
	}
	wide := name
	if t.W > v.W {
		wide = fmt.Sprintf("((_ zero_extend %d) %s)", t.W-v.W, name)
	}
	// Write the chain from its end: each comparison chooses between its run and the rest.
	out := ""
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		e := literal(t.W, r.delta)
		if r.plus {
			e = fmt.Sprintf("(bvadd %s %s)", wide, e)
		}
		if out == "" {
			out = e
			continue
		}
		out = fmt.Sprintf("(ite (bvult %s %s) %s %s)", name, literal(v.W, uint64(r.to)), e, out)
	}
	return out
}

// tree writes a table as choices by the bits of the index, from the highest down. Halves of one
// value need none.
func tree(tab []uint64, name string, w, bit int) string {
	same := true
	for _, v := range tab {
		same = same && v == tab[0]
	}
	if same {
		return literal(w, tab[0])
	}
	half := len(tab) / 2
	return fmt.Sprintf("(ite (= ((_ extract %d %d) %s) #b1) %s %s)", bit, bit, name, tree(tab[half:], name, w, bit-1),
		tree(tab[:half], name, w, bit-1))
}
