package loops

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// A place is an index as a sum: of terms that count, of terms that are taken off, and of the
// literals together. Sums of type int wrap in any order alike.
type place struct {
	plus, minus []placeTerm
	plain       int64
}

// A placeTerm is the value of an expression, or the length of the list that it names.
type placeTerm struct {
	expr   ast.Expr
	length bool
}

// add adds an expression to a place, or takes it off. A term that was taken off goes away instead.
func (a *place) add(p *mutate.Pass, e ast.Expr, off bool) {
	e = ast.Unparen(e)
	// A sum is one of its operands, and the other added or taken off.
	if b, ok := e.(*ast.BinaryExpr); ok && (b.Op == token.ADD || b.Op == token.SUB) && p.Info.Types[e].Value == nil {
		a.add(p, b.X, off)
		a.add(p, b.Y, off != (b.Op == token.SUB))
		return
	}
	if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.INT {
		n, _ := p.Int(lit)
		if off {
			n = -n
		}
		a.plain += n
		return
	}
	t := placeTerm{expr: e}
	if call, ok := p.IsBuiltin(e, "len"); ok {
		t = placeTerm{ast.Unparen(call.Args[0]), true}
	}
	a.addTerm(p, t, off)
}

func (a *place) addTerm(p *mutate.Pass, t placeTerm, off bool) {
	to, against := &a.plus, &a.minus
	if off {
		to, against = against, to
	}
	if i := slices.IndexFunc(*against, func(x placeTerm) bool { return x.same(p, t) }); i >= 0 {
		*against = slices.Delete(*against, i, i+1)
		return
	}
	*to = append(*to, t)
}

func (t placeTerm) same(p *mutate.Pass, u placeTerm) bool {
	return t.length == u.length && p.Same(t.expr, u.expr)
}

// sum returns the sum of two places.
func (a place) sum(p *mutate.Pass, b place) place {
	out := place{slices.Clone(a.plus), slices.Clone(a.minus), a.plain + b.plain}
	for _, t := range b.plus {
		out.addTerm(p, t, false)
	}
	for _, t := range b.minus {
		out.addTerm(p, t, true)
	}
	return out
}

func (a place) negative() place { return place{a.minus, a.plus, -a.plain} }

// isConstant reports whether a place consists of literals only.
func (a place) isConstant() bool { return len(a.plus)+len(a.minus) == 0 }

// empty reports whether a place is 0.
func (a place) empty() bool { return a.isConstant() && a.plain == 0 }

// single returns the only term of a place, if it has one and no more.
func (a place) single() (t placeTerm, ok bool) {
	if len(a.plus) == 1 && len(a.minus) == 0 && a.plain == 0 {
		return a.plus[0], true
	}
	return t, false
}

// all reports whether a property holds for all terms.
func (a place) all(property func(placeTerm) bool) bool {
	return !slices.ContainsFunc(slices.Concat(a.plus, a.minus), func(t placeTerm) bool { return !property(t) })
}

// value returns the value of a place of constants.
func (a place) value(p *mutate.Pass) (n int64, ok bool) {
	n, ok = a.plain, true
	for i, t := range slices.Concat(a.plus, a.minus) {
		v, known := t.value(p)
		if i >= len(a.plus) {
			v = -v
		}
		n, ok = n+v, ok && known
	}
	return n, ok
}

// value returns the value of a constant that is the same on all systems.
func (t placeTerm) value(p *mutate.Pass) (int64, bool) {
	if t.length {
		return arrayLength(p.Info.TypeOf(t.expr))
	}
	n, ok := p.Int(t.expr)
	return n, ok && p.Values().Portable(t.expr)
}

// natural reports whether a place is never below 0: a sum of lengths is not, barring an overflow
// that no memory could hold.
func (a place) natural(p *mutate.Pass) bool {
	if n, ok := a.value(p); ok {
		return n >= 0
	}
	return a.plain >= 0 && len(a.minus) == 0 &&
		a.all(func(t placeTerm) bool { return t.length || facts.IsLength(p, t.expr) })
}

// text writes a place.
func (a place) text(p *mutate.Pass) string {
	var b strings.Builder
	for _, t := range a.plus {
		if b.Len() > 0 {
			b.WriteString("+")
		}
		b.WriteString(t.text(p))
	}
	if a.plain > 0 || a.isConstant() || a.plain != 0 && len(a.plus) == 0 {
		if b.Len() > 0 {
			b.WriteString("+")
		}
		b.WriteString(strconv.FormatInt(a.plain, 10))
	}
	for _, t := range a.minus {
		b.WriteString("-" + t.text(p))
	}
	if a.plain < 0 && len(a.plus) > 0 {
		b.WriteString(strconv.FormatInt(a.plain, 10))
	}
	return b.String()
}

// text writes a term so that it may stand in a sum.
func (t placeTerm) text(p *mutate.Pass) string {
	if t.length {
		return "len(" + p.Text(t.expr) + ")"
	}
	return edit.RightOperand(t.expr, p.Text(t.expr), token.ADD)
}
