package verify

import (
	"go/ast"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
)

// holdsFunc reports whether a value of type t can hold a function value in its own memory, or an
// interface value that may hold one.
func holdsFunc(t types.Type, seen []types.Type) bool {
	if path, _ := syntax.NameOf(t); pure[path] &&
		!syntax.Is[*types.Signature](t) && !syntax.Is[*types.Interface](t) {
		return false // regexp.Regexp and the like
	}
	return holds(t, seen, holdsFunc, func(u types.Type) bool {
		switch u := u.(type) {
		case *types.Signature, *types.Interface:
			return true
		case *types.Slice:
			return holdsFunc(u.Elem(), append(seen, t))
		case *types.Map:
			return holdsFunc(u.Elem(), append(seen, t))
		case *types.Pointer:
			return holdsFunc(u.Elem(), append(seen, t))
		}
		return false
	})
}

// holds walks structs, arrays, tuples and type parameters; is decides all other types.
func holds(t types.Type, seen []types.Type, again func(types.Type, []types.Type) bool, is func(types.Type) bool) bool {
	// A type that contains itself holds nothing new.
	for _, s := range seen {
		if types.Identical(s, t) {
			return false
		}
	}
	seen = append(seen[:len(seen):len(seen)], t)
	// A type argument may be anything.
	if syntax.IsTypeParam(t) {
		return true
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if again(u.Field(i).Type(), seen) {
				return true
			}
		}
		return false
	case *types.Array:
		return again(u.Elem(), seen)
	case *types.Tuple:
		for i := range u.Len() {
			if again(u.At(i).Type(), seen) {
				return true
			}
		}
		return false
	default:
		return is(u)
	}
}

// root returns the variable at the start of an assignable expression.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := ast.Unparen(e).(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}
