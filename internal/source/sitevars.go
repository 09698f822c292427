package source

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/beagle-go/beagle/internal/syntax"
)

// These are the facts on which a prover may rely about the calling function's variables.

// lasting reports whether the value of an expression stays as it is in a piece of code. Its parts
// must be constants, lengths, and local variables whose address is never taken and that nothing
// there writes. Strings and the headers of slices are part of the variable; the memory behind a
// slice or pointer is not.
func (v *prover) lasting(e ast.Expr, in ast.Node) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Ident:
			obj := v.info.Uses[x]
			if obj == nil {
				obj = v.info.Defs[x]
			}
			// A field is no variable of its own, and a variable whose address is known may change
			// anywhere.
			if w, is := obj.(*types.Var); is && (w.IsField() || !v.isLocal(w) || v.isWritten(w, in) || v.exposed(w)) {
				ok = false
			}
		// Memory behind an index or a pointer may be written through another.
		case *ast.IndexExpr, *ast.StarExpr, *ast.FuncLit, *ast.TypeAssertExpr:
			ok = false
		case *ast.CallExpr:
			ok = ok && v.lastingCall(x)
		}
		return ok
	})
	return ok
}

// lastingCall reports whether a call only computes: the length of a string or slice, a conversion,
// or a function of strings and numbers.
func (v *prover) lastingCall(x *ast.CallExpr) bool {
	if v.info.Types[x.Fun].IsType() {
		return true
	}
	// Arguments must be plain values; only len may take a slice, whose length is in the variable
	// itself.
	for _, a := range x.Args {
		switch t := v.info.TypeOf(a).Underlying().(type) {
		case *types.Basic:
		case *types.Slice:
			if id, ok := x.Fun.(*ast.Ident); !ok || id.Name != "len" {
				return false // its elements may change
			}
		default:
			_ = t
			return false
		}
	}
	// The function must be one that is known to only compute.
	switch f := x.Fun.(type) {
	case *ast.Ident:
		b, ok := v.info.Uses[f].(*types.Builtin)
		return ok && slices.Contains([]string{"len", "min", "max"}, b.Name())
	case *ast.SelectorExpr:
		fn, ok := v.info.Uses[f.Sel].(*types.Func)
		if !ok || fn.Pkg() == nil {
			return false
		}
		names, known := pureStd[fn.Pkg().Path()]
		return known && (names == nil && fn.Signature().Recv() == nil || slices.Contains(names, fn.Name()))
	}
	return false
}

func (v *prover) isLocal(w *types.Var) bool {
	return v.fn != nil && w.Pos() >= v.fn.Pos() && w.Pos() <= v.fn.End()
}

// isWritten reports whether code assigns to a variable.
func (v *prover) isWritten(w *types.Var, in ast.Node) bool {
	if in == nil {
		return false
	}
	for e := range syntax.Stores(in, false) {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok && v.info.Uses[id] == types.Object(w) {
			return true
		}
	}
	return false
}

// exposed reports whether other code may write a variable: its address is taken, or a function
// literal assigns to it.
func (v *prover) exposed(w *types.Var) bool {
	found := false
	// Look for an address, a literal that writes, and a pointer method.
	ast.Inspect(v.fn, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.UnaryExpr:
			if id, ok := ast.Unparen(x.X).(*ast.Ident); ok && x.Op == token.AND && v.info.Uses[id] == types.Object(w) {
				found = true
			}
		case *ast.FuncLit:
			if ast.Node(x) != v.fn && v.isWritten(w, x.Body) {
				found = true
			}
		case *ast.CallExpr: // a method of a pointer takes it too
			if s, ok := x.Fun.(*ast.SelectorExpr); ok {
				if id, ok := ast.Unparen(s.X).(*ast.Ident); ok && v.info.Uses[id] == types.Object(w) &&
					v.info.Selections[s] != nil {
					if !syntax.Is[*types.Pointer](w.Type()) {
						found = true
					}
				}
			}
		}
		return !found
	})
	return found
}

// definition returns the only definition of a local variable, or nil if it is written again.
func (v *prover) definition(id *ast.Ident) ast.Expr {
	w, ok := v.info.Uses[id].(*types.Var)
	if !ok || v.fn == nil || !v.isLocal(w) || v.isWritten(w, v.fn) || v.exposed(w) {
		return nil
	}
	// Find the statement that defines the variable with one value.
	var def ast.Expr
	ast.Inspect(v.fn, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			for i, e := range x.Lhs {
				if d, ok := e.(*ast.Ident); ok && v.info.Defs[d] == types.Object(w) && len(x.Lhs) == len(x.Rhs) {
					def = x.Rhs[i]
				}
			}
		case *ast.ValueSpec:
			for i, d := range x.Names {
				if v.info.Defs[d] == types.Object(w) && len(x.Names) == len(x.Values) {
					def = x.Values[i]
				}
			}
		}
		return def == nil
	})
	// The value itself must not have changed since.
	if def != nil && !v.settled(def) {
		return nil
	}
	return def
}

// settled reports whether an expression means the same at its definition and at
// the call.
func (v *prover) settled(def ast.Expr) bool {
	ok := true
	ast.Inspect(def, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is {
			if w, is := v.info.Uses[id].(*types.Var); is &&
				(w.IsField() || !v.isLocal(w) || v.isWritten(w, v.fn) || v.exposed(w)) {
				ok = false
			}
		}
		return ok
	})
	return ok
}

// touched reports whether the elements of a slice variable may change: it is
// indexed, sliced or handed on anywhere.
func (v *prover) touched(id *ast.Ident) bool {
	return !syntax.IsText(v.info.TypeOf(id))
}
