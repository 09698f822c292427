package loops

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// This file evaluates conditions for all characters beyond ASCII at once.

// A truth is the value of a condition for every character beyond ASCII.
type truth int

const (
	no truth = iota
	maybe
	yes
)

// truth evaluates a condition. ok is false if the condition has effects, or uses the character
// other than in a comparison with an ASCII constant.
func (w *wideRune) truth(e ast.Expr) (truth, bool) {
	// A constant condition is decided.
	e = ast.Unparen(e)
	if value := w.p.Info.Types[e].Value; value != nil && value.Kind() == constant.Bool {
		if constant.BoolVal(value) {
			return yes, true
		}
		return no, true
	}
	// Variables with a known answer, negations and the two connectives are decided by their parts.
	// Since maybe lies in the middle, yes minus t is the opposite of t.
	switch e := e.(type) {
	case *ast.Ident:
		if t, ok := w.known[w.p.Var(e)]; ok {
			return t, true
		}
	case *ast.UnaryExpr:
		if e.Op == token.NOT {
			t, ok := w.truth(e.X)
			return yes - t, ok
		}
	case *ast.BinaryExpr:
		if e.Op == token.LAND || e.Op == token.LOR {
			return w.both(e)
		}
	}
	// A condition without the character may go either way, which is no obstacle if it has no
	// effects.
	if !w.depends(e) {
		return maybe, w.p.Pure(e)
	}
	// All other conditions ask about the character itself.
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return w.compare(e)
	case *ast.CallExpr:
		return w.ask(e)
	}
	return maybe, false
}

// depends reports whether a condition uses the character, under any name.
func (w *wideRune) depends(e ast.Expr) bool {
	for v := range w.bounds {
		if len(w.p.Uses(v, e)) > 0 {
			return true
		}
	}
	return len(w.p.Uses(w.v, e)) > 0
}

// both evaluates && and ||.
func (w *wideRune) both(e *ast.BinaryExpr) (truth, bool) {
	a, ok := w.truth(e.X)
	if !ok || e.Op == token.LAND && a == no || e.Op == token.LOR && a == yes {
		return a, ok
	}
	b, ok := w.truth(e.Y)
	if e.Op == token.LAND {
		return min(a, b), ok
	}
	return max(a, b), ok
}

// ask evaluates a function of the candidate that looks at the character alone, or a search in a
// constant text of ASCII.
func (w *wideRune) ask(call *ast.CallExpr) (truth, bool) {
	// A character beyond ASCII is in no set of ASCII.
	if _, ok := w.p.IsCall(call, "strings", "ContainsRune"); ok && len(call.Args) == 2 && w.p.Var(call.Args[1]) == w.v {
		set, constant := facts.ConstString(w.p, call.Args[0])
		return no, constant && edit.IsASCII(set)
	}
	fn := w.p.Decl(w.p.Callee(call))
	if fn == nil || w.depth > 3 || len(call.Args) != 1 || w.p.Var(call.Args[0]) != w.v || !asksNumber(w.p, fn) {
		return maybe, false
	}
	param := w.p.Info.Defs[fn.Name].(*types.Func).Signature().Params().At(0)
	// The body speaks of the character only while the parameter is the character.
	if w.p.Assigned(param, fn) || facts.Captured.Of(w.p)[param] {
		return maybe, false
	}
	inner := wideRune{p: w.p, v: param, known: map[*types.Var]truth{}, depth: w.depth + 1,
		bounds: map[*types.Var]int64{}}
	return inner.answer(fn.Body.List)
}

// asksNumber reports whether a function takes one whole number, answers yes or no, and changes
// nothing. It may read what it likes: only its answer beyond ASCII matters, which is then decided.
func asksNumber(p *mutate.Pass, fn *ast.FuncDecl) bool {
	return facts.IntegerToBool(p, fn) && !p.Effects(fn.Body).Writes
}

// notes follows the declaration of a variable that grows with the character.
func (w *wideRune) notes(s *ast.AssignStmt) bool {
	d, ok := facts.Declares(w.p, s)
	if !ok || d.Value == nil || w.p.Assigned(d.Var, w.p.FuncOf(s)) || facts.Captured.Of(w.p)[d.Var] ||
		w.addressed(d.Var) {
		return false
	}
	n, ok := w.least(d.Value)
	if ok {
		w.bounds[d.Var] = n
	}
	return ok
}

// answer follows the body of a predicate up to its answer.
func (w *wideRune) answer(list []ast.Stmt) (truth, bool) {
	// Follow the one path that a wide character takes. Every condition on it must be decided.
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ReturnStmt:
			if len(s.Results) != 1 {
				return maybe, false
			}
			return w.truth(s.Results[0])
		case *ast.IfStmt:
			value, ok := w.truth(s.Cond)
			if !ok || s.Init != nil || value == maybe || s.Else != nil {
				return maybe, false
			}
			// An if whose condition does not hold is skipped.
			if value == yes {
				return w.answer(s.Body.List)
			}
		// An assignment may note an answer or a bound for later.
		case *ast.AssignStmt:
			if !w.notes(s) {
				return maybe, false
			}
		// A switch without a matching arm is skipped as well.
		case *ast.SwitchStmt:
			arm, ok := w.taken(s)
			if !ok {
				return maybe, false
			}
			if arm != nil {
				return w.answer(arm.Body)
			}
		default:
			return maybe, false
		}
	}
	return maybe, false
}

// taken returns the case that a character beyond ASCII takes in a switch, or nil if it takes none.
func (w *wideRune) taken(s *ast.SwitchStmt) (*ast.CaseClause, bool) {
	// The tag is the character or missing.
	onRune := s.Tag != nil && w.p.Var(s.Tag) == w.v
	if s.Init != nil || s.Tag != nil && !onRune {
		return nil, false
	}
	var otherwise *ast.CaseClause
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if clause.List == nil {
			otherwise = clause
			continue
		}
		// A case that may or may not match leaves the rest undecided.
		value, ok := w.matches(clause, onRune)
		if !ok || value == maybe {
			return nil, false
		}
		if value == yes {
			return clause, true
		}
	}
	return otherwise, true
}

// compare evaluates e == c, e < c and so on for an e that grows with v and a constant below it.
func (w *wideRune) compare(e *ast.BinaryExpr) (truth, bool) {
	// Bring the constant to the right.
	x, y, op := e.X, e.Y, e.Op
	if w.p.Info.Types[x].Value != nil {
		x, y = y, x
		op = map[token.Token]token.Token{token.LSS: token.GTR, token.GTR: token.LSS, token.LEQ: token.GEQ,
			token.GEQ: token.LEQ, token.EQL: token.EQL, token.NEQ: token.NEQ}[op]
	}
	// Below the smallest value of e, the constant decides each comparison. At the smallest value
	// only < and >= are decided.
	least, ok := w.least(x)
	c, constant := w.p.Int(y)
	if !ok || !constant || c < 0 || c > least || c == least && op != token.LSS && op != token.GEQ {
		return maybe, false
	}
	switch op {
	case token.EQL, token.LSS, token.LEQ:
		return no, true
	case token.NEQ, token.GTR, token.GEQ:
		return yes, true
	}
	return maybe, false
}

// least returns the smallest value of an expression for v >= 0x80: of v itself, of v with other
// bits of ASCII, and of v less a constant. ok is false for any other expression.
func (w *wideRune) least(e ast.Expr) (n int64, ok bool) {
	e = ast.Unparen(e)
	// The character is at least 0x80. A variable may have a known bound.
	if w.p.Var(e) == w.v {
		return 0x80, true
	}
	if n, ok := w.bounds[w.p.Var(e)]; ok {
		return n, true
	}
	switch e := e.(type) {
	// Setting or clearing bits of ASCII keeps the value at 0x80 or above. Subtracting less than
	// that keeps it positive.
	case *ast.BinaryExpr:
		c, constant := w.p.Int(e.Y)
		if !constant || c < 0 || c >= 0x80 {
			return 0, false
		}
		switch e.Op {
		case token.OR, token.AND_NOT:
			return 0x80, w.p.Var(e.X) == w.v
		case token.SUB:
			n, ok = w.least(e.X)
			return n - c, ok && n >= c
		}
	// A conversion to a type that holds all runes keeps the value.
	case *ast.CallExpr:
		if len(e.Args) != 1 || !w.p.Info.Types[e.Fun].IsType() {
			return 0, false
		}
		switch w.p.Basic(e) {
		case types.Int, types.Int32, types.Int64, types.Uint, types.Uint32, types.Uint64:
			return w.least(e.Args[0])
		}
	}
	return 0, false
}
