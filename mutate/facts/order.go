package facts

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// AnyOrder reports whether two pieces of code do the same in either order, and iteration by
// iteration: neither uses a variable that the other assigns, and both write only local variables,
// without a panic.
func AnyOrder(p *mutate.Pass, a, b ast.Node) bool {
	return keepsToLocals(p, a) && keepsToLocals(p, b) && independent(p, a, b) && independent(p, b, a)
}

// keepsToLocals reports whether code writes only local variables and elements of local arrays, and
// always runs to its end.
func keepsToLocals(p *mutate.Pass, n ast.Node) bool {
	if f := p.Effects(n); f.Panics || f.Jumps {
		return false
	}
	if len(mutate.Nodes[*ast.FuncLit](p, n)) > 0 {
		return false
	}
	return ChangesOnly(p, n, func(l ast.Expr) bool {
		ix, ok := ast.Unparen(l).(*ast.IndexExpr)
		if !ok || !IsLocal(p, p.Var(ix.X)) {
			return false
		}
		return syntax.Is[*types.Array](p.Info.TypeOf(ix.X))
	}, nil)
}

// independent reports whether b uses nothing that a assigns.
func independent(p *mutate.Pass, a, b ast.Node) bool {
	for _, id := range mutate.Nodes[*ast.Ident](p, b) {
		v, ok := p.Info.Uses[id].(*types.Var)
		if !ok || v.IsField() {
			continue
		}
		if Captured.Of(p)[v] || p.Assigned(v, a) {
			return false
		}
	}
	return true
}

// TypeMeans reports whether a key's type, written at pos, is that type.
func TypeMeans(p *mutate.Pass, pos token.Pos, t types.Type) bool {
	var obj types.Object
	// A struct type is written out, so all its fields must have the same meaning there. A named
	// type with arguments is refused, since its arguments would need the same check.
	switch t := t.(type) {
	case *types.Basic:
		return Means(p, pos, t.Name(), types.Universe.Lookup(t.Name()))
	case *types.Struct:
		for f := range t.Fields() {
			if !TypeMeans(p, pos, f.Type()) {
				return false
			}
		}
		return true
	case *types.Named:
		if t.TypeArgs().Len() > 0 {
			return false
		}
		obj = t.Obj()
	case *types.Alias:
		obj = t.Obj()
	default:
		return false
	}
	// A type of the package is found by its name at pos.
	if obj.Pkg() == p.Pkg {
		return Means(p, pos, obj.Name(), obj)
	}
	// A type of another package needs that package's name at pos, and it must be an import of that
	// package.
	text, ok := TypeText(p, t)
	pkg, _, qualified := strings.Cut(text, ".")
	scope := p.Pkg.Scope().Innermost(pos)
	if !ok || !qualified || scope == nil {
		return false
	}
	_, found := scope.LookupParent(pkg, pos)
	name, isPkg := found.(*types.PkgName)
	return isPkg && name.Imported() == obj.Pkg()
}
