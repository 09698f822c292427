package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// digitPairs (catalogue L1 for divisions) matches a loop that takes a number apart, one digit a
// turn. It puts a loop in front that takes two, as long as the number has them.
var digitPairs = &mutate.Mutator{
	Name: "digit-pairs",
	Doc: "Take two digits of a number at once. Each division waits for the one before; dividing by the square of " +
		"the base halves their number, and the digits of a pair are found meanwhile. Exact: the body uses the " +
		"number only for its last digit, and the old loop takes what is left.",
	Before: `for n >= 10 {
	i--
	buf[i] = byte(n%10) + '0'
	n /= 10
}`,
	After: `for n >= 100 { // two digits a turn
	pair := n % 100
	n /= 100
	i--
	buf[i] = byte(pair%10) + '0'
	i--
	buf[i] = byte(pair/10) + '0'
}
for n >= 10 { ... }`,
	Class:   beagle.E0,
	Gain:    1.3,
	Find:    findDigitPairs,
	Rewrite: precomputed,
}

// largestBase bounds the bases of digits. Squares of larger ones are no usual divisors.
const largestBase = 64

func findDigitPairs(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[*ast.ForStmt](p, nil) {
		fn := p.FuncOf(s)
		if s.Init != nil || fn == nil || !hot(p, s) || labelled(p, s) || jumpsAbout(p, fn) || hasDefer(p, fn.Body) {
			continue
		}
		list, at := p.Siblings(s)
		if at < 0 || at > 0 && takesPairs(p, list[at-1], s) {
			continue
		}
		if text := digitLoop(p, s); text != "" {
			sites = append(sites, site(s, "digits of "+p.Text(s.Cond.(*ast.BinaryExpr).X), before(p, s, text)))
		}
	}
	return sites
}

// takesPairs reports whether a statement is a loop that another follows for the rest of a number.
func takesPairs(p *mutate.Pass, s ast.Stmt, next *ast.ForStmt) bool {
	loop, ok := s.(*ast.ForStmt)
	if !ok {
		return false
	}
	a, isTest := loop.Cond.(*ast.BinaryExpr)
	b, isNext := next.Cond.(*ast.BinaryExpr)
	return isTest && isNext && p.Var(a.X) != nil && p.Var(a.X) == p.Var(b.X)
}

// digitLoop writes the loop that takes pairs, or "".
func digitLoop(p *mutate.Pass, s *ast.ForStmt) string {
	cond, ok := s.Cond.(*ast.BinaryExpr)
	if !ok {
		return ""
	}
	v := p.Var(cond.X)
	if v == nil || !facts.IsLocal(p, v) || facts.Captured.Of(p)[v] || takesAddress(p, v, p.FuncOf(s)) {
		return ""
	}
	b, ok := types.Unalias(v.Type()).(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 {
		return ""
	}
	base, rest := withoutDivision(p, s, v)
	if base < 3 || base > largestBase || base&(base-1) == 0 || !fitsIn(constant.MakeInt64(base*base), v.Type()) ||
		!holdsFrom(p, cond, base) || !digitsOnly(p, s, v, base, rest) {
		return ""
	}
	name, pair := v.Name(), p.Fresh("pair", "digits")
	open, end := "", "\n"
	if declares(rest) {
		open, end = "{\n", "\n}\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "for %s >= %d { // two digits a turn\n%s := %s %% %d\n%s /= %d\n", name, base*base, pair, name,
		base*base, name, base*base)
	for _, op := range []string{"%", "/"} {
		out.WriteString(open)
		for _, st := range rest {
			out.WriteString(p.TextWith(st, func(n ast.Node) (string, bool) {
				e, ok := n.(ast.Expr)
				if !ok || !lastDigit(p, e, v, base) {
					return "", false
				}
				return fmt.Sprintf("%s %s %d", pair, op, base), true
			}) + "\n")
		}
		out.WriteString(strings.TrimPrefix(end, "\n"))
	}
	return out.String() + "}"
}

// takesAddress reports whether code takes a variable's address.
func takesAddress(p *mutate.Pass, v *types.Var, root ast.Node) bool {
	for _, id := range p.Uses(v, root) {
		if u, ok := p.Parent(id).(*ast.UnaryExpr); ok && u.Op == token.AND {
			return true
		}
	}
	return false
}

// withoutDivision finds the one statement that divides a number by a constant, and returns that with
// the other statements of the body. The base is 0 if there is none.
func withoutDivision(p *mutate.Pass, s *ast.ForStmt, v *types.Var) (base int64, rest []ast.Stmt) {
	note := func(st ast.Stmt) bool {
		n, ok := divides(p, st, v)
		if !ok {
			return false
		}
		if base != 0 {
			n = -1 // a second one
		}
		base = n
		return true
	}
	for _, st := range s.Body.List {
		if !note(st) {
			rest = append(rest, st)
		}
	}
	if s.Post != nil && !note(s.Post) {
		return 0, nil
	}
	return base, rest
}

// divides reads `n /= c` and `n = n / c`.
func divides(p *mutate.Pass, st ast.Stmt, v *types.Var) (int64, bool) {
	if lhs, rhs, ok := assigned(st, token.QUO_ASSIGN); ok && p.Var(lhs) == v {
		return p.Int(rhs)
	}
	lhs, rhs, ok := assigned(st, token.ASSIGN)
	if !ok || p.Var(lhs) != v {
		return 0, false
	}
	q, ok := ast.Unparen(rhs).(*ast.BinaryExpr)
	if !ok || q.Op != token.QUO || p.Var(q.X) != v {
		return 0, false
	}
	return p.Int(q.Y)
}

// holdsFrom reports whether a test holds for all numbers from a base on.
func holdsFrom(p *mutate.Pass, cond *ast.BinaryExpr, base int64) bool {
	limit, ok := p.Int(cond.Y)
	switch cond.Op {
	case token.GTR:
		return ok && limit < base
	case token.GEQ:
		return ok && limit <= base
	case token.NEQ:
		return ok && limit == 0
	}
	return false
}

// digitsOnly reports whether the statements of a body take the last digit of a number, do nothing
// else with it, and run from top to end in each turn.
func digitsOnly(p *mutate.Pass, s *ast.ForStmt, v *types.Var, base int64, rest []ast.Stmt) bool {
	division := token.NoPos
	for _, st := range s.Body.List {
		if _, ok := divides(p, st, v); ok {
			division = st.Pos()
		}
	}
	if len(rest) == 0 {
		return false
	}
	used := 0
	for _, st := range rest {
		if !simple(st) || p.Effects(st).Jumps {
			return false
		}
		for range mutate.Nodes[*ast.FuncLit](p, st) {
			return false
		}
		for _, id := range p.Uses(v, st) {
			e, ok := p.Parent(id).(*ast.BinaryExpr)
			if !ok || !lastDigit(p, e, v, base) || division.IsValid() && id.Pos() > division {
				return false
			}
			used++
		}
	}
	return used > 0
}

// lastDigit recognises `n % base`.
func lastDigit(p *mutate.Pass, e ast.Expr, v *types.Var, base int64) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && b.Op == token.REM && p.Var(b.X) == v && p.IsInt(b.Y, base)
}
