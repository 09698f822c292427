package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A fact is a comparison, or another condition, that holds at a call. Its texts
// are those of the calling function.
type fact struct {
	x  string
	op token.Token // ILLEGAL: x is a condition that holds
	y  string

	left, right span // bounds of the operands on their own
}

var mirrored = map[token.Token]token.Token{
	token.LSS: token.GTR,
	token.GTR: token.LSS,
	token.LEQ: token.GEQ,
	token.GEQ: token.LEQ,
	token.EQL: token.EQL,
	token.NEQ: token.NEQ,
}

var negated = map[token.Token]token.Token{
	token.LSS: token.GEQ,
	token.GEQ: token.LSS,
	token.LEQ: token.GTR,
	token.GTR: token.LEQ,
	token.EQL: token.NEQ,
	token.NEQ: token.EQL,
}

// implied lists what a comparison says besides itself.
var implied = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.NEQ},
	token.GTR: {token.GEQ, token.NEQ},
	token.EQL: {token.LEQ, token.GEQ},
}

// branchFacts collects the facts that the statements around a call establish: the conditions of the
// branches that hold the call, of the branches that were left before it, and the bounds of range
// loops. It drops a fact if code could change its operands before the call.
func (v *prover) branchFacts(path []ast.Node) []fact {
	var out []fact
	if v.fn == nil || hasGoto(v.fn) {
		return nil
	}
	// Go from the function inwards, and collect what holds where the path goes on.
	for i, n := range path {
		if n == v.fn {
			out = nil // facts at the creation of a function literal need not hold at its call
		}
		if i+1 == len(path) {
			break
		}
		next := path[i+1]
		// A branch has its condition or the opposite of it.
		switch x := n.(type) {
		case *ast.IfStmt:
			if next == ast.Node(x.Body) {
				out = append(out, v.says(x.Cond, true, x.Body)...)
			} else if next == x.Else {
				out = append(out, v.says(x.Cond, false, x.Else)...)
			}
		case *ast.ForStmt:
			if next == ast.Node(x.Body) {
				if x.Cond != nil {
					out = append(out, v.says(x.Cond, true, x.Body)...)
				}
				out = append(out, v.counting(x)...)
			}
		case *ast.RangeStmt:
			if next == ast.Node(x.Body) {
				out = append(out, v.ranged(x)...)
			}
		// An earlier statement of a block may have left where a condition did not hold.
		case *ast.BlockStmt:
			out = append(out, v.passed(x, next)...)
		}
	}
	return out
}

// counting returns the least value of a loop's variable that only counts up.
func (v *prover) counting(x *ast.ForStmt) []fact {
	init, ok := x.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		return nil
	}
	post, ok := x.Post.(*ast.IncDecStmt)
	if !ok || post.Tok != token.INC || types.ExprString(post.X) != types.ExprString(init.Lhs[0]) ||
		!v.lasting(init.Lhs[0], x.Body) {
		return nil
	}
	from := v.boundsOf(init.Rhs[0])
	return []fact{{types.ExprString(init.Lhs[0]), token.GEQ, "", anySpan, span{from.lo, from.lo}}}
}

// passed returns the conditions under which a block goes on to next: no branch before it left the
// block.
func (v *prover) passed(b *ast.BlockStmt, next ast.Node) []fact {
	var out []fact
	for i, s := range b.List {
		if ast.Node(s) == next {
			break
		}
		x, ok := s.(*ast.IfStmt)
		// If the block goes on, the condition was false, and stays so as long as its parts do.
		if ok && x.Else == nil && leaves(x.Body) {
			rest := &ast.BlockStmt{List: b.List[i+1:]}
			out = append(out, v.says(x.Cond, false, rest)...)
		}
	}
	return out
}

// leaves reports whether a block never reaches its end.
func leaves(b *ast.BlockStmt) bool {
	if len(b.List) == 0 {
		return false
	}
	// The last statement decides. A goto may lead anywhere, and counts as staying.
	switch s := b.List[len(b.List)-1].(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	case *ast.ExprStmt:
		c, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		id, ok := c.Fun.(*ast.Ident)
		return ok && id.Name == "panic"
	}
	return false
}

// says splits a condition into facts that hold in a piece of code.
func (v *prover) says(cond ast.Expr, is bool, in ast.Node) []fact {
	cond = ast.Unparen(cond)
	switch x := cond.(type) {
	case *ast.UnaryExpr:
		if x.Op == token.NOT {
			return v.says(x.X, !is, in)
		}
	// Both parts of && hold if the whole does, and neither part of || holds if the whole does not.
	case *ast.BinaryExpr:
		if x.Op == token.LAND && is || x.Op == token.LOR && !is {
			return append(v.says(x.X, is, in), v.says(x.Y, is, in)...)
		}
		// A comparison becomes a fact about two texts, with their bounds at that place.
		if op := x.Op; mirrored[op] != 0 {
			if !is {
				op = negated[op]
			}
			if !v.lasting(cond, in) {
				return nil
			}
			return []fact{{v.callerText(x.X), op, v.callerText(x.Y), v.boundsOf(x.X), v.boundsOf(x.Y)}}
		}
	}
	if is && v.lasting(cond, in) {
		return []fact{{x: v.callerText(cond)}}
	}
	return nil
}

// boundsOf returns the bounds of an operand without facts.
func (v *prover) boundsOf(e ast.Expr) span {
	if !syntax.IsInteger(v.info.TypeOf(e)) {
		return anySpan
	}
	without := *v
	without.facts = nil
	return without.boundAtCall(e)
}

// ranged returns the bounds of a range loop's index.
func (v *prover) ranged(x *ast.RangeStmt) []fact {
	key, ok := x.Key.(*ast.Ident)
	// Neither the index nor what is ranged over may change, or the bound means nothing.
	if !ok || x.Tok != token.DEFINE || key.Name == "_" || !v.lasting(key, x.Body) || !v.lasting(x.X, x.Body) {
		return nil
	}
	least := fact{key.Name, token.GEQ, "0", anySpan, exactly(0)}
	switch t := v.info.TypeOf(x.X).Underlying().(type) {
	case *types.Slice, *types.Array:
		return []fact{least, {key.Name, token.LSS, "len(" + v.callerText(x.X) + ")", anySpan, v.length(x.X)}}
	case *types.Basic:
		if t.Info()&types.IsString != 0 {
			return []fact{least, {key.Name, token.LSS, "len(" + v.callerText(x.X) + ")", anySpan, v.length(x.X)}}
		}
		if t.Info()&types.IsInteger != 0 {
			return []fact{least, {key.Name, token.LSS, v.callerText(x.X), anySpan, v.boundsOf(x.X)}}
		}
	}
	return nil
}

// callerText returns the text by which facts know an expression of the caller.
func (v *prover) callerText(e ast.Expr) string { return types.ExprString(ast.Unparen(e)) }

// text writes an expression of a condition with the caller's names.
func (v *prover) text(e ast.Expr) string {
	e = ast.Unparen(e)
	if c, ok := e.(*ast.CallExpr); ok && len(c.Args) == 1 && types.ExprString(c.Fun) == "len" {
		if id, ok := ast.Unparen(c.Args[0]).(*ast.Ident); ok && v.values[id.Name].expr != nil {
			return v.lengthText(v.values[id.Name].expr)
		}
	}
	expr, ok := v.put(e)
	if !ok {
		return ""
	}
	return expr
}

// lengthText names the length of an argument by the expression that decides it.
func (v *prover) lengthText(e ast.Expr) string {
	e = ast.Unparen(e)
	if id, ok := e.(*ast.Ident); ok {
		if def, ok := ast.Unparen(v.definition(id)).(*ast.CallExpr); ok && def != nil && len(def.Args) > 1 &&
			types.ExprString(def.Fun) == "make" {
			return v.callerText(def.Args[1])
		}
	}
	return "len(" + v.callerText(e) + ")"
}

// put writes a condition with the arguments in place of the parameters.
func (v *prover) put(e ast.Expr) (string, bool) {
	// Write the expression anew, with arguments for parameters. An argument that is unknown has no
	// text.
	ok := true
	var write func(e ast.Expr) string
	write = func(e ast.Expr) string {
		switch x := e.(type) {
		case *ast.Ident:
			if p, is := v.values[x.Name]; is {
				if p.expr == nil {
					ok = false
					return ""
				}
				return v.callerText(p.expr)
			}
			return x.Name
		case *ast.BasicLit:
			return x.Value
		case *ast.ParenExpr:
			return "(" + write(x.X) + ")"
		case *ast.UnaryExpr:
			return x.Op.String() + write(x.X)
		case *ast.BinaryExpr:
			return write(x.X) + " " + x.Op.String() + " " + write(x.Y)
		case *ast.SelectorExpr:
			return write(x.X) + "." + x.Sel.Name
		case *ast.CallExpr:
			var args []string
			for _, a := range x.Args {
				args = append(args, write(a))
			}
			return write(x.Fun) + "(" + strings.Join(args, ", ") + ")"
		}
		ok = false
		return ""
	}
	text := write(e)
	return text, ok
}

// isFact reports whether a fact is this very condition.
func (v *prover) isFact(e ast.Expr) bool {
	text, ok := v.put(e)
	return ok && slices.ContainsFunc(v.facts, func(f fact) bool { return f.op == token.ILLEGAL && f.x == text })
}

// related reports whether a comparison of two texts follows from a fact, or
// from the two being the same.
func (v *prover) related(x string, op token.Token, y string) bool {
	if x == "" || y == "" || strings.Contains(x, "<-") {
		return false
	}
	if x == y && !strings.ContainsAny(x, "()") || x == y && strings.HasPrefix(x, "len(") && strings.Count(x, "(") == 1 {
		return op == token.LEQ || op == token.GEQ || op == token.EQL
	}
	says := func(have, want token.Token) bool { return have == want || slices.Contains(implied[have], want) }
	return slices.ContainsFunc(v.facts, func(f fact) bool {
		return f.op != token.ILLEGAL &&
			(f.x == x && f.y == y && says(f.op, op) || f.x == y && f.y == x && says(mirrored[f.op], op))
	})
}

// bounded returns the bounds that facts give the value of a text.
func (v *prover) bounded(text string) span {
	out := anySpan
	// Take the facts about this text, with the text on the left.
	for _, f := range v.facts {
		op, other := f.op, f.right
		if f.y == text {
			op, other = mirrored[f.op], f.left
		} else if f.x != text {
			continue
		}
		// A strict comparison moves the bound by one, unless there is no bound.
		switch op {
		case token.LSS:
			if other.hi != anySpan.hi {
				out.hi = min(out.hi, other.hi-1)
			}
		case token.LEQ:
			out.hi = min(out.hi, other.hi)
		case token.GTR:
			if other.lo != anySpan.lo {
				out.lo = max(out.lo, other.lo+1)
			}
		case token.GEQ:
			out.lo = max(out.lo, other.lo)
		case token.EQL:
			out = out.intersect(other)
		}
	}
	return out
}
