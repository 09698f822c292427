package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// guardCall (part of catalogue C12) matches a call of a helper that does nothing unless a condition
// holds, with arguments that cost something to make. It asks the condition in front of the call.
var guardCall = &mutate.Mutator{
	Name: "guard-call",
	Doc: "Ask in front of a call whether the helper does anything, as assertions and messages of a level seldom do. " +
		"Their arguments are made in any case, even where the compiler puts the helper in place: a slice of " +
		"interfaces, and a copy on the heap of each value in it. Legal because the arguments have no effects and " +
		"cannot panic, and the condition is the helper's first question.",
	Before: `assertf(n >= 0, "n is %d in %q", n, text)`,
	After: `if !(n >= 0) {
	assertf(n >= 0, "n is %d in %q", n, text)
}`,
	Class:   beagle.E0,
	Gain:    1.5,
	Find:    findGuardCall,
	Rewrite: precomputed,
}

func findGuardCall(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for s := range mutate.Nodes[*ast.ExprStmt](p, nil) {
		call, ok := s.X.(*ast.CallExpr)
		if !ok || call.Ellipsis.IsValid() || !makesArguments(p, call) {
			continue
		}
		if _, at := p.Siblings(s); at < 0 {
			continue // the head of a loop has no room for an if
		}
		fn, _ := p.Callee(call).(*types.Func)
		if fn == nil || fn.Signature().Recv() != nil || fn.Signature().TypeParams() != nil {
			continue
		}
		test, not := firstQuestion(p.Decl(fn))
		if test == nil {
			continue
		}
		cond, ok := askedOutside(p, test, fn.Signature(), call)
		if !ok {
			continue
		}
		if not {
			cond = "!(" + cond + ")"
		}
		if up, asked := enclosing[*ast.IfStmt](p, s); asked && up.Init == nil && sameText(p.Text(up.Cond), cond) {
			continue
		}
		sites = append(sites, site(s, "call of "+fn.Name(), p.Replace(s, "if "+cond+" {\n"+p.Text(s)+"\n}")))
	}
	return sites
}

// makesArguments reports whether all arguments of a call are pure and one of them is made for it: a
// value in an interface, a variadic slice, or what a function or a concatenation yields.
func makesArguments(p *mutate.Pass, call *ast.CallExpr) bool {
	sig, ok := p.Info.TypeOf(call.Fun).(*types.Signature)
	if !ok {
		return false
	}
	made := sig.Variadic() && len(call.Args) >= sig.Params().Len()
	for i, arg := range call.Args {
		if !p.Pure(arg) {
			return false
		}
		made = made || worthHoisting(p, arg)
		if i < sig.Params().Len() {
			to := sig.Params().At(i).Type()
			boxed := types.IsInterface(to) && !types.IsInterface(p.Info.TypeOf(arg))
			made = made || boxed && p.Info.Types[arg].Value == nil
		}
	}
	return made
}

// firstQuestion returns the condition that a function asks first, and does nothing unless it holds,
// or, with not, unless it does not.
func firstQuestion(d *ast.FuncDecl) (test ast.Expr, not bool) {
	if d == nil || d.Body == nil || len(d.Body.List) == 0 || d.Type.Results != nil {
		return nil, false
	}
	s, ok := d.Body.List[0].(*ast.IfStmt)
	if !ok || s.Init != nil || s.Else != nil {
		return nil, false
	}
	if len(d.Body.List) == 1 {
		return s.Cond, false
	}
	if len(s.Body.List) != 1 {
		return nil, false
	}
	_, returns := s.Body.List[0].(*ast.ReturnStmt)
	if !returns {
		return nil, false
	}
	return s.Cond, true
}

// askedOutside writes a helper's condition in terms of a call. It must have no effects and call
// nothing, and its names must mean the same at the call.
func askedOutside(p *mutate.Pass, test ast.Expr, sig *types.Signature, call *ast.CallExpr) (string, bool) {
	if p.Effects(test).Writes {
		return "", false
	}
	for c := range mutate.Nodes[*ast.CallExpr](p, test) {
		if _, builtin := p.Callee(c).(*types.Builtin); !builtin {
			return "", false
		}
	}
	args := map[*types.Var]ast.Expr{}
	for i, arg := range call.Args {
		if i < sig.Params().Len() && !(sig.Variadic() && i >= sig.Params().Len()-1) {
			args[sig.Params().At(i)] = arg
		}
	}
	var out strings.Builder
	at := test.Pos()
	for id := range mutate.Nodes[*ast.Ident](p, test) {
		obj := p.Info.Uses[id]
		if v, ok := obj.(*types.Var); ok && v.IsField() {
			continue
		}
		v, _ := obj.(*types.Var)
		arg := args[v]
		switch {
		case obj == nil:
			return "", false
		case v != nil && facts.IsLocal(p, v) && arg == nil:
			return "", false // an argument of the variadic slice
		case arg == nil:
			if !facts.Means(p, call.Pos(), id.Name, obj) {
				return "", false
			}
			continue
		case !types.Identical(v.Type(), p.Info.TypeOf(arg)) && !isTruth(p, arg),
			p.Info.Types[arg].Value != nil && calculated(p, id):
			return "", false
		}
		out.WriteString(p.Between(at, id.Pos()))
		out.WriteString(asOperand(p, arg))
		at = id.End()
	}
	out.WriteString(p.Between(at, test.End()))
	return out.String(), true
}

// calculated reports whether an operator other than a comparison takes a value. A constant in its
// place would make the compiler calculate, without the parameter's type: 1/2 is no half.
func calculated(p *mutate.Pass, e ast.Expr) bool {
	for _, up := range p.Path(e) {
		switch up := up.(type) {
		case *ast.BinaryExpr:
			switch up.Op {
			case token.ADD, token.SUB, token.MUL, token.QUO, token.REM, token.AND, token.OR, token.XOR, token.SHL,
				token.SHR, token.AND_NOT:
				return true
			}
			return false
		case *ast.UnaryExpr:
			return up.Op != token.NOT
		case *ast.IndexExpr, *ast.SliceExpr, *ast.CallExpr:
			return true
		}
	}
	return false
}

// isTruth reports whether an expression is a comparison or another truth without a name for its
// type.
func isTruth(p *mutate.Pass, e ast.Expr) bool {
	b := p.Basic(e)
	return b == types.UntypedBool || b == types.Bool
}

// asOperand writes an expression so that any operator may stand beside it.
func asOperand(p *mutate.Pass, e ast.Expr) string {
	switch ast.Unparen(e).(type) {
	case *ast.Ident, *ast.BasicLit, *ast.SelectorExpr, *ast.CallExpr, *ast.IndexExpr:
		return p.Text(e)
	}
	return "(" + p.Text(e) + ")"
}

// sameText reports whether two expressions are equal apart from blanks and parentheses.
func sameText(a, b string) bool {
	bare := strings.NewReplacer(" ", "", "(", "", ")", "")
	return bare.Replace(a) == bare.Replace(b)
}
