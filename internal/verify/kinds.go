package verify

import (
	"go/ast"
	"go/types"
)

// hasRefs reports whether a value of type t can lead to memory that others
// share. Strings cannot be written.
func hasRefs(t types.Type, seen []types.Type) bool {
	return holds(t, seen, hasRefs, func(u types.Type) bool {
		switch u := u.(type) {
		case *types.Slice, *types.Map, *types.Pointer, *types.Chan, *types.Interface, *types.Signature:
			return true
		case *types.Basic:
			return u.Kind() == types.UnsafePointer
		}
		return false
	})
}

// holdsFunc reports whether a value of type t can hold a function value, or
// anything in an interface value, in its own memory.
func holdsFunc(t types.Type, seen []types.Type) bool {
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && pure[n.Obj().Pkg().Path()] {
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

// holds walks structs, arrays, tuples and type parameters; is decides the rest.
func holds(t types.Type, seen []types.Type, again func(types.Type, []types.Type) bool, is func(types.Type) bool) bool {
	for _, s := range seen {
		if types.Identical(s, t) {
			return false
		}
	}
	seen = append(seen[:len(seen):len(seen)], t)
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
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

func isFunc(t types.Type) bool  { return is[*types.Signature](t) }
func isArray(t types.Type) bool { return is[*types.Array](t) }
func isMap(t types.Type) bool   { return is[*types.Map](t) }

// is reports whether there is a type, and it is a T by its structure.
func is[T types.Type](t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(T)
	return ok
}

// isPointerLike reports whether selecting or indexing a value of type t leaves
// the value's own memory.
func isPointerLike(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Pointer, *types.Slice, *types.Map:
		return true
	}
	return false
}

func isPackageVar(obj types.Object) bool {
	v, ok := obj.(*types.Var)
	return ok && !v.IsField() && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
}

func isParam(fn, obj types.Object) bool {
	if fn == nil {
		return false
	}
	sig := fn.Type().(*types.Signature)
	if sig.Recv() == obj {
		return true
	}
	for i := range sig.Params().Len() {
		if sig.Params().At(i) == obj {
			return true
		}
	}
	return false
}

// root is the variable that an assignable expression starts from.
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

// elementsHaveRefs reports whether what a slice, map or array holds can lead
// to memory that others share.
func elementsHaveRefs(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return hasRefs(u.Elem(), nil)
	case *types.Map:
		return hasRefs(u.Key(), nil) || hasRefs(u.Elem(), nil)
	case *types.Interface:
		return !isError(t)
	}
	return hasRefs(t, nil)
}

// methodless reports whether t is made of basic types alone, so that nothing
// that receives it as an interface value finds a method to call.
func methodless(t types.Type) bool {
	if t == nil || types.NewMethodSet(types.NewPointer(t)).Len() > 0 {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.UnsafePointer
	case *types.Slice:
		return methodless(u.Elem())
	case *types.Array:
		return methodless(u.Elem())
	case *types.Map:
		return methodless(u.Key()) && methodless(u.Elem())
	}
	return false
}
