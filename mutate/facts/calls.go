package facts

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file says which functions code calls, and how the candidate declares and calls its own.

// CallsFunction reports whether code calls anything other than len and conversions.
func CallsFunction(p *mutate.Pass, e ast.Expr) bool {
	for _, call := range mutate.Nodes[*ast.CallExpr](p, e) {
		if _, isLen := p.IsBuiltin(call, "len"); !isLen && !p.Info.Types[call.Fun].IsType() {
			return true
		}
	}
	return false
}

// IsCalled reports whether a selector is the function of a call, and not a method value.
func IsCalled(p *mutate.Pass, sel *ast.SelectorExpr) bool {
	call, ok := p.Parent(sel).(*ast.CallExpr)
	return ok && ast.Unparen(call.Fun) == ast.Expr(sel)
}

// ParametersOf lists the parameters of a function without a receiver.
func ParametersOf(p *mutate.Pass, fn *ast.FuncDecl) []*types.Var {
	var out []*types.Var
	for _, f := range fn.Type.Params.List {
		for _, id := range f.Names {
			v, _ := p.Info.Defs[id].(*types.Var)
			out = append(out, v)
		}
	}
	return out
}

// PackageLevel reports whether all names in e are usable outside the function.
func PackageLevel(p *mutate.Pass, e ast.Node) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, e) {
		// Names of other packages, and predeclared ones, are there as well.
		obj := p.Info.Uses[id]
		if obj == nil || obj.Pkg() != p.Pkg {
			continue
		}
		if v, ok := obj.(*types.Var); ok && v.IsField() {
			continue
		}
		if obj.Parent() != p.Pkg.Scope() {
			return false
		}
	}
	return true
}

// CallsItself reports whether a function names itself.
func CallsItself(p *mutate.Pass, fn *ast.FuncDecl) bool {
	return len(p.Uses(p.Info.Defs[fn.Name], fn.Body)) > 0
}

// IsKnownFunc accepts the name of a function, also of another package, and a literal that captures
// nothing.
func IsKnownFunc(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		fn, ok := p.Info.Uses[e].(*types.Func)
		return ok && fn.Signature().TypeParams().Len() == 0 // a call may give it other types
	case *ast.SelectorExpr:
		fn, ok := p.Info.Uses[e.Sel].(*types.Func)
		return ok && fn.Signature().Recv() == nil && fn.Signature().TypeParams().Len() == 0
	case *ast.FuncLit:
		return !capturesVariable(p, e) && !NamesLocal(p, e)
	}
	return false
}

func capturesVariable(p *mutate.Pass, lit *ast.FuncLit) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, lit) {
		v, ok := p.Info.Uses[id].(*types.Var)
		if ok && !v.IsField() && !p.IsGlobal(v) && (v.Pos() < lit.Pos() || v.Pos() > lit.End()) {
			return true
		}
	}
	return false
}

// NilSpeaks reports whether a call through the interface v says of a nil pointer of type t what a
// direct call does not: that the method is one of values.
func NilSpeaks(p *mutate.Pass, v *types.Var, code ast.Node, t types.Type) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, code) {
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || p.Info.Uses[id] != v {
			continue
		}
		m := types.NewMethodSet(t).Lookup(p.Pkg, sel.Sel.Name)
		if m == nil {
			return true
		}
		receiver := m.Obj().(*types.Func).Signature().Recv().Type()
		if syntax.Is[*types.Pointer](t) && !syntax.Is[*types.Pointer](receiver) {
			return true
		}
	}
	return false
}
