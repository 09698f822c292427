package rules

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
)

// This file recognises variables, and fields and elements of them, that keep their values.

// plainPlace reports whether an expression names a variable, or a field of one.
func plainPlace(p *mutate.Pass, e ast.Expr) bool {
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

// fieldChain reports whether an expression is a local variable, or a field of one, or of that. The
// same one has the same value until code assigns.
func fieldChain(p *mutate.Pass, e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return facts.IsLocal(p, p.Var(e))
	case *ast.SelectorExpr:
		s := p.Info.Selections[e]
		return s != nil && s.Kind() == types.FieldVal && fieldChain(p, e.X)
	}
	return false
}

// isRepeatable reports whether an expression gives the same again: a variable, or an element at
// one.
func isRepeatable(e ast.Expr) bool {
	// Each form is evaluated once for each comparison, so it may not do anything but read.
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return true
	case *ast.IndexExpr:
		_, list := e.X.(*ast.Ident)
		_, index := e.Index.(*ast.Ident)
		return list && index
	case *ast.SelectorExpr:
		_, ok := e.X.(*ast.Ident)
		return ok
	}
	return false
}

// heldStill reports whether e is a global or a field of slice or map type, or a field that is a
// string, and holds one value during the whole loop.
func heldStill(p *mutate.Pass, e ast.Expr, loop ast.Stmt) bool {
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
		return p.IsGlobal(v) && !mayReplace(p, loop)
	// A field may be held if the loop writes elements through it at most.
	case *ast.SelectorExpr:
		sel := p.Info.Selections[e]
		base := p.Var(e.X)
		if sel == nil || sel.Kind() != types.FieldVal || base == nil || len(sel.Index()) != 1 ||
			!storesAround(p, base, sel.Obj(), loop) || facts.Captured.Of(p)[base] {
			return false
		}
		if _, ptr := base.Type().Underlying().(*types.Pointer); ptr && !dereferencedBefore(p, base, loop) {
			return false // a nil pointer must not panic earlier, nor if the loop does not run
		}
		return !mayReplace(p, loop) && !(facts.IsBasic(t) && mayReplaceText(p, sel.Obj(), loop))
	}
	return false
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
		if s := p.Info.Selections[field]; s != nil && len(s.Index()) == 1 && s.Obj() != kept && isAssignedTo(p, field) {
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
func mayReplaceText(p *mutate.Pass, field types.Object, loop ast.Node) bool {
	return !facts.ChangesOnly(p, loop, func(l ast.Expr) bool {
		sel, ok := ast.Unparen(l).(*ast.SelectorExpr)
		return !syntax.IsText(p.Info.TypeOf(l)) ||
			ok && p.Info.Selections[sel] != nil && p.Info.Selections[sel].Obj() != field
	}, func(call *ast.CallExpr) bool {
		_, grows := p.IsBuiltin(call, "append")
		return grows && !syntax.IsText(elemOf(p.Info.TypeOf(call)))
	})
}

// mayReplace reports whether the loop may store a slice, a map, or a value that contains one,
// outside local variables.
func mayReplace(p *mutate.Pass, loop ast.Node) bool {
	return !facts.ChangesOnly(p, loop, func(l ast.Expr) bool { return facts.IsBasic(p.Info.TypeOf(l)) },
		func(call *ast.CallExpr) bool {
			_, grows := p.IsBuiltin(call, "append")
			s, ok := p.Info.TypeOf(call).Underlying().(*types.Slice)
			return grows && ok && facts.IsBasic(s.Elem())
		})
}

// isAssignedTo reports whether code assigns to an expression itself.
func isAssignedTo(p *mutate.Pass, e ast.Expr) bool {
	switch up := p.Parent(e).(type) {
	case *ast.AssignStmt:
		return slices.Contains(up.Lhs, e)
	case *ast.IncDecStmt:
		return true
	}
	return false
}

// elemOf returns the type of the elements of a slice or an array, also of one behind a pointer, or
// nil for none.
func elemOf(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	switch u := syntax.Pointee(t).Underlying().(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Array:
		return u.Elem()
	}
	return nil
}
