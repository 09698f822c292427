package rules

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file says what functions of the candidate are called, and whether a new one can be declared.

// callsFunction reports whether code calls anything other than len and conversions.
func callsFunction(p *mutate.Pass, e ast.Expr) bool {
	for call := range mutate.Nodes[*ast.CallExpr](p, e) {
		if _, isLen := p.IsBuiltin(call, "len"); !isLen && !p.Info.Types[call.Fun].IsType() {
			return true
		}
	}
	return false
}

// isCalled reports whether a selector is the function of a call, and not a method value.
func isCalled(p *mutate.Pass, sel *ast.SelectorExpr) bool {
	call, ok := p.Parent(sel).(*ast.CallExpr)
	return ok && ast.Unparen(call.Fun) == ast.Expr(sel)
}

// parametersOf lists the parameters of a function without a receiver.
func parametersOf(p *mutate.Pass, fn *ast.FuncDecl) []*types.Var {
	var out []*types.Var
	for _, f := range fn.Type.Params.List {
		for _, id := range f.Names {
			v, _ := p.Info.Defs[id].(*types.Var)
			out = append(out, v)
		}
	}
	return out
}

// packageLevel reports whether all names in e are usable outside the function.
func packageLevel(p *mutate.Pass, e ast.Node) bool {
	for id := range mutate.Nodes[*ast.Ident](p, e) {
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

// canHelp reports whether helpers can be declared. The names of the language must keep their
// meaning. The package that helpers call must not have the name of a variable in a helper.
func canHelp(p *mutate.Pass, pkg string) bool {
	for _, name := range []string{"bool", "byte", "false", "len", "rune", "string", "true", "uint", "uint64"} {
		if p.Pkg.Scope().Lookup(name) != nil {
			return false
		}
	}
	return len(pkg) > 2 &&
		!slices.Contains([]string{"each", "found", "head", "low", "rest", "sep", "tail", "tops", "whole"}, pkg)
}

// nowhereElse reports whether the package declares a name only once, so that it means the same in
// all functions.
func nowhereElse(p *mutate.Pass, name string) bool {
	for id, obj := range p.Info.Defs {
		if id.Name == name && (obj == nil || obj.Parent() != nil && obj != p.Pkg.Scope().Lookup(name)) {
			return false // fields and methods have no scope
		}
	}
	return true
}

// callsItself reports whether a function names itself.
func callsItself(p *mutate.Pass, fn *ast.FuncDecl) bool {
	return len(p.Uses(p.Info.Defs[fn.Name], fn.Body)) > 0
}

// selfCalls lists the calls of fn in its own body.
func selfCalls(p *mutate.Pass, fn *ast.FuncDecl) []*ast.CallExpr {
	var out []*ast.CallExpr
	if fn.Body == nil {
		return nil
	}
	for call := range mutate.Nodes[*ast.CallExpr](p, fn.Body) {
		if p.Callee(call) == p.Info.Defs[fn.Name] {
			out = append(out, call)
		}
	}
	return out
}

// onlyCalls returns all uses of a function, which must be calls in the file with one argument for
// each parameter, made at once.
func onlyCalls(p *mutate.Pass, fn *ast.FuncDecl) (calls []*ast.CallExpr, ok bool) {
	if fn == p.Func || p.Entries[fn.Name.Name] {
		return nil, false
	}
	obj := p.Info.Defs[fn.Name]
	sig := obj.Type().(*types.Signature)
	// A use as a value may be called from anywhere, with the old type.
	for _, id := range p.Uses(obj, p.File) {
		call, is := p.Parent(id).(*ast.CallExpr)
		if !is || ast.Unparen(call.Fun) != ast.Expr(id) || len(call.Args) != sig.Params().Len() || sig.Variadic() ||
			p.FuncOf(call) == nil {
			return nil, false
		}
		switch p.Parent(call).(type) {
		case *ast.GoStmt, *ast.DeferStmt: // the value counts at the time of the statement
			return nil, false
		}
		calls = append(calls, call)
	}
	return calls, len(calls) > 0
}

// isKnownFunc accepts the name of a function, also of another package, and a literal that captures
// nothing.
func isKnownFunc(p *mutate.Pass, e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		fn, ok := p.Info.Uses[e].(*types.Func)
		return ok && fn.Signature().TypeParams().Len() == 0 // a call may give it other types
	case *ast.SelectorExpr:
		fn, ok := p.Info.Uses[e.Sel].(*types.Func)
		return ok && fn.Signature().Recv() == nil && fn.Signature().TypeParams().Len() == 0
	case *ast.FuncLit:
		return !capturesVariable(p, e) && !namesLocal(p, e)
	}
	return false
}

func capturesVariable(p *mutate.Pass, lit *ast.FuncLit) bool {
	for id := range mutate.Nodes[*ast.Ident](p, lit) {
		v, ok := p.Info.Uses[id].(*types.Var)
		if ok && !v.IsField() && !p.IsGlobal(v) && (v.Pos() < lit.Pos() || v.Pos() > lit.End()) {
			return true
		}
	}
	return false
}

// plainSignature excludes methods, type parameters, named results and unnamed parameters.
func plainSignature(fn *ast.FuncDecl) bool {
	if fn.Recv != nil || fn.Type.TypeParams != nil || fn.Type.Results == nil {
		return false
	}
	// A named result can be set without a return.
	for _, r := range fn.Type.Results.List {
		if len(r.Names) > 0 {
			return false
		}
	}
	for _, f := range fn.Type.Params.List {
		if len(f.Names) == 0 {
			return false
		}
		for _, id := range f.Names {
			// A parameter without a name cannot be handed on.
			if id.Name == "_" {
				return false
			}
		}
	}
	return true
}

// parameterList writes each parameter with its type, and the names alone.
func parameterList(p *mutate.Pass, fn *ast.FuncDecl) (params, args string) {
	var full, names []string
	for _, f := range fn.Type.Params.List {
		for _, id := range f.Names {
			full = append(full, id.Name+" "+p.Text(f.Type))
			names = append(names, id.Name)
		}
	}
	return strings.Join(full, ", "), strings.Join(names, ", ")
}

// nilSpeaks reports whether a call through the interface v says of a nil pointer of type t what a
// direct call does not: that the method is one of values.
func nilSpeaks(p *mutate.Pass, v *types.Var, code ast.Node, t types.Type) bool {
	for id := range mutate.Nodes[*ast.Ident](p, code) {
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
