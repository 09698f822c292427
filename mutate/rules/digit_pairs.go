package rules

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// digitPairs (catalogue N3 for digits) matches a loop that writes a number, one digit a turn. It puts
// a loop in front that writes two from a table, as long as the number has them.
var digitPairs = &mutate.Mutator{
	Name: "digit-pairs",
	Doc: "Write two digits of a number at once from a table of pairs. Dividing by the square of the base halves the " +
		"divisions, and the table saves those that part a pair. Exact: the body uses the number only for the " +
		"character of its last digit, and the old loop takes what is left.",
	Before: `for n >= 10 {
	i--
	buf[i] = byte(n%10) + '0'
	n /= 10
}`,
	After: `for n >= 100 { // two digits a turn
	pair := n % 100 * 2
	n /= 100
	i--
	buf[i] = digitPairs[pair+1]
	i--
	buf[i] = digitPairs[pair]
}
for n >= 10 { ... }`,
	Class:   beagle.E0,
	Gain:    1.15,
	Find:    findDigitPairs,
	Rewrite: precomputed,
}

// largestBase bounds the bases of digits, so that a table of pairs has 512 bytes at most.
const largestBase = 16

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
		name := p.Fresh("digitPairs", "pairsOfDigits")
		if text, table := digitLoop(p, s, name); text != "" {
			decl := fmt.Sprintf("// %s holds the characters of each pair of digits.\nconst %s = %s", name, name,
				strconv.Quote(table))
			sites = append(sites, site(s, "digits of "+p.Text(s.Cond.(*ast.BinaryExpr).X), before(p, s, text),
				p.Declare(fn, decl)))
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

// digitLoop writes the loop that takes pairs from a table with a name, and what the table holds. Both
// are empty if the loop cannot.
func digitLoop(p *mutate.Pass, s *ast.ForStmt, name string) (text, table string) {
	cond, ok := s.Cond.(*ast.BinaryExpr)
	if !ok {
		return "", ""
	}
	v := p.Var(cond.X)
	if v == nil || !facts.IsLocal(p, v) || facts.Captured.Of(p)[v] || takesAddress(p, v, p.FuncOf(s)) {
		return "", ""
	}
	b, ok := types.Unalias(v.Type()).(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 {
		return "", ""
	}
	base, rest := withoutDivision(p, s, v)
	if base < 3 || base > largestBase || base&(base-1) == 0 ||
		!fitsIn(constant.MakeInt64(2*base*base), v.Type()) || !holdsFrom(p, cond, base) {
		return "", ""
	}
	digit := digitOnly(p, s, v, base, rest)
	if digit == nil {
		return "", ""
	}
	characters := charactersOf(p, digit, v, base)
	for i := range len(characters) * len(characters) {
		table += string([]byte{characters[i/len(characters)], characters[i%len(characters)]})
	}
	pair := p.Fresh("pair", "digits")
	open, end := "", ""
	if declares(rest) {
		open, end = "{\n", "}\n"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "for %[1]s >= %[2]d { // two digits a turn\n%[3]s := %[1]s %% %[2]d * 2\n%[1]s /= %[2]d\n", v.Name(),
		base*base, pair)
	for _, at := range []string{pair + "+1", pair} {
		out.WriteString(open)
		for _, st := range rest {
			out.WriteString(p.TextWith(st, func(n ast.Node) (string, bool) {
				return name + "[" + at + "]", n == ast.Node(digit)
			}) + "\n")
		}
		out.WriteString(end)
	}
	return out.String() + "}", table
}

// charactersOf evaluates a byte for each digit, or returns nil.
func charactersOf(p *mutate.Pass, e ast.Expr, v *types.Var, base int64) (out []byte) {
	for d := range base {
		digit, _ := valueOf(constant.MakeInt64(d), v.Type())
		c, err := p.Eval(e, map[*types.Var]mutate.Value{v: digit})
		n, ok := c.(uint64)
		if err != nil || !ok {
			return nil
		}
		out = append(out, byte(n))
	}
	return out
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

// digitOnly finds the byte that statements of a body make of a number's last digit. It is nil if they
// do anything else with the number, or may end a turn early.
func digitOnly(p *mutate.Pass, s *ast.ForStmt, v *types.Var, base int64, rest []ast.Stmt) (digit ast.Expr) {
	division := token.NoPos
	for _, st := range s.Body.List {
		if _, ok := divides(p, st, v); ok {
			division = st.Pos()
		}
	}
	for _, st := range rest {
		if !simple(st) || p.Effects(st).Jumps {
			return nil
		}
		for range mutate.Nodes[*ast.FuncLit](p, st) {
			return nil
		}
		for _, id := range p.Uses(v, st) {
			e, ok := p.Parent(id).(*ast.BinaryExpr)
			if !ok || digit != nil || !lastDigit(p, e, v, base) || division.IsValid() && id.Pos() > division {
				return nil
			}
			if digit = byteAround(p, e, v, base); digit == nil {
				return nil
			}
		}
	}
	return digit
}

// byteAround finds the largest expression around another that is a byte and depends on a variable
// and constants only.
func byteAround(p *mutate.Pass, e ast.Expr, v *types.Var, base int64) (out ast.Expr) {
	for _, up := range p.Path(e) {
		around, ok := up.(ast.Expr)
		if !ok {
			break
		}
		if !isBasic(p, around, types.Uint8) || charactersOf(p, around, v, base) == nil {
			continue
		}
		out = around
	}
	return out
}

// lastDigit recognises `n % base`.
func lastDigit(p *mutate.Pass, e ast.Expr, v *types.Var, base int64) bool {
	b, ok := e.(*ast.BinaryExpr)
	return ok && b.Op == token.REM && p.Var(b.X) == v && p.IsInt(b.Y, base)
}
