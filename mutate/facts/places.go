package facts

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
)

// This file recognises variables, and fields and elements of them, that keep their values.

// PlainPlace reports whether an expression names a variable, or a field of one.
func PlainPlace(p *mutate.Pass, e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return p.Var(e) != nil
	}
	v := p.Var(sel.X)
	if v == nil || p.Var(sel) == nil && p.Info.Selections[sel] == nil {
		return false
	}
	_, id := sel.X.(*ast.Ident)
	return id && p.Info.Selections[sel] != nil && p.Info.Selections[sel].Kind() == types.FieldVal
}

// FieldChain reports whether an expression is a local variable, or a field of one, or of that. The
// same one has the same value until code assigns.
func FieldChain(p *mutate.Pass, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return IsLocal(p, p.Var(e))
	case *ast.SelectorExpr:
		s := p.Info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && FieldChain(p, e.X)
	}
	return false
}

// HeldStill reports whether e is a global or a field of slice or map type, or a field that is a
// string, and holds one value during the whole loop.
func HeldStill(p *mutate.Pass, e ast.Expr, loop ast.Stmt) bool {
	t := p.Info.TypeOf(e)
	if t == nil {
		return false
	}
	// The copy of a header still reaches the same elements.
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Map:
	case *types.Basic:
		if _, field := e.(*ast.SelectorExpr); !field || u.Info()&types.IsString == 0 {
			return false
		}
	default:
		return false
	}
	switch e := e.(type) {
	// A variable of the package must not be replaced by anything that the loop calls.
	case *ast.Ident:
		v := p.Var(e)
		return p.IsGlobal(v) && !MayReplace(p, loop)
	// A field may be held if the loop writes elements through it at most.
	case *ast.SelectorExpr:
		sel, base := p.Info.Selections[e], RootVar(p, e)
		if sel == nil || !oneStep(p, e) {
			return false
		}
		// In front of the loop, the name of a variable that it declares may mean another one.
		if DeclaredIn(base, loop) || Captured.Of(p)[base] {
			return false
		}
		if _, ptr := base.Type().Underlying().(*types.Pointer); ptr && !DereferencedBefore(p, base, loop) {
			return false // a nil pointer must not panic earlier, nor if the loop does not run
		}
		return keptByUse(p, e, loop) || !p.IsGlobal(base) && sameItself(p, e, loop)
	}
	return false
}

// oneStep reports whether a field is a part of a variable, or of what the variable points to.
func oneStep(p *mutate.Pass, e *ast.SelectorExpr) bool {
	for {
		sel := p.Info.Selections[e]
		if sel == nil || sel.Kind() != types.FieldVal || len(sel.Index()) != 1 {
			return false
		}
		up, more := ast.Unparen(e.X).(*ast.SelectorExpr)
		if !more {
			return p.Var(e.X) != nil
		}
		if syntax.Is[*types.Pointer](p.Info.TypeOf(up)) {
			return false
		}
		e = up
	}
}

// keptByUse reports whether the loop uses a variable such that one field of it stays, and makes no
// store of such a value elsewhere.
func keptByUse(p *mutate.Pass, e *ast.SelectorExpr, loop ast.Stmt) bool {
	base, field := p.Var(e.X), p.Info.Selections[e]
	return base != nil && storesAround(p, base, field.Obj(), loop) && !MayReplace(p, loop) &&
		!(IsBasic(p.Info.TypeOf(e)) && mayReplaceText(p, field, loop))
}

// storesAround reports whether the loop changes nothing of base but fields other than one, and
// elements of what its fields hold.
func storesAround(p *mutate.Pass, base *types.Var, kept types.Object, loop ast.Node) bool {
	// Only uses that change something are of interest.
	for _, id := range p.Uses(base, loop) {
		if !p.Changes(id) {
			continue
		}
		// The change must go through a field of base to an element of a slice or map: base itself
		// and the field then stay.
		field, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || p.PointerMethod(field) {
			return false
		}
		// Another field is other memory.
		if s := p.Info.Selections[field]; s != nil && len(s.Index()) == 1 && s.Obj() != kept && IsTarget(p, field) {
			continue
		}
		ix, ok := p.Parent(field).(*ast.IndexExpr)
		if !ok || ix.X != ast.Expr(field) {
			return false
		}
		switch p.Info.TypeOf(field).Underlying().(type) {
		case *types.Slice, *types.Map:
		default:
			return false // an array is a part of base
		}
		if u, ok := p.Parent(ix).(*ast.UnaryExpr); ok && u.Op == token.AND {
			return false
		}
	}
	return true
}

// mayReplaceText reports whether the loop may store a string where a field is: through a pointer,
// in an element, or in the field itself.
func mayReplaceText(p *mutate.Pass, field *types.Selection, loop ast.Node) bool {
	return !ChangesOnly(p, loop, func(l ast.Expr) bool {
		sel, ok := ast.Unparen(l).(*ast.SelectorExpr)
		return !syntax.IsText(p.Info.TypeOf(l)) ||
			ok && p.Info.Selections[sel] != nil && !SameField(p.Info.Selections[sel], field)
	}, func(call *ast.CallExpr) bool {
		_, grows := p.IsBuiltin(call, "append")
		return grows && !syntax.IsText(ElemOf(p.Info.TypeOf(call)))
	})
}

// MayReplace reports whether the loop may store a slice, a map, or a value that contains one,
// outside local variables.
func MayReplace(p *mutate.Pass, loop ast.Node) bool {
	return !ChangesOnly(p, loop, func(l ast.Expr) bool { return IsBasic(p.Info.TypeOf(l)) },
		func(call *ast.CallExpr) bool {
			_, grows := p.IsBuiltin(call, "append")
			s, ok := p.Info.TypeOf(call).Underlying().(*types.Slice)
			return grows && ok && IsBasic(s.Elem())
		})
}

// ElemOf returns the type of the elements of a slice, an array or a pointer to an array, or nil for
// none.
func ElemOf(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Pointer:
		if array, ok := u.Elem().Underlying().(*types.Array); ok {
			return array.Elem()
		}
	case *types.Slice:
		return u.Elem()
	case *types.Array:
		return u.Elem()
	}
	return nil
}
