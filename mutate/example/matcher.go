package example

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// A matcher compares Before with code, and binds in its Match what the names of Before stand for.
type matcher struct {
	*Match
	frozen  bool        // compares only, and binds nothing more
	spelled bool        // takes no name for its value
	head    *facts.Loop // whose sequence is compared
	// swapFirst tries swapped operands first. The first operands that match decide what parameters
	// stand for, and the other choice may be the one that fits the rest.
	swapFirst bool
}

func newMatcher(p *mutate.Pass, of *compiledPair) *matcher {
	return &matcher{Match: &Match{Pass: p, pair: of, bindings: newBindings()}}
}

// search yields every match of Before. It skips helpers of the kit: their slow path often is the
// code that the rule looks for.
func (p *compiledPair) search(pass *mutate.Pass, found func(*Match)) {
	// An example without statements matches expressions anywhere.
	if len(p.before.list) == 0 {
		for _, d := range pass.File.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && !isHelper(pass, fn) {
				p.searchExprs(pass, fn, found)
			}
		}
		return
	}
	// Try the statements of Before from each statement of each list on, in both orders of operands.
	m := newMatcher(pass, p)
	for _, list := range pass.Lists() {
		if isHelper(pass, pass.FuncOf(list[0])) {
			continue
		}
		for i := range list {
			n, ok := m.stmts(p.before.list, list[i:], false)
			if !ok {
				m.swapFirst = true
				n, ok = m.stmts(p.before.list, list[i:], false)
				m.swapFirst = false
			}
			// An expression in the next statement must follow if Before ends in one.
			if ok && n > 0 {
				m.list, m.Node = list[i:i+n], list[i]
				if p.before.expr == nil || i+n < len(list) && m.inStatement(list[i+n]) {
					found(m.Match)
					m = newMatcher(pass, p)
				}
			}
			m.undo(0)
		}
	}
}

// searchExprs looks for an expression of a function that is matched by the whole of Before.
func (p *compiledPair) searchExprs(pass *mutate.Pass, fn *ast.FuncDecl, found func(*Match)) {
	m := newMatcher(pass, p)
	for _, e := range mutate.Nodes[ast.Expr](pass, fn) {
		// A name alone is matched by everything, and a type is no value.
		if isName(e) || !pass.Info.Types[e].IsValue() && !isCall(e) {
			continue
		}
		if m.expr(p.before.expr, e) && m.yields(e) && !pass.Changes(e) && (!isStatement(pass, e) || p.staysCall()) {
			m.tail, m.Node = e, e
			found(m.Match)
			// A match keeps its Match; the next one gets a new one.
			m = newMatcher(pass, p)
		}
		m.undo(0)
	}
}

// isStatement reports whether a call stands as a statement, where only a call may stand.
func isStatement(pass *mutate.Pass, e ast.Expr) bool {
	up := pass.Parent(e)
	for paren, ok := up.(*ast.ParenExpr); ok; paren, ok = up.(*ast.ParenExpr) {
		up = pass.Parent(paren)
	}
	switch up.(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		return true
	}
	return false
}

// staysCall reports whether each After is a call of a function that may stand as a statement.
func (p *compiledPair) staysCall() bool {
	return !slices.ContainsFunc(p.ways, func(way *side) bool {
		call, ok := way.expr.(*ast.CallExpr)
		return !ok || way.codeOf(call) != nil || way.rule.info.Types[call.Fun].IsType() ||
			way.rule.info.Types[call.Fun].IsBuiltin()
	})
}

func isCall(e ast.Expr) bool {
	_, ok := e.(*ast.CallExpr)
	return ok
}

// isName reports whether an expression is matched elsewhere: within its parentheses, or where the
// variable that it names gets its value.
func isName(e ast.Expr) bool {
	switch e.(type) {
	case *ast.ParenExpr, *ast.Ident:
		return true
	}
	return false
}

// yields reports whether an expression has the type that Before returns, or a call the types.
func (m *matcher) yields(e ast.Expr) bool {
	// A rule replaces a value by one of the same type. Several values come from a call only.
	results, got := m.pair.before.sig.Results(), m.Pass.Info.TypeOf(e)
	if results.Len() == 1 {
		return m.fits(results.At(0).Type(), got)
	}
	several, ok := got.(*types.Tuple)
	if !ok || several.Len() != results.Len() {
		return false
	}
	for i := range results.Len() {
		if !m.fits(results.At(i).Type(), several.At(i).Type()) {
			return false
		}
	}
	return true
}

// inStatement finds the expression of Before in the statement after the matched ones. The
// statement must evaluate it once, whatever happens.
func (m *matcher) inStatement(s ast.Stmt) bool {
	for _, e := range mutate.Nodes[ast.Expr](m.Pass, s) {
		if isName(e) {
			// Only what is evaluated exactly once can be computed before the statement.
			continue
		}
		if at, ok := facts.Hoistable(m.Pass, e); !ok || at != s || m.Pass.Changes(e) {
			continue
		}
		if m.try(func() bool { return m.expr(m.pair.before.expr, e) && m.yields(e) }) {
			m.tail = e
			return true
		}
	}
	return false
}

var negated = map[token.Token]token.Token{token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ,
	token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR}

var mirrored = map[token.Token]token.Token{token.EQL: token.EQL, token.NEQ: token.NEQ, token.LSS: token.GTR,
	token.GTR: token.LSS, token.LEQ: token.GEQ, token.GEQ: token.LEQ}
