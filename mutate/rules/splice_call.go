package rules

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
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
	Before: `r := l.next()
if r == eof {`,
	After: `var r rune
inlined:
switch {
default:
	if l.pos >= len(l.input) {
		r = eof
		break inlined
	}
	... the other statements of next ...
}
if r == eof {`,
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
	for list, i := range statements(p) {
		s, ok := leadingCall(p, list[i])
		if !ok || !hot(p, s.call) || inFuncLit(p, s.call) || !splicable(p, s) {
			continue
		}
		sites = append(sites, mutate.Site{Node: s.call, Label: "call of " + s.fn.Name.Name, Data: s})
	}
	return sites
}

// hot reports whether code may take a share of the time that is worth a rewrite: it runs in a loop,
// the profile shows it, or there is no profile, so that not even the target has a share. What
// initialises a variable of the package takes none.
func hot(p *mutate.Pass, n ast.Node) bool {
	return p.FuncOf(n) != nil && (p.InLoop(n) || p.Weight(n) >= 0.02 || p.Weight(p.Func) == 0)
}

// leadingCall finds the call of a helper that a statement evaluates before all else.
func leadingCall(p *mutate.Pass, s ast.Stmt) (*splice, bool) {
	out := &splice{stmt: s}
	var first ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		first = s.X
	case *ast.AssignStmt:
		first = soleValue(p, s)
	case *ast.ReturnStmt:
		if len(s.Results) == 1 {
			first = s.Results[0]
		}
	case *ast.IfStmt:
		out.init, first = s.Init, s.Cond
	case *ast.SwitchStmt:
		out.init, first = s.Init, s.Tag
	}
	if out.init != nil {
		as, ok := out.init.(*ast.AssignStmt)
		if !ok {
			return nil, false
		}
		first = soleValue(p, as)
	}
	if first == nil {
		return nil, false
	}
	out.call = leadingOf(first)
	if out.call == nil {
		return nil, false
	}
	out.fn, out.sole = p.Decl(p.Callee(out.call)), ast.Unparen(first) == ast.Expr(out.call)
	if out.fn == nil || out.init != nil && !out.sole {
		return nil, false
	}
	return out, true
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

// leadingOf is the call that an expression evaluates first and in any case, or nil.
func leadingOf(e ast.Expr) *ast.CallExpr {
	switch e := e.(type) {
	case *ast.CallExpr:
		return e
	case *ast.ParenExpr:
		return leadingOf(e.X)
	case *ast.UnaryExpr:
		if e.Op != token.AND && e.Op != token.ARROW {
			return leadingOf(e.X)
		}
	case *ast.BinaryExpr:
		return leadingOf(e.X)
	}
	return nil
}

// Limits of the helpers that are spliced.
const (
	inlinedByCompiler = 55 // nodes of a function that the compiler inlines itself, by a careful guess
	callNodes         = 57 // what a call counts there
	splicedLines      = 60
)

// splicable reports whether the helper's statements can stand in the caller.
func splicable(p *mutate.Pass, s *splice) bool {
	caller := p.FuncOf(s.call)
	if s.fn == caller || s.fn.Recv != nil || s.fn.Body == nil || s.fn.Type.TypeParams != nil || recursive(p, s.fn) ||
		hasDefer(p, s.fn.Body) || labelled(p, s.fn.Body) || lines(p, s.fn) > splicedLines ||
		size(p, s.fn.Body) < inlinedByCompiler || mentions(p, s.fn, "recover") || len(s.fn.Body.List) == 0 {
		return false
	}
	sig := p.Info.Defs[s.fn.Name].(*types.Func).Signature()
	if sig.Variadic() || len(s.call.Args) != sig.Params().Len() || caller.Type.TypeParams != nil ||
		!s.sole && sig.Results().Len() != 1 {
		return false
	}
	return !freeNamesHidden(p, s.fn, s.stmt)
}

// size is about what the compiler counts for the inlining of a body.
func size(p *mutate.Pass, body *ast.BlockStmt) int {
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
