package calls

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// spliceCall (catalogue D4) matches a call of a helper that is too long for the compiler to inline,
// wherever the call comes first in its statement. It writes the helper's statements in front of
// that statement.
var spliceCall = &mutate.Mutator{
	Name: "splice-call",
	Doc: "Put the statements of a helper that is too long to be inlined in place of its call. It saves the call and " +
		"the copies of arguments and results, keeps values in registers that the helper would move to memory, and " +
		"lets other rewrites see both as one. Exact: arguments are evaluated once and in their order, and each " +
		"return sets the results and leaves the statements.",
	Example: mutate.Shows(`r := l.next()
if r == eof {`,
		`var r rune
inlined:
switch {
default:
	if l.pos >= len(l.input) {
		r = eof
		break inlined
	}
	... the other statements of next ...
}
if r == eof {`),
	Class:   beagle.E0,
	Gain:    1.08,
	Find:    findSplice,
	Rewrite: rewriteSplice,
}

// A splice is a call and the statement that it comes first in.
type splice struct {
	fn   *ast.FuncDecl
	call *ast.CallExpr
	stmt ast.Stmt // in a list
	init ast.Stmt // the init statement of stmt that is the call; nil if stmt is, or its expression begins with it
	sole bool     // the call is all that the statement evaluates
}

func findSplice(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for list, i := range facts.Statements(p) {
		for _, s := range leadingCalls(p, list[i]) {
			if facts.TakesTime(p, s.call) && !inFuncLit(p, s.call) && canSplice(p, s) {
				sites = append(sites, mutate.Site{Node: s.call, Label: "call of " + s.fn.Name.Name, Data: s})
			}
		}
	}
	return sites
}

// leadingCalls finds the calls of helpers that a statement evaluates before all else that matters:
// the first, and those that take its result.
func leadingCalls(p *mutate.Pass, s ast.Stmt) []*splice {
	// Find what the statement evaluates first. In an if or a switch that is the init statement if
	// there is one.
	var init ast.Stmt
	var first []ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		first = []ast.Expr{s.X}
	case *ast.AssignStmt:
		first = []ast.Expr{soleValue(p, s)}
	case *ast.ReturnStmt:
		first = s.Results
	case *ast.IfStmt:
		init, first = s.Init, []ast.Expr{s.Cond}
	case *ast.SwitchStmt:
		init, first = s.Init, []ast.Expr{s.Tag}
	}
	// An init other than an assignment has no value to be replaced.
	if init != nil {
		as, ok := init.(*ast.AssignStmt)
		if !ok {
			return nil
		}
		first = []ast.Expr{soleValue(p, as)}
	}
	var out []*splice
	// A call whose result is all that the statement takes needs no variable for it. In an init
	// statement only such a call can be replaced, since the rest stays where it is.
	for _, call := range leadingOf(p, first) {
		sp := &splice{stmt: s, init: init, call: call, fn: p.Decl(p.Callee(call))}
		sp.sole = len(first) == 1 && ast.Unparen(first[0]) == ast.Expr(call)
		if sp.fn != nil && (init == nil || sp.sole) {
			out = append(out, sp)
		}
	}
	return out
}

// soleValue is the only right side of an assignment whose left sides are variables, or nil.
func soleValue(p *mutate.Pass, s *ast.AssignStmt) ast.Expr {
	if len(s.Rhs) != 1 || s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		return nil
	}
	for _, l := range s.Lhs {
		if id, ok := l.(*ast.Ident); !ok || id.Name != "_" && p.Var(id) == nil && p.Info.Defs[id] == nil {
			return nil
		}
	}
	return s.Rhs[0]
}

// leadingOf are the calls that expressions evaluate in any case, and before which they evaluate
// nothing that another order would show: the first, and those around it of which it is an operand.
func leadingOf(p *mutate.Pass, list []ast.Expr) []*ast.CallExpr {
	for _, e := range list {
		if e == nil {
			return nil
		}
		if calls := leadingIn(p, ast.Unparen(e)); len(calls) > 0 || !facts.KeepsValueOver(p, e) {
			return calls
		}
	}
	return nil
}

// leadingIn returns the calls in an expression that run before anything else with an effect,
// innermost first: the operands of a call run before the call.
func leadingIn(p *mutate.Pass, e ast.Expr) []*ast.CallExpr {
	switch e := e.(type) {
	case *ast.CallExpr:
		switch p.Callee(e).(type) {
		case *types.Func:
			// A method's receiver is evaluated first. If it could change with the arguments, only
			// the call as a whole may move.
			sel, method := ast.Unparen(e.Fun).(*ast.SelectorExpr)
			if method && p.Info.Selections[sel] != nil && !facts.KeepsValueOver(p, sel.X) {
				return []*ast.CallExpr{e}
			}
			return append(leadingOf(p, e.Args), e)
		case *types.Builtin:
			return leadingOf(p, e.Args)
		}
		if p.Info.Types[e.Fun].IsType() {
			return leadingOf(p, e.Args)
		}
	case *ast.UnaryExpr:
		if e.Op != token.AND && e.Op != token.ARROW {
			return leadingOf(p, []ast.Expr{e.X})
		}
	case *ast.BinaryExpr:
		// The right side of && and || may never be evaluated.
		if e.Op == token.LAND || e.Op == token.LOR {
			return leadingOf(p, []ast.Expr{e.X})
		}
		return leadingOf(p, []ast.Expr{e.X, e.Y})
	case *ast.IndexExpr:
		return leadingOf(p, []ast.Expr{e.X, e.Index})
	}
	return nil
}

// Limits of the helpers that are spliced.
const (
	inlinedByCompiler = 55 // nodes of a function that the compiler inlines itself, by a careful guess
	callNodes         = 57 // what a call counts there
	splicedLines      = 60
)

// canSplice reports whether the helper's statements can stand in the caller.
func canSplice(p *mutate.Pass, s *splice) bool {
	caller := p.FuncOf(s.call)
	// A helper that would mean something else in another function, or be too much text there, stays
	// a call.
	if s.fn == caller || s.fn.Recv != nil || s.fn.Body == nil || s.fn.Type.TypeParams != nil ||
		facts.CallsItself(p, s.fn) ||
		facts.HasDefer(p, s.fn.Body) || facts.IsLabelled(p, s.fn.Body) || facts.LineCount(p, s.fn) > splicedLines ||
		// A small one the compiler inlines itself.
		inlineCost(p, s.fn.Body) < inlinedByCompiler || facts.UsesNameOrLabel(p, s.fn, "recover") ||
		len(s.fn.Body.List) == 0 {
		return false
	}
	sig := p.Info.Defs[s.fn.Name].(*types.Func).Signature()
	// Without a type parameter on either side, types can be written as they are.
	if sig.Variadic() || len(s.call.Args) != sig.Params().Len() || caller.Type.TypeParams != nil ||
		!s.sole && sig.Results().Len() != 1 {
		return false
	}
	// A return of the caller needs no variables for results without names.
	results := s.fn.Type.Results
	without := s.tail(p, sig) && sig.Results().At(0).Name() == ""
	if results != nil && !without && namesHidden(p, s.fn, results, s.stmt) {
		return false
	}
	return !namesHidden(p, s.fn, s.fn.Type.Params, s.stmt) && !freeNamesHidden(p, s.fn, s.stmt)
}

// tail reports whether the statement returns what the helper returns, so that its returns are the
// caller's.
func (s *splice) tail(p *mutate.Pass, sig *types.Signature) bool {
	ret, ok := s.stmt.(*ast.ReturnStmt)
	if !ok || !s.sole {
		return false
	}
	have := p.Info.Defs[p.FuncOf(ret).Name].(*types.Func).Signature().Results()
	if have.Len() != sig.Results().Len() {
		return false
	}
	// With identical types no conversion happens on the way out.
	for i := range have.Len() {
		if !types.Identical(have.At(i).Type(), sig.Results().At(i).Type()) {
			return false
		}
	}
	return true
}

// inlineCost is about what the compiler counts for the inlining of a body.
func inlineCost(p *mutate.Pass, body *ast.BlockStmt) int {
	n := 0
	ast.Inspect(body, func(node ast.Node) bool {
		switch node := node.(type) {
		case nil, *ast.BlockStmt, *ast.ParenExpr, *ast.ExprStmt:
			return true
		case *ast.CallExpr:
			if tv := p.Info.Types[node.Fun]; !tv.IsType() && !tv.IsBuiltin() {
				n += callNodes
			}
		}
		n++
		return true
	})
	return n
}
