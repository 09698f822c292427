package rules

import (
	"go/ast"
	"go/types"
	"slices"

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
